//! Child processes: the writer, which is killed, and the check, which is waited for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fiord_sys::file::FileGuard;
use fiord_sys::process;
use fiord_sys::signal::Signals;

use super::error::PowercutError;

/// Interval of looking at a child process.
const LOOK: Duration = Duration::from_millis(5);

/// A child process whose standard error goes to a file.
#[derive(Debug)]
pub(super) struct ChildRun {
    child: Child,
    program: PathBuf,
    errors: PathBuf,
    /// The command, for a repetition by hand.
    pub(super) command: String,
}

impl ChildRun {
    /// Starts a program. Its standard output goes to the file `output`, its standard error to `errors`.
    pub(super) fn start(
        program: &Path,
        arguments: &[String],
        output: &Path,
        errors: &Path,
    ) -> Result<Self, PowercutError> {
        let create = |path: &Path| -> Result<File, PowercutError> {
            Ok(FileGuard::generated().replace(path)?)
        };
        let mut child = Command::new(program);
        child.args(arguments).stdin(Stdio::null());
        child.stdout(create(output)?).stderr(create(errors)?);
        // Without this process, nothing would end the writer.
        process::kill_with_parent(&mut child);
        let child = child.spawn().map_err(PowercutError::at(program))?;
        let command = format!("{} {}", program.display(), arguments.join(" "));
        Ok(ChildRun { child, program: program.into(), errors: errors.into(), command })
    }

    /// Process number.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the exit status if the process has ended.
    pub(super) fn status(&mut self) -> Result<Option<ExitStatus>, PowercutError> {
        self.child.try_wait().map_err(PowercutError::at(&self.program))
    }

    /// Text on its standard error.
    pub(super) fn errors(&self) -> String {
        fs::read_to_string(&self.errors).unwrap_or_default().trim_end().to_owned()
    }

    /// Waits for the end of the process, for a request to stop, or until the time is over.
    pub(super) fn wait(
        &mut self,
        signals: &Signals,
        at_most: Duration,
    ) -> Result<Option<ExitStatus>, PowercutError> {
        let began = Instant::now();
        loop {
            let status = self.status()?;
            let left = at_most.saturating_sub(began.elapsed());
            if status.is_some() || left.is_zero() || signals.stop_requested() {
                return Ok(status);
            }
            signals.wait(LOOK.min(left));
        }
    }

    /// Kills the process and waits for its end. A process whose I/O hangs does not end: returns whether it has.
    pub(super) fn kill(&mut self, at_most: Duration) -> Result<bool, PowercutError> {
        // The process may just have ended; then the signal has no target.
        let _ = self.child.kill();
        let began = Instant::now();
        while self.status()?.is_none() {
            if began.elapsed() > at_most {
                return Ok(false);
            }
            std::thread::sleep(LOOK);
        }
        Ok(true)
    }
}

/// A process that is dropped, after an error, does not continue.
impl Drop for ChildRun {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // A process whose I/O hangs would block this one; it ends when its I/O does.
        let _ = self.child.try_wait();
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::signal;

    use super::super::tests::place;
    use super::*;

    fn start(name: &str, script: &str) -> (ChildRun, PathBuf) {
        let place = place(name);
        let arguments = ["-c".to_owned(), script.to_owned()];
        let (out, err) = (place.join("out"), place.join("err"));
        (ChildRun::start(Path::new("/bin/sh"), &arguments, &out, &err).unwrap(), place)
    }

    #[test]
    fn its_output_and_its_status() {
        let (mut child, place) = start("child", "echo result; echo why >&2; exit 3");
        let status = child.wait(signal::install().unwrap(), Duration::from_secs(20)).unwrap();
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        assert_eq!(child.errors(), "why");
        assert_eq!(fs::read_to_string(place.join("out")).unwrap(), "result\n");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_wait_has_a_limit_and_a_kill_ends_it() {
        let (mut child, place) = start("kill", "exec sleep 100");
        let wait = child.wait(signal::install().unwrap(), Duration::from_millis(20));
        assert_eq!(wait.unwrap(), None);
        assert!(child.kill(Duration::from_secs(20)).unwrap());
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let place = place("none");
        let (out, err) = (place.join("out"), place.join("err"));
        let error = ChildRun::start(Path::new("/fiord-none"), &[], &out, &err).unwrap_err();
        assert!(error.to_string().starts_with("/fiord-none: "), "{error}");
        fs::remove_dir_all(place).unwrap();
    }
}
