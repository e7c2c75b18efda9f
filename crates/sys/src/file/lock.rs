//! Advisory locks on open files.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::Result;
use crate::error::retry;

/// Whether others may hold the lock too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Many readers.
    Shared,
    /// One owner.
    Exclusive,
}

/// A held `flock(2)`; dropping it releases. The lock belongs to the open file description: two
/// threads exclude each other only if each opened the file itself.
#[derive(Debug)]
pub struct Lock<'fd> {
    fd: BorrowedFd<'fd>,
}

impl<'fd> Lock<'fd> {
    /// Waits for the lock.
    pub fn hold(fd: BorrowedFd<'fd>, kind: LockKind) -> Result<Lock<'fd>> {
        Lock::take(fd, kind, 0)
    }

    /// Takes the lock if it is free; `EWOULDBLOCK` (`EAGAIN`) if not.
    pub fn try_hold(fd: BorrowedFd<'fd>, kind: LockKind) -> Result<Lock<'fd>> {
        Lock::take(fd, kind, libc::LOCK_NB)
    }

    fn take(fd: BorrowedFd<'fd>, kind: LockKind, extra: i32) -> Result<Lock<'fd>> {
        let word = match kind {
            LockKind::Shared => libc::LOCK_SH,
            LockKind::Exclusive => libc::LOCK_EX,
        };
        // SAFETY: integers only; the descriptor is open while borrowed.
        retry("flock", || unsafe { libc::flock(fd.as_raw_fd(), word | extra) })?;
        Ok(Lock { fd })
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // SAFETY: integers only; the borrow keeps the descriptor open. Unlocking a lock that is
        // held cannot fail.
        unsafe { libc::flock(self.fd.as_raw_fd(), libc::LOCK_UN) };
    }
}
