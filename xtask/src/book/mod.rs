//! `cargo xtask book`: the documentation as a book with a search field, made by mdbook.

mod links;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

pub(crate) use summary::summary;

/// `cargo xtask book [--install]`.
///
/// # Errors
///
/// If mdbook is missing or fails, or if its result has no search index.
pub(crate) fn task(args: &[String]) -> Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = crate::place::root();
    match args.as_slice() {
        [] => build(&root),
        ["--install"] => install(&root),
        other => bail!("book takes --install or nothing, not {}", other.join(" ")),
    }
}

/// Copies the pages, leaves out links to files that are not in the book, and runs mdbook.
fn build(root: &Path) -> Result<()> {
    let (place, out) = (root.join("target/book-sources"), root.join("target/book"));
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    copy(&root.join("docs"), &place.join("docs"), "")?;
    fs::copy(root.join("book.toml"), place.join("book.toml")).context("cannot copy book.toml")?;
    let mut mdbook = Command::new(program(root));
    mdbook.arg("build").arg(&place).arg("--dest-dir").arg(&out);
    let status = mdbook.status().context(
        "cannot run mdbook. To fix: `cargo xtask book --install`, which installs it into target/tools",
    )?;
    ensure!(status.success(), "mdbook failed: {status}");
    ensure!(
        out.join("index.html").exists(),
        "mdbook wrote no {}",
        out.join("index.html").display()
    );
    let is_index = |name: &str| name.starts_with("searchindex");
    let has_index =
        fs::read_dir(&out)?.flatten().any(|entry| is_index(&entry.file_name().to_string_lossy()));
    ensure!(has_index, "the book has no search index: this mdbook was built without `search`");
    println!("wrote {}", out.join("index.html").display());
    Ok(())
}

/// Copies the files below a directory. `folder` is the path of the directory in `docs`, empty or ending in a slash.
fn copy(from: &Path, to: &Path, folder: &str) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (from, to) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&from, &to, &format!("{folder}{name}/"))?;
        } else if name.ends_with(".md") {
            let text = fs::read_to_string(&from).with_context(|| from.display().to_string())?;
            fs::write(&to, links::within(&text, folder))?;
        } else {
            fs::copy(&from, &to).with_context(|| from.display().to_string())?;
        }
    }
    Ok(())
}

/// Returns the mdbook that `--install` installed, or the one in `PATH`.
fn program(root: &Path) -> PathBuf {
    let installed = root.join("target/tools/bin/mdbook");
    if installed.exists() { installed } else { "mdbook".into() }
}

/// Installs mdbook without its web server, unless there is one.
fn install(root: &Path) -> Result<()> {
    let works = Command::new(program(root)).arg("--version").output();
    if works.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["install", "mdbook", "--locked", "--quiet", "--debug"]);
    cargo.args(["--no-default-features", "--features", "search", "--root"]);
    let status = cargo.arg(root.join("target/tools")).status().context("cannot run cargo")?;
    ensure!(status.success(), "cargo could not install mdbook: {status}");
    Ok(())
}
