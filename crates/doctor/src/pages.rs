//! Writes the pages in `docs/findings/` from the definitions of the findings.

use fiord_stat::finding::{Severity, to_fix};
use fiord_stat::wrap::wrapped as wrapped_line;

use crate::check::{Check, CheckStage};
use crate::registry::{CHECKS, LATER};

/// Length of the lines of the pages in `docs/findings/`.
const PAGE: usize = 100;
/// Length of the lines on a terminal.
const TERMINAL: usize = 80;

/// Returns every page: its file name in `docs/findings/`, and its text.
#[must_use]
pub fn pages() -> Vec<(String, String)> {
    let mut pages = vec![("README.md".to_owned(), index())];
    pages.extend(CHECKS.iter().map(|check| (format!("{}.md", check.id), page(check, PAGE))));
    pages
}

/// Returns the page of a finding as text for a terminal; `None` if there is no such finding.
#[must_use]
pub fn explained(id: &str) -> Option<String> {
    let check = CHECKS.iter().find(|check| check.id == id)?;
    let page = page(check, TERMINAL);
    // The marks of headings help in a browser, not on a terminal.
    let line = |line: &str| {
        let text = line.trim_start_matches("# ").trim_start_matches("## ");
        wrapped_line(text, (!text.starts_with('|')).then_some(TERMINAL), 0)
    };
    Some(page.lines().map(line).collect::<Vec<_>>().join("\n") + "\n")
}

/// The identifiers of all findings.
pub fn ids() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.id)
}

fn index() -> String {
    let mut text = String::from(
        "# Findings\n\n\
         A finding is a reason why a result may not measure what its reader thinks. It is `invalid` if\n\
         the number measures something else, `suspect` if it may, and a `note` if it is good to know.\n\
         `--findings=off` turns findings off. With `--findings=fatal`, fiord exits with status 253 if a\n\
         finding says that a result is invalid. `ignore_findings=ID,...` in a job turns off single\n\
         findings for that job.\n\
         `fiord check JOB...` reports the findings that need no run.\n\n\
         In JSON, each finding has its sentences (`what`, `evidence`, and the remedy in `mend`), and `claim`:\n\
         what it states, as data. A list is left out if it is empty:\n\n\
         | key | what |\n|---|---|\n\
         | `jobs` | names of the jobs that the finding is about, if it is about several |\n\
         | `extents` | bytes of a `file`, starting at `from` and ending before `to`, that these jobs touch in a `direction`: \
         `all` of them, or only bytes `within` (`touched`) |\n\
         | `numbers` | the numbers in the sentences, not rounded: `name`, `value`, `unit` (`bytes`, `count`, `ns`, `share`) |\n\
         | `settings` | the options of the first remedy, if it consists of options: `option` and `value`, or no value \
         to leave the option out; `job`, if it is another job |\n\n\
         | finding | at worst | reported | what |\n|---|---|---|---|\n",
    );
    for check in CHECKS {
        let Check { id, severity, title, .. } = check;
        let severity = severity.word();
        text.push_str(&format!("| [`{id}`]({id}.md) | {severity} | {} | {title} |\n", when(check)));
    }
    if !LATER.is_empty() {
        let names: Vec<String> = LATER.iter().map(|id| format!("`{id}`")).collect();
        text.push_str(&format!("\nNot implemented yet: {}.\n", names.join(", ")));
    }
    text
}

/// Returns when a check can report its finding, in words.
fn when(check: &Check) -> String {
    check.stages().map(CheckStage::words).collect::<Vec<_>>().join(", ")
}

/// The page of a finding, with lines of at most `columns` characters.
fn page(check: &Check, columns: usize) -> String {
    let Check { id, severity, title, about, detection, effect, remedy, .. } = check;
    let meaning = match severity {
        Severity::Invalid => "the number measures something else",
        Severity::Suspect => "the number may measure something else",
        Severity::Note => "good to know",
    };
    format!(
        "# `{id}`: {title}\n\n\
         At worst {}: {meaning}. Reported {}.\n\n{}\n\n\
         ## How fiord detects it\n\n{}\n\n\
         ## How large the effect can be\n\n{}\n\n\
         ## Remedy\n\n{}\n",
        severity.word(),
        when(check),
        wrapped(about, columns),
        wrapped(detection, columns),
        wrapped(effect, columns),
        wrapped(&to_fix(remedy), columns)
    )
}

/// Wraps paragraphs. Tables, lists and code stay unchanged.
fn wrapped(text: &str, columns: usize) -> String {
    let paragraphs = text.trim().split("\n\n").map(|paragraph| {
        let kept = paragraph.starts_with(['|', '-', '`', ' ']) && paragraph.contains('\n');
        if kept || paragraph.starts_with("```") {
            paragraph.to_owned()
        } else {
            filled(paragraph, columns)
        }
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn filled(paragraph: &str, columns: usize) -> String {
    let mut lines = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_texts_of_its_definition() {
        let check = CHECKS[0];
        let page = page(check, PAGE);
        assert!(page.starts_with(&format!("# `{}`: ", check.id)));
        assert!(page.lines().all(|line| line.starts_with('|') || line.chars().count() <= 100));
        assert!(page.contains("## Remedy\n\nTo fix: "));
    }

    #[test]
    fn tables_and_code_are_left_alone() {
        assert_eq!(wrapped("| a |\n|---|", PAGE), "| a |\n|---|");
        assert_eq!(wrapped("```sh\nfiord\n```", PAGE), "```sh\nfiord\n```");
        assert_eq!(wrapped("one\ntwo", PAGE), "one two");
    }

    #[test]
    fn the_page_of_a_finding_fits_a_terminal() {
        for check in CHECKS {
            let text = explained(check.id).unwrap();
            assert!(text.starts_with(&format!("`{}`: ", check.id)), "{text}");
            assert!(text.contains("\nHow fiord detects it\n"), "{text}");
            let long = text.lines().find(|line| {
                line.chars().count() > TERMINAL && line.contains(' ') && !line.starts_with('|')
            });
            assert_eq!(long, None, "{}", check.id);
        }
        assert_eq!(explained("no-such-finding"), None);
    }
}
