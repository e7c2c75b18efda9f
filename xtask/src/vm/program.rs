//! Programs in the machine: fiord, built without shared libraries, and others with their libraries.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::elf::{interpreter, libraries};
use super::host;
use super::options::Options;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A program and the files that it needs.
#[derive(Debug)]
pub(super) struct Program {
    /// Path on the host.
    pub path: PathBuf,
    /// Path in the machine.
    pub inside: String,
    /// Shared libraries and their loader; their paths on the host and in the machine are equal.
    pub libraries: Vec<PathBuf>,
}

impl Program {
    fn new(path: &Path, inside: String) -> Result<Self> {
        let path = path.canonicalize().with_context(|| path.display().to_string())?;
        let libraries = match interpreter(&path)? {
            Some(_) => libraries(&path)?,
            None => Vec::new(),
        };
        Ok(Program { path, inside, libraries })
    }
}

/// Returns all programs: fiord, the tools of the scenarios, and those named on the command line.
pub(super) fn all(options: &Options) -> Result<Vec<Program>> {
    let fiord = match &options.fiord {
        Some(path) => path.clone(),
        None => build()?,
    };
    let mut programs = vec![Program::new(&fiord, "/with/fiord".into())?];
    for tool in host::TOOLS.iter().filter(|tool| tool.inside) {
        let path = host::find(tool.program).with_context(|| format!("{} is gone", tool.program))?;
        programs.push(Program::new(&path, format!("/with/{}", tool.program))?);
    }
    for path in &options.with {
        let name = path.file_name().with_context(|| path.display().to_string())?;
        programs.push(Program::new(path, format!("/with/{}", name.to_string_lossy()))?);
    }
    Ok(programs)
}

/// Compiler flags: no shared libraries, and no debug information, which would be copied into the machine.
const FLAGS: &str = "-C target-feature=+crt-static -C debuginfo=0 -C strip=debuginfo";

/// Crates that do I/O are optimised a little, because the CPU is emulated. The others are built as for tests.
const BUSY: [&str; 4] = ["fiord-engine", "fiord-load", "fiord-run", "fiord-stat"];

/// Builds a static fiord for any x86-64 CPU, because the emulated CPU may differ from this one.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if !crate::place::root().join("target").join(TARGET).exists() {
        eprintln!("building fiord for the machine");
    }
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", "fiord", "--bin", "fiord", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(crate::place::root())
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stderr(Stdio::inherit());
    for package in BUSY {
        command.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=1"));
    }
    let output = command.output().context("cargo cannot be run")?;
    ensure!(output.status.success(), "fiord does not build for the machine");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "fiord")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo names no executable")
}
