//! Programs that go into the machine: fiord, built without shared libraries, and others with theirs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::host;
use super::options::Options;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A program and the files that it needs beside it.
#[derive(Debug)]
pub struct Program {
    /// Where it lies here.
    pub path: PathBuf,
    /// Where it lies in the machine.
    pub inside: String,
    /// Its shared libraries and their loader: here and in the machine at the same path.
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

/// Everything that goes in: fiord, the tools that scenarios use, what was named.
pub fn all(options: &Options) -> Result<Vec<Program>> {
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

/// Flags of the compiler: no shared libraries, and no debug information to be carried into the machine.
const FLAGS: &str = "-C target-feature=+crt-static -C debuginfo=0 -C strip=debuginfo";

/// Where I/O is done: optimised a little, because the CPU is emulated. The rest is what it is in tests.
const BUSY: [&str; 4] = ["fiord-engine", "fiord-load", "fiord-run", "fiord-stat"];

/// Builds fiord for the machine: static, and for any x86-64 CPU, since the emulated one need not be this one.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if !super::root().join("target").join(TARGET).exists() {
        eprintln!("building fiord for the machine");
    }
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", "fiord", "--bin", "fiord", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(super::root())
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

/// The program that a dynamic ELF file names to load it (its `PT_INTERP` segment); `None` for a static one
/// or a script. Format: ELF-64 specification, program header.
pub fn interpreter(path: &Path) -> Result<Option<PathBuf>> {
    const PT_INTERP: u32 = 3;
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.get(..5) != Some(b"\x7fELF\x02") {
        return Ok(None);
    }
    let number = |at: usize, len: usize| -> Option<usize> {
        let field = bytes.get(at..at + len)?;
        let value = field.iter().rev().fold(0_u64, |value, &byte| (value << 8) | u64::from(byte));
        usize::try_from(value).ok()
    };
    let read = || -> Option<Option<PathBuf>> {
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        for header in (0..count).map(|i| table + i * size) {
            if number(header, 4)? == PT_INTERP as usize {
                let (offset, len) = (number(header + 8, 8)?, number(header + 32, 8)?);
                let name = bytes.get(offset..offset + len.checked_sub(1)?)?;
                return Some(Some(PathBuf::from(String::from_utf8_lossy(name).into_owned())));
            }
        }
        Some(None)
    };
    read().with_context(|| format!("{} is no whole ELF file", path.display()))
}

/// The shared libraries of a program, as `ldd` finds them, its loader among them.
fn libraries(path: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(path).output().context("ldd cannot be run")?;
    ensure!(output.status.success(), "ldd {} failed", path.display());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.contains("not found") {
            bail!("{} needs a library that is not here: {}", path.display(), line.trim());
        }
        let file = line.split_whitespace().find(|word| word.starts_with('/'));
        found.extend(file.map(PathBuf::from));
    }
    Ok(found.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_program_names_its_loader_and_a_script_none() {
        let itself = std::env::current_exe().unwrap();
        let loader = interpreter(&itself).unwrap();
        if cfg!(all(target_env = "gnu", not(target_feature = "crt-static"))) {
            assert!(loader.unwrap().to_string_lossy().contains("ld-linux"));
            assert!(!libraries(&itself).unwrap().is_empty());
        }
        assert_eq!(interpreter(&crate::vm::root().join("Cargo.toml")).unwrap(), None);
    }
}
