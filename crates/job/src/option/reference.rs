//! Generates the reference pages, in Markdown, from the option table.

use std::fmt::Write;

use super::def::{Category, OptionDef, Scope, Support, Word};
use super::shape::shape;
use super::table;
use crate::command::help::words_of;
use crate::profile::PROFILES;

/// What the reference and the manual page say before the options.
pub(crate) const PREAMBLE: &str = "\
An option can be in a job's section, in `[global]` or, after two dashes, on the command line. Sizes take the suffixes `k`, \
`m`, `g`, `t`, `p` (see `kb_base`); times take `us`, `ms`, `s`, `m`, `h`, `d`; every number can be an expression in \
parentheses. fiord reads and checks options that are not supported yet, but a run that uses one ends before any I/O.";

/// The text of `docs/reference.md`: all options and engines, one chapter per category.
#[must_use]
pub fn reference() -> String {
    let mut out = format!(
        "# Job options\n\n`cargo xtask docs` generates this page from the declarations in \
         `crates/job/src/option/table/`.\n\n{PREAMBLE} See also [which options \
         work](compatibility.md).\n",
    );
    for category in Category::ALL {
        let _ = write!(out, "\n## {}\n", category.title());
        let of = |o: &&&'static OptionDef| o.category == category;
        for option in table::options().iter().filter(of) {
            entry(&mut out, option);
        }
        if category == Category::Engine {
            engines(&mut out);
        }
    }
    for profile in PROFILES {
        let _ = write!(out, "\n## Options of the profile `{}`\n\n{}\n", profile.name, profile.doc);
        profile.options.iter().for_each(|option| entry(&mut out, option));
    }
    out
}

/// The text of `docs/compatibility.md`: which options and engines work, are accepted without
/// effect, or do not work yet.
#[must_use]
pub fn compatibility() -> String {
    let options = table::options().iter().chain(table::engine_options());
    let (mut built, mut accepted, mut later) = (0, 0, 0);
    let mut rows = String::new();
    for option in options {
        match option.support {
            Support::Built | Support::WithoutFeature => built += 1,
            Support::Accepted(_) => accepted += 1,
            Support::Later => later += 1,
        }
        let _ =
            writeln!(rows, "| `{}` | {} | {} |", option.name, engines_of(option), status(option));
    }
    let mut engines = String::new();
    for engine in table::engines() {
        let works = match (engine.support, engine.feature) {
            (Support::Later, _) => "not yet".to_owned(),
            (_, "") => "works".to_owned(),
            (_, feature) => format!("works in builds with the cargo feature `{feature}`"),
        };
        let _ = writeln!(engines, "| `{}` | {works} |", engine.name);
    }
    format!(
        "# Which options and engines work\n\n`cargo xtask docs` generates this page from the \
         option table. fiord reads and checks options that do not work yet, but a run that uses \
         one ends before any I/O. Setting such an option to its default (`verify=0`) does not \
         count as use.\n\nOptions: {built} work, {accepted} are accepted without effect, {later} \
         do not work yet.\n\n| engine | |\n|---|---|\n{engines}\n| option | engines | \
         |\n|---|---|---|\n{rows}"
    )
}

fn status(option: &OptionDef) -> String {
    let later: Vec<String> = words_of(&option.kind)
        .iter()
        .filter(|w| w.support == Support::Later && w.means.is_none())
        .map(|w| format!("`{}`", w.name))
        .collect();
    match option.support {
        Support::Built if later.is_empty() || *option == *table::IOENGINE.def() => "works".into(),
        Support::Built | Support::WithoutFeature => {
            format!("works, without {}", later.join(", "))
        }
        Support::Accepted(why) => format!("accepted: {why}"),
        Support::Later => "not yet".into(),
    }
}

fn engines_of(option: &OptionDef) -> String {
    match option.scope {
        Scope::Job => "all".into(),
        Scope::Engine(engines) => engines.join(", "),
    }
}

fn entry(out: &mut String, option: &OptionDef) {
    let _ = write!(out, "\n### `{}`\n\n", option.name);
    if !option.aliases.is_empty() {
        let _ = write!(out, "Also {}. ", codes(option.aliases));
    }
    let _ = write!(out, "{}\n\n{}\n", facts(option), option.doc);
    if let Some(limit) = limit(option) {
        let _ = write!(out, "\n*{limit}*\n");
    }
    // A separate table lists the engines.
    let words = words_of(&option.kind);
    if option.name != "ioengine" && !words.is_empty() {
        out.push('\n');
        for word in words {
            let _ = writeln!(out, "- `{}`: {}", word.name, meaning(word, option));
        }
    }
    let _ = write!(out, "\n```ini\n{}\n```\n", option.example);
}

/// Engines, values, default and origin of an option, in Markdown.
pub(crate) fn facts(option: &OptionDef) -> String {
    let mut out = String::new();
    if let Scope::Engine(engines) = option.scope {
        let _ = write!(out, "Engines: {}. ", codes(engines));
    }
    let _ = write!(out, "Value: {}.", shape(&option.kind));
    match option.default {
        Some("") => out.push_str(" Default: empty."),
        Some(default) => {
            let _ = write!(out, " Default: `{default}`.");
        }
        None => {}
    }
    if let Some(parent) = option.parent {
        let _ = write!(out, " Refines `{parent}`.");
    }
    if option.since != "3.33" {
        let _ = write!(out, " {}", since(option.since));
    }
    out
}

/// Returns the note on an option that has no effect or is not supported yet.
pub(crate) fn limit(option: &OptionDef) -> Option<String> {
    match option.support {
        Support::Built | Support::WithoutFeature => None,
        Support::Accepted(why) => Some(format!("Accepted without effect: {why}.")),
        Support::Later => Some("Not supported yet.".into()),
    }
}

/// The meaning of a word that is a value of an option, in Markdown.
pub(crate) fn meaning(word: &Word, of: &OptionDef) -> String {
    let is_later = word.support == Support::Later && of.support != Support::Later;
    let note = if is_later { " (not supported yet)" } else { "" };
    match word.means {
        Some(means) => format!("the same as `{means}`{note}"),
        None => format!("{}{note}", word.doc),
    }
}

fn since(release: &str) -> String {
    if release == "fiord" {
        "Not in fio.".into()
    } else {
        format!("New after fio 3.33, in {release} at the latest.")
    }
}

fn codes(names: &[&str]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

fn engines(out: &mut String) {
    out.push_str(
        "\n### The engines\n\n[What each engine can do](engines.md) is on a page of its own.\n\n\
         | name | | |\n|---|---|---|\n",
    );
    for engine in table::engines() {
        let also = match engine.aliases {
            [] => String::new(),
            aliases => format!(" Also {}.", codes(aliases)),
        };
        let status = if engine.support == Support::Later { "not supported yet" } else { "" };
        let depth = if engine.is_synchronous() { " One I/O at a time." } else { "" };
        let _ = writeln!(out, "| `{}` | {}{also}{depth} | {status} |", engine.name, engine.doc);
    }
    out.push_str("\n## Options of single engines\n");
    for option in table::engine_options() {
        entry(out, option);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_its_entry() {
        let page = reference();
        for option in table::options().iter().chain(table::engine_options()) {
            assert!(page.contains(&format!("\n### `{}`\n", option.name)), "{}", option.name);
        }
        assert!(
            page.contains("\n## Block size\n\n### `bs`\n\nAlso `blocksize`. Value: one to three")
        );
    }

    #[test]
    fn the_compatibility_page_shows_what_works() {
        let page = compatibility();
        assert!(page.contains("| `bs` | all | works |\n"));
        assert!(page.contains("| `read_iolog` | all | works |\n"));
        assert!(page.contains("| `thread` | all | accepted: workers are always threads |\n"));
        assert!(page.contains("| `zonemode` | all | works |\n"));
    }
}
