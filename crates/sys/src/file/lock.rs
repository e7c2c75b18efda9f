//! Advisory locks on open files.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::Result;
use crate::error::retry;

/// Whether other openers may hold the lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Many readers may hold it.
    Shared,
    /// Only one owner may hold it.
    Exclusive,
}

/// A held `flock(2)`; dropping it releases the lock. The lock belongs to the open file description:
/// two threads exclude each other only if each has opened the file itself.
#[derive(Debug)]
pub struct Lock<'fd> {
    fd: BorrowedFd<'fd>,
}

impl<'fd> Lock<'fd> {
    /// Waits until the lock is free and takes it.
    ///
    /// # Errors
    /// Errors of `flock(2)`.
    pub fn hold(fd: BorrowedFd<'fd>, kind: LockKind) -> Result<Lock<'fd>> {
        Lock::take(fd, kind, 0)
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// `EWOULDBLOCK` (`EAGAIN`) if the lock is not free; otherwise those of `flock(2)`.
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
        // SAFETY: integers only; the borrow keeps the descriptor open. Releasing a held lock cannot fail.
        unsafe { libc::flock(self.fd.as_raw_fd(), libc::LOCK_UN) };
    }
}
