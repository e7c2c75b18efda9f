//! Runs one program on one case, within a limit of time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::sandbox::Sandbox;

/// How a program ended, and what it wrote.
#[derive(Debug)]
pub(super) struct Ended {
    /// Exit status; `None` if a signal ended the program.
    pub status: Option<i32>,
    /// The program still ran at the limit, and was killed.
    pub killed: bool,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Time after SIGTERM until SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// Runs a program in `directory`, which is in the sandbox.
pub(super) fn run(
    sandbox: &Sandbox,
    directory: &Path,
    program: &Path,
    args: &[String],
    limit: Duration,
) -> Result<Ended> {
    let (out, err) = (beside(directory, "out"), beside(directory, "err"));
    let mut child = sandbox
        .command(directory, program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .process_group(0)
        .spawn()
        .context("nsenter(1) cannot be run")?;
    let start = Instant::now();
    let mut killed = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > limit {
            killed = true;
            stop(&mut child, directory);
            break child.wait()?;
        }
        std::thread::sleep(Duration::from_millis(4));
    };
    let read = |path: &Path| -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    };
    Ok(Ended { status: status.code(), killed, out: read(&out)?, err: read(&err)? })
}

/// A path next to the case's directory.
fn beside(directory: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(directory);
    path.push(".");
    path.push(ending);
    path.into()
}

/// Ends the program and its jobs, which are sessions of their own.
fn stop(child: &mut Child, directory: &Path) {
    let Some(pid) = Pid::from_raw(child.id().cast_signed()) else { return };
    let _ = kill_process(pid, Signal::TERM);
    let start = Instant::now();
    while start.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kill_process(pid, Signal::KILL);
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let job = entry.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
        let there = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == directory);
        if let (Some(job), true) = (job, there) {
            let _ = kill_process(job, Signal::KILL);
        }
    }
}
