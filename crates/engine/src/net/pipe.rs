//! The pipe of `netsplice`: `vmsplice(2)` maps a block into it, and `splice(2)` moves the pages to the
//! socket; a receiver goes the other way.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use fiord_types::{Bytes, Errno};

use crate::error::raw_result;
use crate::sync::Span;
use crate::{EngineConfig, EngineError};

/// Maximum size of a pipe that every user may have, in bytes.
const MAX_PIPE: u64 = 1 << 20;

/// A pipe through which blocks pass. It is empty between calls that succeed.
#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    /// Number of bytes that fit.
    room: usize,
    /// Bytes that were mapped into the pipe and did not leave it yet.
    inside: usize,
}

impl Pipe {
    pub(super) fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let mut ends = [-1; 2];
        // SAFETY: the call writes two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(EngineError::call("netsplice", "pipe2", Errno::last()));
        }
        // SAFETY: the descriptors are new and belong to nothing else.
        let [read, write] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        let wanted = config.buffer_bytes.clamp(Bytes(64 << 10), Bytes(MAX_PIPE)).0;
        // SAFETY: the call takes no pointers. If it fails, the pipe keeps its size.
        unsafe { libc::fcntl(ends[1], libc::F_SETPIPE_SZ, wanted as i32) };
        // SAFETY: the call takes no pointers.
        let room = unsafe { libc::fcntl(ends[1], libc::F_GETPIPE_SZ) };
        if room <= 0 {
            return Err(EngineError::call("netsplice", "fcntl F_GETPIPE_SZ", Errno::last()));
        }
        Ok(Pipe { read, write, room: room as usize, inside: 0 })
    }

    /// Drops the bytes of a block that will not be sent.
    #[cold]
    pub(super) fn clear(&mut self) {
        let mut data = [0u8; 4096];
        while self.inside > 0 {
            let (at, len) = (data.as_mut_ptr().cast(), self.inside.min(data.len()));
            // SAFETY: `data` is writable memory of this length.
            match unsafe { libc::read(self.read.as_raw_fd(), at, len) } {
                read if read > 0 => self.inside -= read as usize,
                _ => break,
            }
        }
    }

    /// Moves bytes from a socket into the span from `done` on. Returns their number, 0 at the end of the
    /// stream, or a negative errno.
    ///
    /// # Safety
    ///
    /// The span must be writable memory longer than `done`.
    pub(super) unsafe fn receive(&mut self, socket: RawFd, span: Span, done: usize) -> i64 {
        let len = (span.len - done).min(self.room);
        let moved = splice(socket, self.write.as_raw_fd(), len, 0);
        let mut left = moved.max(0) as usize;
        let mut at = done;
        while left > 0 {
            // SAFETY: the caller vouches for the memory.
            let ret = unsafe { vmsplice(&self.read, span, at, left) };
            match ret {
                ret if ret > 0 => {
                    at += ret as usize;
                    left -= ret as usize;
                }
                ret if ret == Errno::EINTR.as_result() => {}
                0 => return Errno::EIO.as_result(),
                ret => return ret,
            }
        }
        moved
    }

    /// Moves bytes of the span from `done` on to a socket. `more`: further blocks follow at once. Returns
    /// their number, or a negative errno.
    ///
    /// # Safety
    ///
    /// The span must be readable memory longer than `done`.
    pub(super) unsafe fn send(
        &mut self,
        socket: RawFd,
        span: Span,
        done: usize,
        more: bool,
    ) -> i64 {
        if self.inside == 0 {
            let len = (span.len - done).min(self.room);
            // SAFETY: the caller vouches for the memory.
            let mapped = unsafe { vmsplice(&self.write, span, done, len) };
            if mapped <= 0 {
                return mapped;
            }
            self.inside = mapped as usize;
        }
        let more = more || done + self.inside < span.len;
        let flags = if more { libc::SPLICE_F_MORE } else { 0 };
        let moved = splice(self.read.as_raw_fd(), socket, self.inside, flags);
        self.inside -= moved.max(0) as usize;
        moved
    }
}

/// `splice(2)` from one descriptor to another. Returns the number of bytes, or a negative errno.
fn splice(from: RawFd, to: RawFd, len: usize, flags: u32) -> i64 {
    let none = std::ptr::null_mut();
    let flags = libc::SPLICE_F_MOVE | flags;
    // SAFETY: the call takes no pointers.
    raw_result(unsafe { libc::splice(from, none, to, std::ptr::null_mut(), len, flags) } as i64)
}

/// `vmsplice(2)` between a pipe and `len` bytes of the span from `at` on. Returns the number of bytes, or a
/// negative errno.
///
/// # Safety
///
/// The memory must be readable for the writing end of a pipe, and writable for the reading end.
unsafe fn vmsplice(end: &OwnedFd, span: Span, at: usize, len: usize) -> i64 {
    // SAFETY: the caller vouches for the memory.
    let base = unsafe { span.data.add(at) };
    let vector = libc::iovec { iov_base: base.cast(), iov_len: len };
    let fd = end.as_raw_fd();
    // SAFETY: the vector is one entry, and the caller vouches for its memory.
    raw_result(unsafe { libc::vmsplice(fd, &raw const vector, 1, libc::SPLICE_F_MOVE) } as i64)
}
