//! Advisory locks on open files.

use std::os::fd::BorrowedFd;

use rustix::fs::{FlockOperation, flock};

use crate::Result;
use crate::error::{Named, retry};

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
        Lock::take(fd, kind, true)
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// `EWOULDBLOCK` (`EAGAIN`) if the lock is not free; otherwise those of `flock(2)`.
    pub fn try_hold(fd: BorrowedFd<'fd>, kind: LockKind) -> Result<Lock<'fd>> {
        Lock::take(fd, kind, false)
    }

    fn take(fd: BorrowedFd<'fd>, kind: LockKind, waits: bool) -> Result<Lock<'fd>> {
        let operation = match (kind, waits) {
            (LockKind::Shared, true) => FlockOperation::LockShared,
            (LockKind::Shared, false) => FlockOperation::NonBlockingLockShared,
            (LockKind::Exclusive, true) => FlockOperation::LockExclusive,
            (LockKind::Exclusive, false) => FlockOperation::NonBlockingLockExclusive,
        };
        retry(|| flock(fd, operation).op("flock"))?;
        Ok(Lock { fd })
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // Releasing a held lock cannot fail.
        let _ = flock(self.fd, FlockOperation::Unlock);
    }
}
