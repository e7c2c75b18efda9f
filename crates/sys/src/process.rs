//! Running a command of the user's.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use crate::{Error, Result};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Ending {
    /// Whether it exited with status 0.
    pub fn is_success(self) -> bool {
        self == Ending::Exited(0)
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Exited(status) => write!(f, "exit status {status}"),
            Ending::Killed(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// Runs a command line by `/bin/sh -c` and waits for it. Its standard output and standard error
/// go to `output`; standard input is the process's own.
///
/// The command starts with no signal blocked and `SIGPIPE` at its default.
pub fn run_shell(command: &str, output: File) -> Result<Ending> {
    let copy = output.try_clone().map_err(|error| Error::from_io("dup", &error))?;
    let status = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(copy))
        .status()
        .map_err(|error| Error::from_io("run", &error).at("/bin/sh"))?;
    Ok(match status.code() {
        Some(code) => Ending::Exited(code),
        None => Ending::Killed(status.signal().unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_status() {
        let path = std::env::temp_dir().join(format!("fiord-shell-{}", std::process::id()));
        let run = |command| run_shell(command, File::create(&path).unwrap()).unwrap();
        assert_eq!(run("echo out; echo err >&2; exit 3"), Ending::Exited(3));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "out\nerr\n");
        assert_eq!(run("kill -9 $$"), Ending::Killed(9));
        assert!(run("true").is_success());
        assert_eq!(Ending::Killed(9).to_string(), "killed by signal 9");
        std::fs::remove_file(&path).unwrap();
    }
}
