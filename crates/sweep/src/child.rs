//! One run, in a process of its own.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fiord_sys::signal::Signals;
use rustix::process::{Pid, Signal, kill_process};

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself.
    Alone(ExitStatus),
    /// The user wants no more.
    Stopped,
}

/// How long a run may take to hear of Ctrl-C by itself: a terminal tells all processes.
const HEARS: Duration = Duration::from_millis(500);

/// Runs the program; its JSON goes to `output`, what it says of errors to standard error.
///
/// # Errors
/// The program cannot be started or waited for.
pub fn run(
    program: &Path,
    arguments: &[String],
    output: &Path,
    signals: &Signals,
) -> std::io::Result<Ended> {
    let mut child = Command::new(program)
        .args(["--output-format=json+", "--eta=never"])
        .arg(format!("--output={}", output.display()))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let mut pause = Duration::from_millis(1);
    let mut stopped: Option<Instant> = None;
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if stopped.is_some() { Ended::Stopped } else { Ended::Alone(status) });
        }
        if signals.stop_requested() {
            let since = *stopped.get_or_insert_with(Instant::now);
            if !told && since.elapsed() > HEARS {
                told = true;
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // It may have ended in this moment: then there is nothing to tell.
                    let _ = kill_process(pid, Signal::INT);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        } else {
            signals.wait(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
}
