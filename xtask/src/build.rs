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

/// Builds fiord and the bare loop as `cargo test --workspace` does, so that everything that it has compiled is used. A build
/// without tests has other features of libraries, and would compile the workspace again: therefore this one includes the
/// smallest test program.
///
/// # Errors
///
/// If cargo cannot be run, or something does not compile.
pub(crate) fn as_tests_do() -> Result<Built> {
    let arguments = ["--test", "plain_path", "--example", "bare_loop"];
    let built = executables(
        Command::new(cargo()).args(["test", "--workspace", "--no-run"]).args(arguments),
    )?;
    Ok(Built { fiord: named(&built, "fiord")?, bare_loop: named(&built, "bare_loop")? })
}

/// Builds fiord and the bare loop as users do.
///
/// # Errors
///
/// Those of [`as_tests_do`].
pub(crate) fn release() -> Result<Built> {
    let packages = ["--package", "fiord", "--package", "fiord-engine"];
    let targets = ["--bin", "fiord", "--example", "bare_loop"];
    let built = executables(
        Command::new(cargo()).args(["build", "--release"]).args(packages).args(targets),
    )?;
    Ok(Built { fiord: named(&built, "fiord")?, bare_loop: named(&built, "bare_loop")? })
}

fn cargo() -> PathBuf {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into()
}

/// Runs a build, and returns cargo's messages about programs.
fn executables(command: &mut Command) -> Result<Vec<Value>> {
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
    let of_this_name = built.iter().find(|message| {
        message["target"]["name"] == name && message["target"]["kind"] != serde_json::json!(["lib"])
    });
    let path = of_this_name.and_then(|message| message["executable"].as_str());
    path.map(PathBuf::from).with_context(|| format!("cargo names no program {name}"))
}
