//! `cargo xtask servers`: servers that start too slowly for `cargo test`, and the tests of the engines against them.
//!
//! | question | module |
//! |---|---|
//! | how is Ceph started | `ceph` |
//! | how is GlusterFS started | `gluster` |
//! | how is Swift started | `swift` |

mod ceph;
mod gluster;
mod swift;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::place::root;

const HELP: &str = "\
cargo xtask servers --only NAME [-- COMMAND...]

Starts the servers of NAME in target/servers/NAME, runs the tests of their engines or COMMAND, and stops the servers. It
needs root: the servers run in network, mount and process namespaces of their own, so that nothing outside reaches them
and nothing of them is left.

  ceph      a monitor and an OSD that stores in memory, for `rados` and `rbd`
  gluster   a volume with one brick, for `gfapi` and `gfapi_async`
  swift     a proxy with one device, for `http` with `http_mode=swift`
";

/// Variables of the environment that tell tests and commands where the servers are.
type Variables = Vec<(&'static str, String)>;

/// A set of servers.
struct Kind {
    name: &'static str,
    /// The part of the names of the tests.
    tests: &'static str,
    /// Starts the servers with their files in a directory.
    start: fn(&Path) -> Result<Variables>,
}

const KINDS: &[Kind] = &[
    Kind { name: "ceph", tests: "servers::ceph", start: ceph::start },
    Kind { name: "gluster", tests: "servers::gluster", start: gluster::start },
    Kind { name: "swift", tests: "servers::swift", start: swift::start },
];

/// Set in the process that runs in the namespaces.
const INSIDE: &str = "FIORD_SERVERS_INSIDE";

/// Runs the task.
pub(crate) fn main(args: &[String]) -> Result<ExitCode> {
    let (options, command) = match args.iter().position(|arg| arg == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &args[..0]),
    };
    let name = match options {
        [only, name] if only == "--only" => name,
        [help] if help == "--help" => {
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        _ => bail!("expected --only NAME\n\n{HELP}"),
    };
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.with_context(|| format!("there are no servers `{name}`\n\n{HELP}"))?;
    if std::env::var_os(INSIDE).is_none() {
        return again_in_namespaces(args);
    }
    run(kind, command)
}

/// Runs this program again with a network, mounts and processes of its own. All of its processes end with it.
fn again_in_namespaces(args: &[String]) -> Result<ExitCode> {
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"])
        .arg("--mount-proc")
        .arg(std::env::current_exe()?)
        .arg("servers")
        .args(args)
        .env(INSIDE, "1")
        .status()
        .context("cannot run unshare (package `util-linux`)")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Starts the servers and runs the command.
fn run(kind: &Kind, command: &[String]) -> Result<ExitCode> {
    call("ip", &["link", "set", "lo", "up"])?;
    let directory = root().join("target/servers").join(kind.name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory)?;
    let began = Instant::now();
    let variables = (kind.start)(&directory)?;
    println!("{} is ready after {:.1} s", kind.name, began.elapsed().as_secs_f64());
    let mut run = match command {
        [program, args @ ..] => {
            let mut run = Command::new(program);
            run.args(args);
            run
        }
        [] => {
            let mut run = Command::new("cargo");
            run.args([
                "test",
                "-p",
                "fiord",
                "--test",
                "run",
                "--",
                kind.tests,
                "--test-threads=1",
            ]);
            run
        }
    };
    let status = run.envs(variables).env_remove(INSIDE).current_dir(root()).status();
    let status = status.with_context(|| format!("cannot run {run:?}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a program to its end. Returns its output.
fn call(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{program} is not installed"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {} failed: {}: {error}", args.join(" "), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Starts a program that continues, with its output in a file. Returns its process.
fn serve(program: &str, args: &[&str], output: &PathBuf) -> Result<u32> {
    let log = std::fs::File::create(output)?;
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("{program} is not installed"))?;
    Ok(child.id())
}

/// Waits until `ready`, at most a minute.
fn wait_until(what: &str, ready: impl Fn() -> bool) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(60);
    while !ready() {
        if Instant::now() >= end {
            bail!("{what} does not answer");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
