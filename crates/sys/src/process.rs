//! Running a shell command that the user gave.

use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fiord_types::Errno;
use rustix::process::{
    Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal, setsid,
};

use crate::{Error, Result, signal};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnding {
    /// The command exited with this status.
    Exited(i32),
    /// This signal killed the command.
    Killed(i32),
}

impl ProcessEnding {
    /// Whether the command exited with status 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == ProcessEnding::Exited(0)
    }
}

impl std::fmt::Display for ProcessEnding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProcessEnding::Exited(status) => write!(f, "exit status {status}"),
            ProcessEnding::Killed(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// Has the kernel kill a process when the thread that starts it ends, for whatever reason: also if a signal kills this
/// process. For programs that must not outlive this one and start no others.
pub fn kill_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        match Pid::as_raw(getppid()).cast_unsigned() == parent {
            true => Ok(()),
            // The parent has ended before the call.
            false => Err(Errno::ESRCH.into()),
        }
    };
    // SAFETY: the closure makes system calls only, and allocates no memory.
    unsafe { command.pre_exec(before_exec) };
}

/// How to end a command early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// With `SIGTERM`: the command may clean up.
    Softly,
    /// With `SIGKILL`: the command cannot clean up.
    AtOnce,
}

/// Where the output of a command goes.
#[derive(Debug)]
pub enum CommandOutput {
    /// Standard output and standard error go to this file.
    File(File),
    /// The command inherits both from this process.
    Inherited,
    /// Both go to the standard error of this process.
    StandardError,
}

impl CommandOutput {
    fn apply(self, shell: &mut Command) -> std::io::Result<()> {
        match self {
            CommandOutput::File(file) => {
                let copy = file.try_clone()?;
                shell.stdout(Stdio::from(file)).stderr(Stdio::from(copy));
            }
            CommandOutput::Inherited => {}
            CommandOutput::StandardError => {
                shell.stdout(Stdio::from(std::io::stderr()));
            }
        }
        Ok(())
    }
}

/// The longest interval between two calls of `kill` in [`run_shell`].
const POLL: Duration = Duration::from_millis(10);

/// Runs a command line with `/bin/sh -c` and waits for it. It inherits the standard input of this process, unless that is a terminal; then it gets
/// `/dev/null`.
///
/// The command runs in its own process group. The function calls `kill` every few milliseconds; each
/// time the answer changes, it sends that signal to the whole group, so that the command leaves no
/// process behind.
///
/// The command starts with no signal blocked and with the default action for `SIGPIPE`.
///
/// # Errors
/// Errors of `dup(2)`, `fork(2)` and `execve(2)`.
pub fn run_shell(
    command: &str,
    output: CommandOutput,
    kill: &mut dyn FnMut() -> Option<Kill>,
) -> Result<ProcessEnding> {
    let mut shell = Command::new("/bin/sh");
    output.apply(&mut shell).map_err(|error| Error::from_io("dup", &error))?;
    shell.arg("-c").arg(command);
    if std::io::stdin().is_terminal() {
        // The kernel stops a process of a background process group that reads from the terminal.
        shell.stdin(Stdio::null());
    }
    // SAFETY: between fork and exec the function only changes the signal mask.
    unsafe { shell.pre_exec(unblock_signals) };
    let ran = |error: std::io::Error| Error::from_io("run", &error).at("/bin/sh");
    let mut child = shell.process_group(0).spawn().map_err(ran)?;
    let (mut pause, mut sent) = (Duration::from_millis(1), None);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(ran)? {
            break status;
        }
        let wanted = kill();
        if wanted.is_some() && wanted != sent {
            sent = wanted;
            let at_once = wanted == Some(Kill::AtOnce);
            let signal = if at_once { Signal::KILL } else { Signal::TERM };
            // The child has not been waited for, so its id cannot have been reused. The group may no longer exist.
            let _ = kill_process_group(Pid::from_child(&child), signal);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(POLL);
    };
    Ok(match status.code() {
        Some(code) => ProcessEnding::Exited(code),
        None => ProcessEnding::Killed(status.signal().unwrap_or(0)),
    })
}

/// Starts a program in a session of its own: it has no terminal, and no signal of a terminal reaches it.
///
/// # Errors
/// Errors of `setsid(2)`, `fork(2)` and `execve(2)`.
pub fn start_session(command: &mut Command) -> std::io::Result<Child> {
    let enter = || {
        setsid()?;
        unblock_signals()
    };
    // SAFETY: between fork and exec, the function makes two system calls and allocates nothing.
    unsafe { command.pre_exec(enter) };
    command.spawn()
}

/// Unblocks all signals in a new process, which inherits the mask of the thread that starts it.
pub(crate) fn unblock_signals() -> std::io::Result<()> {
    Ok(signal::mask(libc::SIG_SETMASK, [])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_command_returns_its_output_and_status_and_can_be_killed() {
        let path = std::env::temp_dir().join(format!("fiord-shell-{}", std::process::id()));
        let go_on = &mut || None;
        let mut run = |command| {
            run_shell(command, CommandOutput::File(File::create(&path).unwrap()), go_on).unwrap()
        };
        assert_eq!(run("echo out; echo err >&2; exit 3"), ProcessEnding::Exited(3));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "out\nerr\n");
        assert_eq!(run("kill -9 $$"), ProcessEnding::Killed(9));
        assert!(run("true").is_success());
        assert_eq!(ProcessEnding::Killed(9).to_string(), "killed by signal 9");
        // The signal reaches the whole group, not only the shell. A group that ignores it is killed.
        let from = std::time::Instant::now();
        let mut kill = || Some(Kill::Softly);
        // This also works if the thread that starts the command blocks the signal.
        crate::signal::block_in_this_thread().unwrap();
        let ending = run_shell(
            "sleep 60 | cat",
            CommandOutput::File(File::create(&path).unwrap()),
            &mut kill,
        )
        .unwrap();
        assert_eq!(ending, ProcessEnding::Killed(libc::SIGTERM));
        let mut asked = 0;
        let mut kill = || {
            asked += usize::from(path.metadata().is_ok_and(|output| output.len() > 0));
            [None, Some(Kill::Softly), Some(Kill::AtOnce)][asked.min(20) / 10]
        };
        let deaf = "trap '' TERM; echo ready; sleep 60; sleep 60";
        let ending =
            run_shell(deaf, CommandOutput::File(File::create(&path).unwrap()), &mut kill).unwrap();
        assert_eq!(ending, ProcessEnding::Killed(libc::SIGKILL));
        assert!(from.elapsed() < Duration::from_secs(20));
        std::fs::remove_file(&path).unwrap();
    }
}
