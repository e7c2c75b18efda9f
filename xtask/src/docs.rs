//! Generates documentation from the option table (reference pages) and from the definitions of findings (their pages),
//! and the table of contents of the book.
//! The command line also has subcommands, which only the program knows: its example `pages` writes the manual pages and
//! the completions, and its tests check that they are current.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use fiord_job::option::{engines_page, reference};

use crate::place::root;

/// `cargo xtask docs [--check]`.
pub(crate) fn task(args: &[String]) -> Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => write().and_then(|()| command_pages()),
        ["--check"] => match stale().as_slice() {
            [] => Ok(()),
            files => bail!("out of date, run `cargo xtask docs`: {}", files.join(", ")),
        },
        other => bail!("docs takes --check or nothing, not {}", other.join(" ")),
    }
}

/// Returns every generated file with its path in the repository and its contents.
fn pages() -> Vec<(String, String)> {
    let fixed = [
        ("docs/reference.md", reference::reference()),
        ("docs/compatibility.md", reference::compatibility()),
        ("docs/engines.md", engines_page::page()),
        ("docs/SUMMARY.md", crate::book::summary()),
    ];
    let findings = fiord_doctor::pages::pages();
    let findings = findings.into_iter().map(|(name, text)| (format!("docs/findings/{name}"), text));
    fixed.into_iter().map(|(name, text)| (name.to_owned(), text)).chain(findings).collect()
}

fn write() -> Result<()> {
    for (name, text) in pages() {
        let path = root().join(&name);
        let folder = path.parent().context("a page lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        if fs::read_to_string(&path).is_ok_and(|now| now == text) {
            continue;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {name}");
    }
    Ok(())
}

/// Writes the manual pages and the completions.
fn command_pages() -> Result<()> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--package", "fiord", "--example", "pages"])
        .current_dir(root());
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("the example `pages` of fiord failed");
    }
    Ok(())
}

/// Returns the files whose contents are out of date.
fn stale() -> Vec<String> {
    let is_stale = |(name, text): &(String, String)| {
        fs::read_to_string(root().join(name)).ok().as_ref() != Some(text)
    };
    pages().into_iter().filter(is_stale).map(|p| p.0).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_pages_are_current() {
        let stale = super::stale();
        assert!(stale.is_empty(), "run `cargo xtask docs`: {stale:?}");
    }
}
