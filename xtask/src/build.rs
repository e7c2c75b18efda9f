//! The programs that the tests build, for tasks that run them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Paths of the programs.
pub(crate) struct Built {
    pub fiord: PathBuf,
    /// The example `bare_loop`: the system calls of a benchmark row without a workload generator.
    pub bare_loop: PathBuf,
}

/// An engine that a build has only on request.
const FEATURES: [&str; 2] = ["--features", "fiord/libblkio"];

/// Builds all tests as the gate does, and with them fiord and the bare loop: everything that the gate has compiled is used. A build
/// without tests has other features of libraries, and would compile the workspace again.
///
/// # Errors
///
/// If cargo cannot be run, or something does not compile.
pub(crate) fn as_tests_do() -> Result<Built> {
    let mut build = Command::new(cargo());
    let built = executables(build.args(["test", "--workspace", "--no-run"]).args(FEATURES))?;
    Ok(Built { fiord: named(&built, "fiord")?, bare_loop: named(&built, "bare_loop")? })
}

/// Builds fiord and the bare loop as users do, with all engines.
///
/// # Errors
///
/// See [`as_tests_do`].
pub(crate) fn release() -> Result<Built> {
    let packages = ["--package", "fiord", "--package", "fiord-engine"];
    let targets = ["--bin", "fiord", "--example", "bare_loop"];
    let built = executables(
        Command::new(cargo())
            .args(["build", "--release"])
            .args(FEATURES)
            .args(packages)
            .args(targets),
    )?;
    Ok(Built { fiord: named(&built, "fiord")?, bare_loop: named(&built, "bare_loop")? })
}

fn cargo() -> PathBuf {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into()
}

/// Runs a build, and returns cargo's messages about programs.
fn executables(command: &mut Command) -> Result<Vec<Value>> {
    // What `cargo run` says of xtask itself: build scripts (ring's) run again if it changes, and with them everything that follows.
    let of_xtask =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars().filter(|(name, _)| of_xtask(name)) {
        command.env_remove(name);
    }
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .current_dir(crate::place::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(output.status.success(), "the programs do not build");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages.filter(|message| message["executable"].is_string()).collect())
}

fn named(built: &[Value], name: &str) -> Result<PathBuf> {
    // Programs with tests have the same names.
    let is_program =
        |message: &&Value| message["target"]["name"] == name && message["profile"]["test"] == false;
    let path = built.iter().find(is_program).and_then(|message| message["executable"].as_str());
    path.map(PathBuf::from).with_context(|| format!("cargo names no program {name}"))
}
