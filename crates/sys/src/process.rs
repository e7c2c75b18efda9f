//! Running a command of the user's.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
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
/// go to the file `output`, which is made anew; standard input is the process's own.
///
/// The command starts with no signal blocked and `SIGPIPE` at its default.
pub fn run_shell(command: &str, output: &Path) -> Result<Ending> {
    let failed = |op| move |error: std::io::Error| Error::from_io(op, &error).at(output);
    let file = std::fs::File::create(output).map_err(failed("open"))?;
    let copy = file.try_clone().map_err(failed("dup"))?;
    let status = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .stdout(Stdio::from(file))
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
        let ending = run_shell("echo out; echo err >&2; exit 3", &path).unwrap();
        assert_eq!(ending, Ending::Exited(3));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "out\nerr\n");
        assert_eq!(run_shell("kill -9 $$", &path).unwrap(), Ending::Killed(9));
        assert!(run_shell("true", &path).unwrap().is_success());
        assert_eq!(Ending::Killed(9).to_string(), "killed by signal 9");
        std::fs::remove_file(&path).unwrap();
        let nowhere = run_shell("true", Path::new("/no/such/dir/f")).unwrap_err();
        assert_eq!(nowhere.errno, libc::ENOENT);
    }
}
