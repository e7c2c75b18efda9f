//! Starts this program for one run and waits for its end.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fiord_sys::process;
use fiord_sys::signal::Signals;
use rustix::process::{Pid, Signal, kill_process};

/// Outcome of a child process.
#[derive(Debug)]
pub enum ChildEnd {
    /// The process exited.
    Alone {
        status: ExitStatus,
        /// Text on standard error; empty if the run succeeded.
        errors: String,
    },
    /// The user interrupted the run.
    Stopped,
}

/// Time to wait before passing Ctrl-C on: a terminal signals all processes of the group itself.
const TERMINAL_SIGNALS: Duration = Duration::from_millis(500);

/// The command of a run that writes its JSON to `output`.
#[must_use]
pub fn command(program: &Path, arguments: &[String], output: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--output-format=json+", "--eta=never"])
        .arg(format!("--output={}", output.display()))
        .args(arguments);
    command
}

/// Runs a command, and calls `tick` at least ten times a second meanwhile. Captures standard error through a pipe. Because
/// that is not a terminal, fiord prints no notes there; the JSON contains them.
///
/// # Errors
/// The command cannot be started or waited for.
pub fn run(
    command: &mut Command,
    signals: &Signals,
    tick: &mut dyn FnMut(),
) -> io::Result<ChildEnd> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    process::kill_with_parent(command);
    let mut child = command.spawn()?;
    let errors = child.stderr.take().map(|pipe| std::thread::spawn(move || read_all(pipe)));
    let mut pause = Duration::from_millis(1);
    let mut stopped: Option<Instant> = None;
    let mut passed_on = false;
    loop {
        if let Some(status) = child.try_wait()? {
            let errors = errors.and_then(|reader| reader.join().ok()).unwrap_or_default();
            let alone = ChildEnd::Alone { status, errors };
            return Ok(if stopped.is_some() { ChildEnd::Stopped } else { alone });
        }
        if signals.stop_requested() {
            let since = *stopped.get_or_insert_with(Instant::now);
            if !passed_on && since.elapsed() > TERMINAL_SIGNALS {
                passed_on = true;
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // The process may just have exited; then the signal has no target.
                    let _ = kill_process(pid, Signal::INT);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        } else {
            signals.wait(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
            tick();
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use fiord_sys::signal;

    use super::*;

    fn shell(script: &str) -> (ExitStatus, String) {
        let mut command = Command::new("sh");
        match run(command.args(["-c", script]), signal::install().unwrap(), &mut || ()).unwrap() {
            ChildEnd::Alone { status, errors } => (status, errors),
            ChildEnd::Stopped => panic!("nothing stopped it"),
        }
    }

    #[test]
    fn the_status_and_standard_error_of_a_child() {
        let (status, errors) = shell("echo unread; echo why >&2; exit 3");
        assert_eq!((status.code(), errors.as_str()), (Some(3), "why\n"));
        assert!(shell("true").0.success());
    }

    #[test]
    fn a_killed_child_has_the_signal_in_its_status() {
        let (status, _) = shell("kill -9 $$");
        assert_eq!((status.code(), status.signal()), (None, Some(9)));
    }

    #[test]
    fn a_program_that_does_not_exist() {
        let mut command = command(Path::new("/fiord-none"), &[], Path::new("x"));
        let error = run(&mut command, signal::install().unwrap(), &mut || ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
