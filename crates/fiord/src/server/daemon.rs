//! A server in the background: another process of this program, in a session of its own.
//!
//! The process that the user started ends when the server listens, so that a script can continue. `fork(2)` alone
//! does not suffice, because it copies only one thread.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fiord_sys::file::FileGuard;
use fiord_sys::process::start_session;
use fiord_types::program;

use crate::sink;

/// The name under which a server in the background is started, its argument 0.
const NAME: &str = "fiord-server";
/// The socket of the system's log.
const LOG: &str = "/dev/log";
/// Facility `daemon`, severity `informational` (RFC 5424, section 6.2.1).
const PRIORITY: u32 = 3 * 8 + 6;

/// Why no server runs in the background.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DaemonError {
    /// Another server has the file.
    #[error("{} says that a server with process id {id} is running. To fix: end it, or name another file", .path.display())]
    Runs {
        path: PathBuf,
        /// Process id of the server.
        id: u32,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    PidFile { path: PathBuf, source: io::Error },
    /// The process cannot be started.
    #[error("cannot start the process of the server: {0}")]
    Start(io::Error),
    /// The process has ended before it listened. It says why.
    #[error("the server has ended: {0}")]
    Ended(String),
}

/// Whether this process is a server in the background.
pub(crate) fn is_daemon() -> bool {
    std::env::args_os().next().is_some_and(|name| name == NAME)
}

/// Starts this program again in the background, with its arguments, and waits until it listens.
pub(crate) fn start(pid_file: &Path) -> Result<(), DaemonError> {
    if let Some(id) = running(pid_file) {
        return Err(DaemonError::Runs { path: pid_file.to_owned(), id });
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0(NAME).args(std::env::args_os().skip(1));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start_session(&mut command).map_err(DaemonError::Start)?;
    let mut first = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut first).map_err(DaemonError::Start)?;
    }
    if first.is_empty() {
        let mut said = String::new();
        if let Some(errors) = &mut child.stderr {
            // What was read until an error is worth showing.
            let _ = errors.read_to_string(&mut said);
        }
        let said = said.trim();
        let said = said.strip_prefix(&program::message("")).unwrap_or(said).to_owned();
        return Err(DaemonError::Ended(said));
    }
    sink::print(&first);
    Ok(())
}

/// The process that a file names, if it is a server.
fn running(pid_file: &Path) -> Option<u32> {
    let id: u32 = std::fs::read_to_string(pid_file).ok()?.trim().parse().ok()?;
    let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
    let name = line.split(|byte| *byte == 0).next()?;
    (name == NAME.as_bytes()).then_some(id)
}

/// The file with the process id of this server. It is removed at the end.
#[derive(Debug)]
pub(crate) struct PidFile(PathBuf);

impl PidFile {
    pub(crate) fn write(path: &Path) -> Result<PidFile, DaemonError> {
        let failed = |source| DaemonError::PidFile { path: path.to_owned(), source };
        let replaced = FileGuard::typed().replace(path);
        let mut file: File = replaced.map_err(|error| failed(error.errno.into()))?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        // The server does not change its directory, but the name must also lead there if it does.
        Ok(PidFile(std::path::absolute(path).map_err(failed)?))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // A file that stays names a process that does not exist: harmless.
        let _ = FileGuard::typed().remove(&self.0);
    }
}

/// The system's log.
#[derive(Debug)]
pub(crate) struct SystemLog(UnixDatagram);

impl SystemLog {
    /// `None`: this system has none.
    pub(crate) fn open() -> Option<SystemLog> {
        let socket = UnixDatagram::unbound().ok()?;
        socket.connect(LOG).ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(SystemLog(socket))
    }

    /// Writes a line. Loses it if the log takes no more: a server does not wait for its log.
    pub(crate) fn write(&self, line: &str) {
        let id = std::process::id();
        let _ = self.0.send(format!("<{PRIORITY}>fiord[{id}]: {line}").as_bytes());
    }
}
