//! Hints that accompany writes: the expected life time of the data, and flags for one call.

use std::os::fd::{AsFd, AsRawFd};

use crate::Result;
use crate::error::check;

/// Flags of `preadv2(2)`, `pwritev2(2)` and `io_uring` reads and writes, each with the Linux version
/// that introduced it.
pub mod rwf {
    /// Poll for the completion (4.6; needs direct I/O and a device with poll queues).
    pub const HIPRI: i32 = 0x01;
    /// Write as with `O_DSYNC` (4.7).
    pub const DSYNC: i32 = 0x02;
    /// Write as with `O_SYNC` (4.7).
    pub const SYNC: i32 = 0x04;
    /// Fail with `EAGAIN` rather than wait (4.14).
    pub const NOWAIT: i32 = 0x08;
    /// Write at the end of the file (4.16).
    pub const APPEND: i32 = 0x10;
    /// Write at the given offset although the file is open for appending (6.9).
    pub const NOAPPEND: i32 = 0x20;
    /// Write all or nothing, even if power fails (6.11).
    pub const ATOMIC: i32 = 0x40;
    /// Use the page cache, but leave nothing in it (6.14).
    pub const DONTCACHE: i32 = 0x80;
}

/// Expected life time of written data, compared with other data; the values of `write_hint=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lifetime {
    /// No expectation (`none`).
    None,
    Short,
    Medium,
    Long,
    /// Very long (`extreme`).
    Extreme,
}

impl Lifetime {
    /// Returns `RWH_WRITE_LIFE_*` of `<linux/fcntl.h>`; 0 would mean "not set".
    fn value(self) -> u64 {
        match self {
            Lifetime::None => 1,
            Lifetime::Short => 2,
            Lifetime::Medium => 3,
            Lifetime::Long => 4,
            Lifetime::Extreme => 5,
        }
    }
}

/// Commands of `<linux/fcntl.h>`, counted from `F_LINUX_SPECIFIC_BASE` (1024).
const F_SET_RW_HINT: i32 = 1036;
const F_SET_FILE_RW_HINT: i32 = 1038;

/// Sets the life-time hint (Linux 4.13): on the open file if the kernel supports it
/// (`F_SET_FILE_RW_HINT`, removed in 5.18), else on its inode (`F_SET_RW_HINT`); see `fcntl(2)`.
///
/// # Errors
/// `EINVAL` before Linux 4.13.
pub fn set_lifetime(file: impl AsFd, lifetime: Lifetime) -> Result<()> {
    let fd = file.as_fd().as_raw_fd();
    let value = lifetime.value();
    // SAFETY: the kernel reads one u64 through the pointer during the call.
    let set = |command| unsafe { libc::fcntl(fd, command, &raw const value) };
    match set(F_SET_FILE_RW_HINT) {
        0 => Ok(()),
        _ => check("fcntl F_SET_RW_HINT", set(F_SET_RW_HINT)).map(drop),
    }
}
