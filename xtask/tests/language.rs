//! Comments are in plain English: the patterns below make a reader decode a sentence. `CONTRIBUTING.md`
//! has the rules and examples.

mod sources;

use std::fs;
use std::path::Path;

/// Beginnings of a comment that refer to a neighbour. Generated documentation is sorted by name, so the
/// neighbour is elsewhere.
const BEGINNINGS: [&str; 8] = [
    "The same ",
    "Of a ",
    "Of an ",
    "Goes away ",
    "What came ",
    "What was asked",
    "What it is ",
    "Whoever ",
];

/// Words at the beginning of a doc comment whose noun is elsewhere.
const PRONOUNS: [&str; 6] = ["It", "Its", "They", "Their", "Those of", "That of"];

/// Parts of the name of a constant that should be `MAX` or `MIN`.
const SUPERLATIVES: [&str; 7] =
    ["MOST", "LONGEST", "LARGEST", "LEAST", "SHORTEST", "SMALLEST", "FEWEST"];

/// Words that hide the actor or the quantity, or that the field does not use. `` `mend` `` is a key of our
/// JSON.
const WORDS: [&str; 21] = [
    "nobody",
    "somebody",
    "is told",
    "are told",
    "was told",
    "were told",
    "is not told",
    "are not told",
    "mends",
    "mended",
    "mending",
    "to mend",
    "somebody's",
    "goes away with",
    "where it may not",
    "for ever",
    "bytes a second",
    "as it comes",
    "lets be",
    "so many",
    "so much",
];

/// Whether a path is a Rust file, shell script or job file, except this file, or a directory of them.
fn is_checked(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".rs", ".sh", ".fio"].iter().any(|end| name.ends_with(end));
    match path.is_dir() {
        // Cargo marks its build directories with this file.
        true => !path.join("CACHEDIR.TAG").exists(),
        false => ends && name != "language.rs",
    }
}

/// Returns the comment of a line without its marks; `None` if the line is not a comment.
fn comment<'a>(file: &Path, line: &'a str) -> Option<&'a str> {
    let line = line.trim_start();
    if file.extension().is_some_and(|extension| extension == "rs") {
        return Some(line.strip_prefix("//")?.trim_start_matches(['/', '!']).trim());
    }
    Some(line.strip_prefix(['#', ';'])?.trim())
}

/// Whether a text begins with a pronoun.
fn begins_with_pronoun(text: &str) -> bool {
    PRONOUNS.iter().any(|word| text.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')))
}

/// Whether a text says "is no X" for "is not an X". "There is no X" and "is no longer" are plain English.
fn negates_noun(text: &str) -> bool {
    [" is no ", " are no "].iter().any(|verb| {
        text.match_indices(verb).any(|(at, _)| {
            !text[..at].ends_with("there") && !text[at + verb.len()..].starts_with("longer")
        })
    })
}

/// Whether a line of code defines a constant that is a limit and is not called so.
fn has_misnamed_limit(line: &str) -> bool {
    let name = line.split_once("const ").and_then(|(_, rest)| rest.split_once(':'));
    name.is_some_and(|(name, _)| name.split('_').any(|part| SUPERLATIVES.contains(&part)))
}

/// Returns why a comment should be rewritten. `begins`: it is the first line of its paragraph.
fn fault(comment: &str, begins: bool) -> Option<String> {
    let beginning = BEGINNINGS.iter().find(|start| begins && comment.starts_with(**start));
    if let Some(start) = beginning {
        return Some(format!("begins with `{}`", start.trim()));
    }
    let text = comment.to_lowercase();
    if negates_noun(&text) {
        return Some("says `is no` for `is not a`".into());
    }
    let is_word = |at: usize, word: &str| {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !letter(text[..at].chars().next_back()) && !letter(text[at + word.len()..].chars().next())
    };
    let word =
        WORDS.iter().find(|word| text.match_indices(**word).any(|(at, _)| is_word(at, word)));
    word.map(|word| format!("has `{word}`"))
}

#[test]
fn comments_are_in_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let directories = ["crates", "xtask", "mpi", "fuzz", "tests", "examples"];
    let files =
        directories.map(|directory| sources::below(&root.join(directory), &is_checked)).concat();
    assert!(files.len() > 300, "only {} files were found", files.len());
    let mut faults = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file");
        let mut previous = None;
        for (number, line) in text.lines().enumerate() {
            let current = comment(&file, line);
            let begins = previous.is_none_or(str::is_empty);
            let is_doc = ["///", "//!"].iter().any(|mark| line.trim_start().starts_with(mark));
            let why = match current {
                Some(text) if is_doc && begins && begins_with_pronoun(text) => {
                    Some("begins with a pronoun".into())
                }
                Some(text) => fault(text, begins),
                None if has_misnamed_limit(line) => Some("call a limit MAX_ or MIN_".into()),
                None => None,
            };
            if let Some(why) = why {
                faults.push(format!("{}:{}: {why}: {}", file.display(), number + 1, line.trim()));
            }
            previous = current;
        }
    }
    assert!(faults.is_empty(), "rewrite (CONTRIBUTING.md, Language):\n{}", faults.join("\n"));
}

#[test]
fn faults_are_found_and_plain_comments_pass() {
    for (text, wanted) in [
        ("The same for a flow.", true),
        ("Of a job.", true),
        ("so that the run never waits for nobody", true),
        ("what is told of it", true),
        ("A directory that goes away with the test.", true),
        ("the highest of all bytes a second", true),
        ("Waits for so many bytes.", true),
        ("A text that is no number.", true),
        ("If there is no file, which is no longer an error.", false),
        ("Returns the size of a job.", false),
        ("recommended by the standard", false),
    ] {
        assert_eq!(fault(text, true).is_some(), wanted, "{text}");
    }
    assert_eq!(fault("The same line in the middle of a comment.", false), None);
    assert!(begins_with_pronoun("Its name.") && !begins_with_pronoun("Items of the list."));
    assert!(has_misnamed_limit("    pub const MOST_ROWS: usize = 4;"));
    assert!(!has_misnamed_limit("const MAX_ROWS: usize = 4;"));
}
