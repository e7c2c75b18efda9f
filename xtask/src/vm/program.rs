//! Programs in the machine: fiord, built without shared libraries, and others with their libraries.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::devices::Device;
use super::elf::{interpreter, is_shared, libraries};
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
        let libraries = match interpreter(&path)?.is_some() || is_shared(&path)? {
            true => libraries(&path)?,
            false => Vec::new(),
        };
        Ok(Program { path, inside, libraries })
    }
}

/// Returns all programs: fiord, the tools of the scenarios, and those named on the command line.
pub(super) fn all(options: &Options) -> Result<Vec<Program>> {
    let fiord = match &options.fiord {
        Some(path) => path.clone(),
        None => build(&["--package", "fiord", "--bin", "fiord"], "fiord")?,
    };
    // What scenarios compare rates with.
    let bare = build(&["--package", "fiord-engine", "--example", "bare_loop"], "bare_loop")?;
    let mut programs = vec![Program::new(&fiord, "/with/fiord".into())?];
    programs.push(Program::new(&bare, "/with/bare_loop".into())?);
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

/// Returns what devices need in the machine: their files, and `dynamic`, a fiord that can load libraries.
pub(super) fn of_devices(devices: &[&Device], dynamic: Option<&Path>) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for device in devices {
        for pattern in &device.files {
            for path in host::files(pattern) {
                let inside = path.to_string_lossy().into_owned();
                programs.push(Program::new(&path, inside)?);
            }
        }
    }
    if let Some(fiord) = dynamic.filter(|_| devices.iter().any(|device| device.dynamic_fiord)) {
        programs.push(Program::new(fiord, "/with/dynamic/fiord".into())?);
    }
    Ok(programs)
}

/// Compiler flags: no shared libraries, and no debug information, which would be copied into the machine.
const FLAGS: &str = "-C target-feature=+crt-static -C debuginfo=0 -C strip=debuginfo";

/// Crates that do I/O are optimised a little, because the CPU is emulated. The others are built as for tests.
const BUSY: [&str; 6] =
    ["fiord-engine", "fiord-load", "fiord-run", "fiord-simd", "fiord-stat", "fiord-sys"];

/// Builds a static program for any x86-64 CPU, because the emulated CPU may differ from this one.
fn build(what: &[&str], name: &str) -> Result<PathBuf> {
    if !crate::place::root().join("target").join(TARGET).exists() {
        eprintln!("building {name} for the machine");
    }
    let mut command = cargo();
    command
        .args(["build", "--quiet", "--target", TARGET])
        .args(what)
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    for package in BUSY {
        command.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=1"));
    }
    executable(&mut command, name)
}

/// Builds a fiord that can load libraries, as tests use it, and removes its debug information.
pub(super) fn build_dynamic() -> Result<PathBuf> {
    let mut command = cargo();
    // With the features of the whole workspace, which tests have built already.
    command.args(["build", "--quiet", "--workspace", "--bin", "fiord"]);
    let built = executable(&mut command, "fiord")?;
    ensure!(
        interpreter(&built)?.is_some(),
        "cargo builds a static fiord, which cannot load libraries: {}",
        built.display()
    );
    let small = super::place().join("fiord-dynamic");
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(&small).arg(&built);
    Ok(if strip.status().is_ok_and(|status| status.success()) { small } else { built })
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::place::root()).stderr(Stdio::inherit());
    command
}

/// Runs a build, and returns the path of the program in cargo's messages.
fn executable(command: &mut Command, name: &str) -> Result<PathBuf> {
    let command = command.arg("--message-format=json-render-diagnostics");
    let output = command.output().context("cargo cannot be run")?;
    ensure!(output.status.success(), "{name} does not build for the machine");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo names no executable")
}
