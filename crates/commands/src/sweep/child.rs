//! Runs one point in a child process.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fiord_sys::signal::Signals;
use rustix::process::{Pid, Signal, kill_process};

/// Outcome of a child process.
#[derive(Debug)]
pub enum Ended {
    /// The process exited.
    Alone {
        /// Exit status.
        status: ExitStatus,
        /// Text on standard error; empty if the run succeeded.
        errors: String,
    },
    /// The user interrupted the run.
    Stopped,
}

/// Time to wait before passing Ctrl-C on: a terminal signals all processes of the group itself.
const HEARS: Duration = Duration::from_millis(500);

/// Runs the program and writes its JSON to `output`. Captures standard error through a pipe.
/// Because that is not a terminal, the program prints no notes there; the JSON contains them.
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
        .stderr(Stdio::piped())
        .spawn()?;
    let errors = child.stderr.take().map(|pipe| std::thread::spawn(move || read_all(pipe)));
    let mut pause = Duration::from_millis(1);
    let mut stopped: Option<Instant> = None;
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            let errors = errors.and_then(|reader| reader.join().ok()).unwrap_or_default();
            let alone = Ended::Alone { status, errors };
            return Ok(if stopped.is_some() { Ended::Stopped } else { alone });
        }
        if signals.stop_requested() {
            let since = *stopped.get_or_insert_with(Instant::now);
            if !told && since.elapsed() > HEARS {
                told = true;
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // The process may just have exited; then the signal has no target.
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

/// Reads a pipe until its other end is closed.
fn read_all(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // Keep the text that was read before an error.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
