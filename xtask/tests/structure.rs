//! Counts what makes the code hard to change, and fails if a count grows. `cargo test -p xtask --test
//! structure -- --nocapture` prints all counts and where they come from. If a change lowers a count,
//! lower its limit here, so that it does not grow again.
//!
//! Only code of the product is counted: no tests, test fixtures, examples or tasks of developers.

mod sources;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A count, and the largest value that is allowed.
struct Limit {
    what: &'static str,
    most: usize,
    /// Finds the counted places of a file: each is one line of text.
    find: fn(&Source) -> Vec<String>,
}

const LIMITS: &[Limit] = &[
    Limit { what: "public fields that are bare integers", most: 453, find: bare_integers },
    Limit { what: "options looked up by name outside crates/job", most: 0, find: lookups },
    Limit { what: "engine names outside the registry", most: 32, find: engine_names },
    Limit {
        what: "variants of EnginePlan in patterns outside the registry",
        most: 9,
        find: engine_plans,
    },
    Limit { what: "arrays indexed by `dir as usize`", most: 0, find: direction_indexes },
    Limit { what: "constants and literals that are errnos", most: 0, find: bare_errnos },
    Limit { what: "errors that are text (`Result<_, String>`)", most: 0, find: errors_as_text },
    Limit { what: "functions of more than 70 lines", most: 1, find: long_functions },
    Limit { what: "files of more than 600 lines", most: 0, find: long_files },
];

/// Maximum number of public type names that are defined more than once.
const MAX_NAMES_TWICE: usize = 3;

/// One file of the product.
struct Source {
    /// Path below the root of the repository.
    name: String,
    /// The text without the tests at its end.
    code: String,
}

impl Source {
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.code.lines().filter(|line| !line.trim_start().starts_with("//"))
    }

    fn lines_with(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.lines().filter(|line| wanted(line)).map(|line| line.trim().to_owned()).collect()
    }
}

/// Whether a path is a source file of the product, or a directory of them.
fn is_product(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let test = stem.ends_with("tests") || stem.starts_with("fixture");
    let is_source = path.is_dir() || path.extension().is_some_and(|extension| extension == "rs");
    is_source && !test && stem != "examples" && stem != "golden"
}

/// Every source file of the product, sorted by name.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut files = sources::below(&root.join("crates"), &is_product);
    files.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a source file");
        let name = path.strip_prefix(root).expect("a path below the root").display().to_string();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        Source { name, code }
    };
    files.into_iter().map(read).collect()
}

/// The item of a line without its visibility; `None` if it is private.
fn public(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(") ").map(|(_, item)| item),
        None => rest.strip_prefix(' '),
    }
}

/// Formats on disk and on the wire are not counted: their fields are the integers that they store.
fn bare_integers(source: &Source) -> Vec<String> {
    if source.name.starts_with("crates/formats/") {
        return Vec::new();
    }
    const INTEGERS: [&str; 12] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];
    source.lines_with(|line| {
        let field = public(line).and_then(|item| item.strip_suffix(',')?.split_once(": "));
        field.is_some_and(|(name, kind)| !name.contains([' ', '(']) && INTEGERS.contains(&kind))
    })
}

fn errors_as_text(source: &Source) -> Vec<String> {
    source.lines_with(|line| line.contains("Result<") && line.contains(", String>"))
}

/// Code reads options through typed handles (`job.get(NICE)`).
fn lookups(source: &Source) -> Vec<String> {
    if source.name.starts_with("crates/job/") {
        return Vec::new();
    }
    let by_name = |line: &str| {
        ["def.name == \"", "find_for_engine(", "table::find(\""]
            .iter()
            .any(|how| line.contains(how))
    };
    source.lines_with(by_name)
}

/// The names of engines, as the registry writes them, without those that are common words.
const ENGINES: [&str; 12] = [
    "io_uring",
    "io_uring_cmd",
    "libaio",
    "mmap",
    "null",
    "psync",
    "pvsync",
    "pvsync2",
    "sg",
    "sim",
    "sync",
    "vsync",
];

/// `"sync"` in traces is an action, not an engine.
fn engine_names(source: &Source) -> Vec<String> {
    if ["crates/job/src/option/", "crates/formats/src/trace/"]
        .iter()
        .any(|registry| source.name.starts_with(registry))
    {
        return Vec::new();
    }
    let named = |line: &str| ENGINES.iter().any(|engine| line.contains(&format!("\"{engine}\"")));
    source.lines_with(named)
}

/// Patterns that name an engine. The macros that expand the list of engines are part of the registry. The module of an
/// engine reads its own options.
fn engine_plans(source: &Source) -> Vec<String> {
    if source.name.starts_with("crates/engine/src/") {
        return Vec::new();
    }
    // The accessors of the plan's variants stand next to their declaration, and those of engines on servers in a file of
    // their own.
    if ["crates/plan/src/model/engine.rs", "crates/plan/src/model/endpoint.rs"]
        .contains(&source.name.as_str())
    {
        return Vec::new();
    }
    source.lines_with(|line| {
        if line.contains("EnginePlan::$") {
            return false;
        }
        let Some(at) = line.find("EnginePlan::") else { return false };
        let arm = line.find("=>").is_some_and(|arrow| at < arrow);
        arm || line.contains("matches!(") || line.contains("let EnginePlan")
    })
}

/// Numbers in place of `Errno`. Only the crate with the type has the numbers.
fn bare_errnos(source: &Source) -> Vec<String> {
    let literal = |line: &str, call: &str| {
        let after = line.split_once(call).map(|(_, after)| after);
        after.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
    };
    source.lines_with(|line| {
        line.contains("const E") && line.contains(": i32 =")
            || line.contains("errno: i32")
            || line.contains("libc::E") && !["EFD", "EPOLL"].iter().any(|not| line.contains(not))
            || ["Outcome::err(", "errno == ", "from_raw_os_error("].iter().any(|c| literal(line, c))
    })
}

fn direction_indexes(source: &Source) -> Vec<String> {
    if source.name.starts_with("crates/types/") {
        return Vec::new();
    }
    let is_direction = |text: &str| {
        let name = text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
        let variants = ["Dir::Read", "Dir::Write", "Dir::Trim"];
        name.is_some_and(|name| ["d", "dir", "direction"].contains(&name))
            || variants.iter().any(|variant| text.ends_with(variant))
    };
    source
        .lines_with(|line| line.match_indices(" as usize").any(|(at, _)| is_direction(&line[..at])))
}

/// Functions end where a line has the closing brace at their own indent, because the code is formatted.
fn long_functions(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.code.lines().collect();
    let function = |line: &str| {
        let item = public(line).unwrap_or(line.trim_start());
        let item = ["const ", "async ", "unsafe ", "extern \"C\" "]
            .iter()
            .fold(item, |item, word| item.strip_prefix(word).unwrap_or(item));
        item.starts_with("fn ") && !line.ends_with([';', '}'])
    };
    let length = |start: usize| {
        let indent = lines[start].len() - lines[start].trim_start().len();
        let end = format!("{}}}", " ".repeat(indent));
        lines[start..].iter().position(|line| **line == end).map_or(0, |length| length + 1)
    };
    let starts = (0..lines.len()).filter(|start| function(lines[*start]));
    let long = starts.map(|start| (length(start), lines[start])).filter(|(length, _)| *length > 70);
    long.map(|(length, line)| format!("{length} lines: {}", line.trim())).collect()
}

fn long_files(source: &Source) -> Vec<String> {
    let lines = source.code.lines().count();
    // Tables of options are lists without logic.
    let table = source.name.contains("/option/table/");
    if lines > 600 && !table { vec![format!("{lines} lines")] } else { Vec::new() }
}

#[test]
fn counts_do_not_grow() {
    let sources = sources();
    assert!(sources.len() > 300, "only {} files were found", sources.len());
    let mut grown = Vec::new();
    for Limit { what, most, find } in LIMITS {
        let found: Vec<(&str, Vec<String>)> =
            sources.iter().map(|source| (source.name.as_str(), find(source))).collect();
        let count: usize = found.iter().map(|(_, places)| places.len()).sum();
        println!("{count:5} (at most {most}) {what}");
        for (name, number) in by_crate(&found) {
            println!("        {number:5} {name}");
        }
        if count > *most {
            let mut places = format!("{what}: {count}, at most {most}");
            for (name, lines) in &found {
                lines.iter().for_each(|line| places.push_str(&format!("\n  {name}: {line}")));
            }
            grown.push(places);
        }
    }
    assert!(grown.is_empty(), "counts that must not grow:\n{}", grown.join("\n"));
}

/// The number of places in each crate.
fn by_crate<'a>(found: &[(&'a str, Vec<String>)]) -> BTreeMap<&'a str, usize> {
    let mut crates = BTreeMap::new();
    for (name, places) in found.iter().filter(|(_, places)| !places.is_empty()) {
        let of = name.strip_prefix("crates/").unwrap_or(name).split('/').next().unwrap_or(name);
        *crates.entry(of).or_default() += places.len();
    }
    crates
}

/// The name of the public type that a line defines.
fn type_name(line: &str) -> Option<&str> {
    let (kind, rest) = public(line)?.split_once(' ')?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    // The name of a type that a macro defines is a parameter of the macro.
    let named = !name.is_empty();
    (named && ["struct", "enum", "trait", "type"].contains(&kind)).then_some(name)
}

#[test]
fn public_types_have_names_of_their_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for name in source.lines().filter_map(type_name) {
            places.entry(name.to_owned()).or_default().push(source.name.clone());
        }
    }
    let twice: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    println!(
        "{} public types, {} names (at most {MAX_NAMES_TWICE}) defined more than once",
        places.len(),
        twice.len()
    );
    twice.iter().for_each(|(name, files)| println!("  {name}: {}", files.join(", ")));
    assert!(
        twice.len() <= MAX_NAMES_TWICE,
        "{} public type names are defined more than once, at most {MAX_NAMES_TWICE} may be: choose a name that says \
         which one it is",
        twice.len()
    );
}
