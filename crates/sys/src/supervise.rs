//! Programs that never outlive this process: each runs under a supervisor, a small process that ends
//! with the program and all of its descendants.
//!
//! The supervisor is this executable, started again ([`enter`]). It adopts descendants whose parents
//! end (`PR_SET_CHILD_SUBREAPER`), also those in other process groups and sessions. A socket connects it
//! with this process. If the socket closes, because this process ended in whatever way, the supervisor
//! kills everything. Only a descendant that kills the supervisor itself can escape; the program is killed
//! even then (`PR_SET_PDEATHSIG`).
//!
//! `fork(2)` cannot replace it: the pages of a process with direct I/O in flight must not be shared with
//! a child. Without code between fork and exec, the standard library uses `posix_spawn(3)`, which shares
//! none.

mod supervisor;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fiord_types::Errno;
use rustix::fs::{Access, access};

use crate::process::ProcessEnding;
use crate::{Error, Result};

/// The name under which a supervisor is started, its argument 0.
const NAME: &str = "fiord-supervisor";

/// Request: ask all processes to end, with `SIGTERM`.
const TERMINATE: u8 = b'T';
/// Request: kill all processes.
const KILL: u8 = b'K';

/// Message: the program could not be started. An errno follows.
const NOT_STARTED: u8 = b'F';
/// Message: the program exited. Its status follows.
const EXITED: u8 = b'E';
/// Message: a signal killed the program. Its number follows.
const SIGNALLED: u8 = b'S';

/// How long killed processes may take to end.
const KILLED: Duration = Duration::from_secs(5);

/// This executable can be started as a supervisor.
static CAN_SUPERVISE: AtomicBool = AtomicBool::new(false);

/// Makes supervisors possible. A program that runs jobs calls it first in `main`. In a process that was
/// started as a supervisor, it does not return.
pub fn enter() {
    let mut arguments = std::env::args_os();
    if arguments.next().as_deref() == Some(OsStr::new(NAME)) {
        supervisor::run(arguments);
    }
    CAN_SUPERVISE.store(true, Ordering::Relaxed);
}

/// A program that runs under a supervisor. When this value is dropped, the program and its descendants
/// are killed.
#[derive(Debug)]
pub struct SupervisedProgram {
    supervisor: Child,
    socket: UnixStream,
    /// A message of which only the first bytes have arrived.
    partial: Vec<u8>,
    ending: Option<ProcessEnding>,
    /// All processes have ended.
    over: bool,
}

impl SupervisedProgram {
    /// Starts a program, found in `PATH` if it has no slash, in a process group of its own. Its standard
    /// input is `/dev/null`. `output`: files for standard output and standard error, which it inherits
    /// otherwise. It inherits what the calling thread has: CPUs, priorities, limits.
    ///
    /// # Errors
    /// Errors of `socketpair(2)`, `fork(2)` and `execve(2)`. `ENOSYS` if this executable never called
    /// [`enter`].
    pub fn start(
        program: &str,
        arguments: &[String],
        output: Option<(File, File)>,
    ) -> Result<SupervisedProgram> {
        if !CAN_SUPERVISE.load(Ordering::Relaxed) {
            let said = "this executable cannot supervise programs: its `main` does not call \
                        `fiord_sys::supervise::enter`";
            return Err(Error { said: Some(said.into()), ..Error::new("exec", Errno::ENOSYS) });
        }
        let failed = |error| Error::from_io("start a supervisor", &error);
        let (socket, other) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0(NAME).arg(program).args(arguments).stdin(OwnedFd::from(other));
        if let Some((out, err)) = output {
            command.stdout(Stdio::from(out)).stderr(Stdio::from(err));
        }
        let supervisor = command.process_group(0).spawn().map_err(failed)?;
        // The command holds the other end of the socket.
        drop(command);
        let (partial, ending, over) = (Vec::new(), None, false);
        let mut program = SupervisedProgram { supervisor, socket, partial, ending, over };
        program.read_until(|_| false, Duration::ZERO)?;
        Ok(program)
    }

    /// How the program ended. Waits up to `patience` for that; `None` if it still runs.
    ///
    /// # Errors
    /// The program could not be started, or the supervisor was killed.
    pub fn ending(&mut self, patience: Duration) -> Result<Option<ProcessEnding>> {
        self.read_until(|program| program.ending.is_some(), patience)?;
        if self.ending.is_none() && self.over {
            let said = Some("the supervisor of the program was killed".to_owned());
            return Err(Error { said, ..Error::new("supervise", Errno::EPIPE) });
        }
        Ok(self.ending)
    }

    /// Ends the program and its descendants: asks them with `SIGTERM`, and kills those that run after
    /// `grace`. Returns whether some had to be killed.
    ///
    /// # Errors
    /// Some still run, because they are in an uninterruptible wait.
    pub fn end(&mut self, grace: Duration) -> Result<bool> {
        if !self.over {
            let _ = self.socket.write_all(&[TERMINATE]);
            let _ = self.read_until(|program| program.over, grace);
        }
        let killed = !self.over;
        if killed {
            let _ = self.socket.write_all(&[KILL]);
            let _ = self.read_until(|program| program.over, KILLED);
        }
        if !self.over {
            let said =
                "processes of the program do not end: they are killed and wait in the kernel";
            return Err(Error { said: Some(said.into()), ..Error::new("kill", Errno::ETIMEDOUT) });
        }
        let _ = self.supervisor.wait();
        Ok(killed)
    }

    /// Reads messages until `enough`, but at most for `patience`.
    fn read_until(&mut self, enough: impl Fn(&Self) -> bool, patience: Duration) -> Result<()> {
        let until = Instant::now() + patience;
        while !enough(self) && !self.over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let failed = |error| Error::from_io("read from the supervisor", &error);
            self.socket.set_read_timeout(Some(left)).map_err(failed)?;
            let mut bytes = [0; 64];
            match self.socket.read(&mut bytes) {
                Ok(0) => self.over = true,
                Ok(count) => {
                    self.partial.extend_from_slice(&bytes[..count]);
                    self.understand()?;
                }
                Err(e) if e.kind() == ErrorKind::ConnectionReset => self.over = true,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(())
    }

    /// Handles the messages that have arrived.
    fn understand(&mut self) -> Result<()> {
        while let Some((message, rest)) = self.partial.split_first_chunk::<5>() {
            let [kind, number @ ..] = *message;
            let number = i32::from_le_bytes(number);
            self.partial = rest.to_vec();
            match kind {
                EXITED => self.ending = Some(ProcessEnding::Exited(number)),
                SIGNALLED => self.ending = Some(ProcessEnding::Killed(number)),
                _ => return Err(Error::new("execve", Errno::from_raw(number))),
            }
        }
        Ok(())
    }
}

impl Drop for SupervisedProgram {
    fn drop(&mut self) {
        if !self.over {
            // Without the socket, the supervisor kills everything.
            let _ = self.socket.shutdown(std::net::Shutdown::Both);
        }
        let _ = self.supervisor.wait();
    }
}

/// The file that a program's name refers to: the name itself if it has a slash, otherwise the first
/// executable file of that name in `PATH`.
///
/// # Errors
/// `ENOENT` and other errors of `stat(2)`; `EACCES` if it is not an executable file.
pub fn find_program(name: &str) -> Result<std::path::PathBuf> {
    let check = |path: &Path| -> Result<()> {
        let facts = std::fs::metadata(path);
        let facts = facts.map_err(|error| Error::from_io("execve", &error).at(path))?;
        if !facts.is_file() || access(path, Access::EXEC_OK).is_err() {
            return Err(Error::new("execve", Errno::EACCES).at(path));
        }
        Ok(())
    };
    if name.contains('/') {
        return check(Path::new(name)).map(|()| name.into());
    }
    let list = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/bin:/usr/bin".into());
    let mut first = None;
    for directory in std::env::split_paths(&list) {
        let path = directory.join(name);
        match check(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.errno == Errno::EACCES => first = first.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(first.unwrap_or_else(|| Error::new("execve", Errno::ENOENT).at(Path::new(name))))
}
