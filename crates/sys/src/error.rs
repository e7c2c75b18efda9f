//! The error type of this crate: the call that failed, its path, and the kernel's answer.

use std::path::{Path, PathBuf};

use fiord_types::Errno;

use crate::errno;

/// Result of a fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A system call that failed.
///
/// `Display` names the call, the path, the errno's text and name and, if the cause is well known,
/// the cause and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The system call or ioctl, spelled as in its manual page (`open`, `ioctl BLKGETSIZE64`).
    pub op: &'static str,
    /// The path that the call was applied to, if it has one.
    pub path: Option<PathBuf>,
    /// The errno. If the device itself refused, the errno closest to its status.
    pub errno: Errno,
    /// A specific explanation that replaces the errno's text: the device's status (name and codes of
    /// an NVMe status), or a cause that this crate has found out.
    pub said: Option<String>,
}

impl Error {
    /// Creates an error with an explicit errno.
    #[must_use]
    pub fn new(op: &'static str, errno: Errno) -> Error {
        Error { op, path: None, errno, said: None }
    }

    /// Creates an error from the calling thread's `errno`. Call it right after `op` failed.
    #[must_use]
    pub fn last(op: &'static str) -> Error {
        Error::from_io(op, &std::io::Error::last_os_error())
    }

    /// Takes the errno from a standard library error. An error without one (text that is not UTF-8, an
    /// early end of file) becomes `EINVAL` for malformed data, `ENOENT` or `EACCES` by its kind, and
    /// `EIO` otherwise.
    #[must_use]
    pub fn from_io(op: &'static str, error: &std::io::Error) -> Error {
        use std::io::ErrorKind;
        let fallback = match error.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput => Errno::EINVAL,
            ErrorKind::NotFound => Errno::ENOENT,
            ErrorKind::PermissionDenied => Errno::EACCES,
            _ => Errno::EIO,
        };
        Error::new(op, Errno::of(error).unwrap_or(fallback))
    }

    /// Adds an explanation that `Display` shows instead of the errno's text.
    #[must_use]
    pub fn saying(mut self, what: impl ToString) -> Error {
        self.said = Some(what.to_string());
        self
    }

    /// Adds the path that the call was applied to.
    pub fn at(mut self, path: impl AsRef<Path>) -> Error {
        self.path = Some(path.as_ref().to_path_buf());
        self
    }

    /// Returns the likely cause and the remedy, for causes that are well known.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        errno::advice(self.op, self.errno)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.op)?;
        if let Some(path) = &self.path {
            write!(f, " {}", path.display())?;
        }
        if let Some(said) = &self.said {
            return write!(f, ": {said}");
        }
        write!(f, ": {}", self.errno)?;
        match self.advice() {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        error.errno.into()
    }
}

/// Turns a negative return value of a system call into an [`Error`] with the thread's errno.
pub(crate) fn check(op: &'static str, rc: impl Into<i64>) -> Result<i64> {
    let rc = rc.into();
    if rc < 0 { Err(Error::last(op)) } else { Ok(rc) }
}

/// Turns the result of a call of rustix into one that names the call.
pub(crate) trait Named<T> {
    /// Names the call that failed.
    fn op(self, op: &'static str) -> Result<T>;
}

impl<T> Named<T> for rustix::io::Result<T> {
    fn op(self, op: &'static str) -> Result<T> {
        self.map_err(|errno| Error::new(op, Errno::from_raw(errno.raw_os_error())))
    }
}

/// Repeats a system call while a signal interrupts it.
pub(crate) fn retry<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(error) if error.errno == Errno::EINTR => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_call_path_errno_and_remedy() {
        let text = Error::new("open", Errno::EACCES).at("/dev/sdz").to_string();
        assert!(text.starts_with("open /dev/sdz: Permission denied (EACCES); "), "{text}");
        let plain = Error::new("lseek", Errno::ESPIPE).to_string();
        assert_eq!(plain, "lseek: Illegal seek (ESPIPE)");
        let said = Error::new("NVMe command", Errno::EIO).saying("Zone Is Full").at("/dev/ng0n1");
        assert_eq!(said.to_string(), "NVMe command /dev/ng0n1: Zone Is Full");
    }

    #[test]
    fn io_errors_keep_their_errno() {
        let io = std::io::Error::from(Errno::ENOSPC);
        assert_eq!(Error::from_io("write", &io).errno, Errno::ENOSPC);
        let odd = std::io::Error::new(std::io::ErrorKind::InvalidData, "not UTF-8");
        assert_eq!(Error::from_io("read", &odd).errno, Errno::EINVAL);
    }

    #[test]
    fn nul_in_a_path_is_refused() {
        let open = crate::file::Open::read_only();
        assert_eq!(open.open(Path::new("a\0b")).unwrap_err().errno, Errno::EINVAL);
    }
}
