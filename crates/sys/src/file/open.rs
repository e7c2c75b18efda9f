//! Opening files.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use fiord_types::Errno;
use rustix::fs::{self, Mode, OFlags};

use crate::Result;
use crate::error::{Named, retry};

/// Opens the file behind a descriptor again, with the same access and flags. Unlike a descriptor of
/// `dup(2)`, the new one has its own file position.
///
/// # Errors
/// Errors of `fcntl(2)` and `open(2)`.
pub fn reopen(file: BorrowedFd) -> Result<OwnedFd> {
    let flags = fs::fcntl_getfl(file).op("fcntl")?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // The name in /proc is a symbolic link.
    let flags = flags.difference(OFlags::NOFOLLOW) | OFlags::CLOEXEC;
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
    flags: OFlags,
    noatime: bool,
    mode: u32,
}

macro_rules! flag {
    ($(#[$doc:meta])* $name:ident, $flag:expr) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, on: bool) -> Open {
            self.flags.set($flag, on);
            self
        }
    };
}

impl Open {
    fn with_access(access: OFlags) -> Open {
        Open { flags: access | OFlags::CLOEXEC, noatime: false, mode: 0o644 }
    }

    /// Opens the file for reading.
    #[must_use]
    pub fn read_only() -> Open {
        Open::with_access(OFlags::RDONLY)
    }

    /// Opens the file for writing.
    #[must_use]
    pub fn write_only() -> Open {
        Open::with_access(OFlags::WRONLY)
    }

    /// Opens the file for reading and writing.
    #[must_use]
    pub fn read_write() -> Open {
        Open::with_access(OFlags::RDWR)
    }

    /// Opens the file only to examine it (`O_PATH`), not to read or write it.
    #[must_use]
    pub fn path_only() -> Open {
        Open::with_access(OFlags::PATH)
    }

    /// Whether these flags create a missing file.
    pub(super) fn creates(self) -> bool {
        self.flags.contains(OFlags::CREATE)
    }

    /// Returns the flags and the permission bits.
    #[must_use]
    pub fn raw(self) -> (i32, u32) {
        (self.flags.bits().cast_signed(), self.mode)
    }

    flag!(
        /// `O_DIRECT`: bypasses the page cache. `open` fails with `EINVAL` if the file system cannot.
        direct, OFlags::DIRECT);
    flag!(
        /// `O_SYNC`: each write waits for data and metadata to reach the medium.
        sync, OFlags::SYNC);
    flag!(
        /// `O_DSYNC`: each write waits for data and the metadata needed to read it back.
        data_sync, OFlags::DSYNC);
    flag!(
        /// `O_CREAT`: creates a missing file.
        create, OFlags::CREATE);
    flag!(
        /// `O_EXCL`: with `create`, fails if the file exists; on a block device, fails if it is in use.
        exclusive, OFlags::EXCL);
    flag!(
        /// `O_TRUNC`: empties the file.
        truncate, OFlags::TRUNC);
    flag!(
        /// `O_APPEND`: writes at the end of the file.
        append, OFlags::APPEND);
    flag!(
        /// `O_NONBLOCK`: does not wait for the other end of a pipe or for a medium.
        nonblocking, OFlags::NONBLOCK);
    flag!(
        /// `O_NOFOLLOW`: fails on a symbolic link.
        no_follow, OFlags::NOFOLLOW);

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
            match self.open_with(path, self.flags | OFlags::NOATIME) {
                Err(error) if error.errno == Errno::EPERM => {}
                other => return other,
            }
        }
        self.open_with(path, self.flags)
    }

    fn open_with(self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let op = if flags.contains(OFlags::DIRECT) { "open O_DIRECT" } else { "open" };
        retry(|| fs::open(path, flags, Mode::from_raw_mode(self.mode)).op(op))
            .map_err(|error| error.at(path))
    }

    /// Opens a name in a directory.
    pub(super) fn open_in(self, at: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
        retry(|| fs::openat(at, name, self.flags, Mode::from_raw_mode(self.mode)).op("open"))
    }
}

/// Opens a directory, to `fsync` its entries or to call `syncfs`.
///
/// # Errors
/// `ENOTDIR` if the path is not a directory; otherwise those of `open(2)`.
pub fn open_directory(path: &Path) -> Result<OwnedFd> {
    Open::with_access(OFlags::RDONLY | OFlags::DIRECTORY).open(path)
}
