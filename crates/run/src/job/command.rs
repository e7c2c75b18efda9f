//! Runs the commands of `exec_prerun` and `exec_postrun`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fiord_sys::file::FileGuard;
use fiord_sys::process::{self, CommandOutput, Kill, ProcessEnding};

use crate::error::{JobError, Stage};
use crate::events::CommandTime;

/// The file for the output of a job's command: `jobname.prerun.txt` in `aux_path`.
#[must_use]
pub fn command_output(aux_path: &Path, job: &str, when: CommandTime) -> PathBuf {
    // A job may be called `read/seq`, but its file is in the same directory as the others.
    let name = format!("{}.{}.txt", job.replace('/', "_"), when.word());
    // Show the path without `./`, as a user would type it.
    if aux_path == Path::new(".") { PathBuf::from(name) } else { aux_path.join(name) }
}

/// Whether a command must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The command may continue.
    No,
    /// The run ends: terminate the command, and kill it if it does not end.
    Soon,
    /// The run ends without waiting: kill the command.
    Now,
}

/// How long a command may take to end after it was asked to terminate.
const STUBBORN: Duration = Duration::from_secs(5);

/// Runs a shell command until it ends or `stop` requests its end.
///
/// # Errors
/// Errors of [`process::run_shell`].
pub(crate) fn shell(
    line: &str,
    output: CommandOutput,
    stop: &dyn Fn() -> Stop,
) -> fiord_sys::Result<ProcessEnding> {
    let mut asked: Option<Instant> = None;
    let mut kill = || match stop() {
        Stop::No => None,
        Stop::Soon if asked.get_or_insert_with(Instant::now).elapsed() < STUBBORN => {
            Some(Kill::Softly)
        }
        Stop::Soon | Stop::Now => Some(Kill::AtOnce),
    };
    process::run_shell(line, output, &mut kill)
}

/// Runs a shell command until it ends or `stop` requests its end, and writes its output to a file. Fails if the
/// command exits with a failure, unless it was stopped.
pub(crate) fn run(
    line: &str,
    stage: Stage,
    output: &Path,
    stop: &dyn Fn() -> Stop,
) -> Result<(), JobError> {
    let failed = |e: fiord_sys::Error| {
        let path = e.path.clone().unwrap_or_else(|| output.to_path_buf());
        let detail = e.said.clone().unwrap_or_else(|| format!("{} failed", e.op));
        JobError::new(stage, e.errno, detail).at(path)
    };
    let file = FileGuard::generated().replace(output).map_err(failed)?;
    let ending = shell(line, CommandOutput::File(file), stop).map_err(failed)?;
    if ending.is_success() || stop() != Stop::No {
        return Ok(());
    }
    let output = output.display();
    let detail = format!("the command `{line}` ended with {ending}; its output is in {output}");
    Err(JobError::new(stage, None, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_goes_to_a_file_and_failure_is_an_error() {
        let dir = std::env::temp_dir().join(format!("fiord-command-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = command_output(&dir, "a/b", CommandTime::Prerun);
        assert!(path.ends_with("a_b.prerun.txt"));
        let path_here = command_output(Path::new("."), "a", CommandTime::Prerun);
        assert_eq!(path_here, Path::new("a.prerun.txt"));
        let go_on = || Stop::No;
        run("echo hello", Stage::ExecPrerun, &path, &go_on).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\n");
        let error = run("exit 3", Stage::ExecPrerun, &path, &go_on).unwrap_err().to_string();
        assert!(error.contains("exit 3"), "{error}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
