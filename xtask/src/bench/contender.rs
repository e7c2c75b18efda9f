//! The compared programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A program that understands fio's command line.
#[derive(Debug, Clone)]
pub(crate) struct Contender {
    /// Name of the program in messages.
    pub name: &'static str,
    pub program: PathBuf,
    /// Version of the program.
    pub version: String,
}

impl Contender {
    /// Asks the program for its version.
    pub(crate) fn new(name: &'static str, program: &Path) -> Result<Self> {
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
