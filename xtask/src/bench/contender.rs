//! The compared programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A program that understands fio's command line.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    /// Its name in messages.
    pub name: &'static str,
    /// Path of the program.
    pub program: PathBuf,
    /// Its version.
    pub version: String,
}

impl Contender {
    /// Asks the program for its version.
    pub(super) fn new(name: &'static str, program: &Path) -> Result<Self> {
        // Runs have another working directory: make a relative path absolute, and leave a bare name to PATH.
        let program = match program.components().count() {
            1 => program.to_path_buf(),
            _ => program.canonicalize().with_context(|| program.display().to_string())?,
        };
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .with_context(|| format!("{} cannot be run", program.display()))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
        ensure!(output.status.success(), "{} --version failed", program.display());
        Ok(Contender { name, program, version })
    }
}

/// How the programs are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    /// As users do.
    Release,
    /// As tests do, which have built them already: for a round that only shows that rows work.
    Debug,
}

/// Builds fiord, and returns its path.
pub(super) fn build_fiord(how: Build) -> Result<PathBuf> {
    build(how, "fiord", &["--bin", "fiord"])
}

/// Builds the bare loop, and returns its path.
pub(super) fn build_bare(how: Build) -> Result<PathBuf> {
    build(how, "fiord-engine", &["--example", "bare_loop"])
}

fn build(how: Build, package: &str, what: &[&str; 2]) -> Result<PathBuf> {
    let name = what[1];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--message-format=json"])
        // The features of the whole workspace are those of the tests' programs.
        .args(match how {
            Build::Release => vec!["--release", "--package", package],
            Build::Debug => vec!["--workspace"],
        })
        .args(what)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(output.status.success(), "{name} does not build");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo names no executable")
}
