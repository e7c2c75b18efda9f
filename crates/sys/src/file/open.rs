//! Opening files.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use fiord_types::Errno;

use crate::error::{c_path, retry};
use crate::{Error, Result};

/// Opens the file behind a descriptor again, with the same access and flags. Unlike a descriptor of
/// `dup(2)`, the new one has its own file position.
///
/// # Errors
/// Errors of `fcntl(2)` and `open(2)`.
pub fn reopen(file: BorrowedFd) -> Result<OwnedFd> {
    // SAFETY: takes no pointers, and the descriptor is open while it is borrowed.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(Error::last("fcntl"));
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // The name in /proc is a symbolic link.
    let flags = flags & !libc::O_NOFOLLOW | libc::O_CLOEXEC;
    Open { flags, noatime: false, mode: 0 }.open(path.as_ref())
}

/// Flags to open a file with. `O_CLOEXEC` is always set, so that a child (`exec_prerun`) inherits
/// nothing.
///
/// ```no_run
/// # use fiord_sys::file::Open;
/// let fd = Open::read_write().direct(true).create(true).open("/data/f".as_ref())?;
/// # Ok::<(), fiord_sys::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    flags: i32,
    noatime: bool,
    mode: libc::mode_t,
}

macro_rules! flag {
    ($(#[$doc:meta])* $name:ident, $flag:expr) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(self, on: bool) -> Open {
            let flags = if on { self.flags | $flag } else { self.flags & !$flag };
            Open { flags, ..self }
        }
    };
}

impl Open {
    fn with_access(access: i32) -> Open {
        Open { flags: access | libc::O_CLOEXEC, noatime: false, mode: 0o644 }
    }

    /// Opens the file for reading.
    #[must_use]
    pub fn read_only() -> Open {
        Open::with_access(libc::O_RDONLY)
    }

    /// Opens the file for writing.
    #[must_use]
    pub fn write_only() -> Open {
        Open::with_access(libc::O_WRONLY)
    }

    /// Opens the file for reading and writing.
    #[must_use]
    pub fn read_write() -> Open {
        Open::with_access(libc::O_RDWR)
    }

    /// Opens the file only to examine it (`O_PATH`), not to read or write it.
    #[must_use]
    pub fn path_only() -> Open {
        Open::with_access(libc::O_PATH)
    }

    /// Whether these flags create a missing file.
    pub(super) fn creates(self) -> bool {
        self.flags & libc::O_CREAT != 0
    }

    /// Returns the flags and the permission bits.
    #[must_use]
    pub fn raw(self) -> (i32, libc::mode_t) {
        (self.flags, self.mode)
    }

    flag!(
        /// `O_DIRECT`: bypasses the page cache. `open` fails with `EINVAL` if the file system cannot.
        direct, libc::O_DIRECT);
    flag!(
        /// `O_SYNC`: each write waits for data and metadata to reach the medium.
        sync, libc::O_SYNC);
    flag!(
        /// `O_DSYNC`: each write waits for data and the metadata needed to read it back.
        data_sync, libc::O_DSYNC);
    flag!(
        /// `O_CREAT`: creates a missing file.
        create, libc::O_CREAT);
    flag!(
        /// `O_EXCL`: with `create`, fails if the file exists; on a block device, fails if it is in use.
        exclusive, libc::O_EXCL);
    flag!(
        /// `O_TRUNC`: empties the file.
        truncate, libc::O_TRUNC);
    flag!(
        /// `O_APPEND`: writes at the end of the file.
        append, libc::O_APPEND);
    flag!(
        /// `O_NONBLOCK`: does not wait for the other end of a pipe or for a medium.
        nonblocking, libc::O_NONBLOCK);
    flag!(
        /// `O_NOFOLLOW`: fails on a symbolic link.
        no_follow, libc::O_NOFOLLOW);

    /// `O_NOATIME`: reads do not change the access time. Only the file's owner and root may set the
    /// flag; for other users the file is opened without it.
    #[must_use]
    pub fn no_access_time(self, on: bool) -> Open {
        Open { noatime: on, ..self }
    }

    /// Sets the permission bits of a created file, before the umask is applied; the default is 0644.
    #[must_use]
    pub fn mode(self, mode: u32) -> Open {
        Open { mode, ..self }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// Errors of `open(2)`. The error names the flag that is often the cause: `open O_DIRECT`.
    pub fn open(self, path: &Path) -> Result<OwnedFd> {
        if self.noatime {
            match self.open_with(path, self.flags | libc::O_NOATIME) {
                Err(error) if error.errno == Errno::EPERM => {}
                other => return other,
            }
        }
        self.open_with(path, self.flags)
    }

    fn open_with(self, path: &Path, flags: i32) -> Result<OwnedFd> {
        let op = if flags & libc::O_DIRECT != 0 { "open O_DIRECT" } else { "open" };
        let name = c_path(op, path)?;
        // SAFETY: `name` is NUL-terminated and outlives the call; the mode is an integer.
        let fd = retry(op, || unsafe { libc::open(name.as_ptr(), flags, self.mode) })
            .map_err(|error| error.at(path))?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
    }
}

/// Opens a directory, to `fsync` its entries or to call `syncfs`.
///
/// # Errors
/// `ENOTDIR` if the path is not a directory; otherwise those of `open(2)`.
pub fn open_directory(path: &Path) -> Result<OwnedFd> {
    let fd = Open::with_access(libc::O_RDONLY | libc::O_DIRECTORY).open(path)?;
    debug_assert!(fd.as_raw_fd() >= 0);
    Ok(fd)
}
