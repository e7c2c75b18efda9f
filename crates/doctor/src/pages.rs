//! The pages in `docs/findings/`, made from the definitions.

use fiord_stat::finding::Severity;

use crate::registry::{CHECKS, LATER};
use crate::{Check, Stage};

/// Every page: its name below `docs/findings/` and its text.
pub fn pages() -> Vec<(String, String)> {
    let mut pages = vec![("README.md".to_owned(), index())];
    pages.extend(CHECKS.iter().map(|check| (format!("{}.md", check.id), page(check))));
    pages
}

fn index() -> String {
    let mut text = String::from(
        "# Findings\n\n\
         What makes a storage number lie, and how fiord sees it. A finding is `invalid` when the\n\
         number measures something else, `suspect` when it may, and a `note` when it is good to know.\n\
         `--findings=off` turns them off, `--findings=fatal` ends with status 253 when one is invalid,\n\
         and `ignore_findings=ID,...` in a job silences single ones there. `fiord check JOB...` tells\n\
         before a run what can be told without one.\n\n\
         | finding | at worst | told | what |\n|---|---|---|---|\n",
    );
    for check in CHECKS {
        let Check { id, severity, title, .. } = check;
        let severity = severity.word();
        text.push_str(&format!("| [`{id}`]({id}.md) | {severity} | {} | {title} |\n", told(check)));
    }
    if !LATER.is_empty() {
        let names: Vec<String> = LATER.iter().map(|id| format!("`{id}`")).collect();
        text.push_str(&format!("\nNot told yet: {}.\n", names.join(", ")));
    }
    text
}

fn told(check: &Check) -> String {
    check.stages().map(Stage::words).collect::<Vec<_>>().join(", ")
}

fn page(check: &Check) -> String {
    let Check { id, severity, title, about, detection, effect, remedy, .. } = check;
    let meaning = match severity {
        Severity::Invalid => "the number measures something else",
        Severity::Suspect => "the number may measure something else",
        Severity::Note => "good to know",
    };
    format!(
        "# `{id}`: {title}\n\n\
         At worst {}: {meaning}. FindingBuilder {}.\n\n{}\n\n\
         ## How it is found out\n\n{}\n\n\
         ## How large the effect can be\n\n{}\n\n\
         ## What mends it\n\n{}\n",
        severity.word(),
        told(check),
        wrapped(about),
        wrapped(detection),
        wrapped(effect),
        wrapped(remedy)
    )
}

/// Paragraphs in lines of at most 100 characters; tables, lists and code stay as they are.
fn wrapped(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n").map(|paragraph| {
        let kept = paragraph.starts_with(['|', '-', '`', ' ']) && paragraph.contains('\n');
        if kept || paragraph.starts_with("```") { paragraph.to_owned() } else { filled(paragraph) }
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn filled(paragraph: &str) -> String {
    let mut lines = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 100 {
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
        let page = page(check);
        assert!(page.starts_with(&format!("# `{}`: ", check.id)));
        assert!(page.lines().all(|line| line.starts_with('|') || line.chars().count() <= 100));
        assert!(page.contains("## What mends it"));
    }

    #[test]
    fn tables_and_code_are_left_alone() {
        assert_eq!(wrapped("| a |\n|---|"), "| a |\n|---|");
        assert_eq!(wrapped("```sh\nfiord\n```"), "```sh\nfiord\n```");
        assert_eq!(wrapped("one\ntwo"), "one two");
    }
}
