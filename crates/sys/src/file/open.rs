//! Opening files.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::error::{c_path, check, retry};
use crate::{Error, Result};

/// Opens what a descriptor stands for once more, with the same access and flags: it has a position of
/// its own then, as a `dup(2)` has not.
pub fn reopen(file: BorrowedFd) -> Result<OwnedFd> {
    // SAFETY: takes no pointers, and the descriptor is open while it is borrowed.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(Error::last("fcntl"));
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // The name that the kernel has for it is a link.
    let flags = flags & !libc::O_NOFOLLOW | libc::O_CLOEXEC;
    Open { flags, noatime: false, mode: 0 }.open(path.as_ref())
}

/// Makes calls wait again on what was opened with `O_NONBLOCK`.
pub(super) fn wait_again(file: impl AsFd) -> Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: takes no pointers, and the descriptor is open while it is borrowed.
    let flags = check("fcntl", unsafe { libc::fcntl(fd, libc::F_GETFL) })? as i32;
    // SAFETY: as above.
    check("fcntl", unsafe { libc::fcntl(fd, libc::F_SETFL, flags & !libc::O_NONBLOCK) }).map(drop)
}

/// How to open a file. `O_CLOEXEC` is always set, so that a child (`exec_prerun`) inherits nothing.
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

    /// For reading.
    pub fn read_only() -> Open {
        Open::with_access(libc::O_RDONLY)
    }

    /// For writing.
    pub fn write_only() -> Open {
        Open::with_access(libc::O_WRONLY)
    }

    /// For both.
    pub fn read_write() -> Open {
        Open::with_access(libc::O_RDWR)
    }

    /// To look at what is there and where it lies (`O_PATH`): neither to read nor to write it.
    pub fn to_look() -> Open {
        Open::with_access(libc::O_PATH)
    }

    /// Whether a missing file is created.
    pub(super) fn creates(self) -> bool {
        self.flags & libc::O_CREAT != 0
    }

    /// The flags and the permission bits.
    pub(super) fn raw(self) -> (i32, libc::mode_t) {
        (self.flags, self.mode)
    }

    flag!(
        /// `O_DIRECT`: bypass the page cache. `EINVAL` where the file system cannot.
        direct, libc::O_DIRECT);
    flag!(
        /// `O_SYNC`: each write waits for data and metadata.
        sync, libc::O_SYNC);
    flag!(
        /// `O_DSYNC`: each write waits for data and the metadata to read it back.
        data_sync, libc::O_DSYNC);
    flag!(
        /// `O_CREAT`: make the file if it is not there.
        create, libc::O_CREAT);
    flag!(
        /// `O_EXCL`: with `create`, fail if it is there; on a block device, fail if it is in use.
        exclusive, libc::O_EXCL);
    flag!(
        /// `O_TRUNC`: empty the file.
        truncate, libc::O_TRUNC);
    flag!(
        /// `O_APPEND`: write at the end.
        append, libc::O_APPEND);
    flag!(
        /// `O_NONBLOCK`: do not wait for the other end of a pipe or for a medium.
        nonblocking, libc::O_NONBLOCK);
    flag!(
        /// `O_NOFOLLOW`: fail on a symbolic link.
        no_follow, libc::O_NOFOLLOW);

    /// `O_NOATIME`: reads leave the access time alone. Only the file's owner and root may ask
    /// that; for others the file is opened without it.
    #[must_use]
    pub fn no_access_time(self, on: bool) -> Open {
        Open { noatime: on, ..self }
    }

    /// Permission bits of a file that is created (the umask is taken off); 0644 if not set.
    #[must_use]
    pub fn mode(self, mode: u32) -> Open {
        Open { mode, ..self }
    }

    /// Opens it.
    ///
    /// # Errors
    /// The call in the error names the flags that are often the cause: `open O_DIRECT`.
    pub fn open(self, path: &Path) -> Result<OwnedFd> {
        if self.noatime {
            match self.open_with(path, self.flags | libc::O_NOATIME) {
                Err(error) if error.errno == libc::EPERM => {}
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

/// Opens a directory, for `fsync` of its entries and for `syncfs`.
pub fn open_directory(path: &Path) -> Result<OwnedFd> {
    let fd = Open::with_access(libc::O_RDONLY | libc::O_DIRECTORY).open(path)?;
    debug_assert!(fd.as_raw_fd() >= 0);
    Ok(fd)
}
