//! Bytes from the server: a buffer for many replies, and long data that go directly to the buffers of slots.

use std::os::fd::RawFd;

use fiord_formats::nbd::NbdError;
use fiord_types::Errno;

use crate::Op;

/// The size of the buffer: replies to several reads arrive in one system call.
const CAPACITY: usize = 256 << 10;

/// Received bytes that were not used yet.
pub(super) struct Incoming {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

/// What a receive brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// So many bytes for the data, and perhaps others for the buffer.
    Bytes(usize),
    /// Nothing has arrived, or a signal has.
    Nothing,
    /// The server has closed the connection.
    End,
}

impl Incoming {
    pub(super) fn new() -> Self {
        Incoming { buffer: vec![0; CAPACITY].into_boxed_slice(), start: 0, end: 0 }
    }

    pub(super) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// The bytes that were not used yet.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Marks bytes as used.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        self.start += len;
        if self.start == self.end {
            self.clear();
        }
    }

    /// Receives: first `len` bytes to `data`, then what follows to the buffer. `waits`: until the first byte, or as long as the
    /// socket's limit says.
    ///
    /// # Safety
    ///
    /// `data` is valid memory of `len` bytes, which nothing else uses.
    pub(super) unsafe fn receive(
        &mut self,
        fd: RawFd,
        (data, len): (*mut u8, usize),
        waits: bool,
    ) -> Result<Received, Errno> {
        if self.start > 0 && len == 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        debug_assert!(len == 0 || self.start == self.end, "data follow the bytes in the buffer");
        let room = &mut self.buffer[self.end..];
        let mut pieces = [
            libc::iovec { iov_base: data.cast(), iov_len: len },
            libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() },
        ];
        let from = usize::from(len == 0);
        // SAFETY: all zeroes is a valid message header.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = pieces[from..].as_mut_ptr();
        message.msg_iovlen = 2 - from;
        let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: the pieces are the rest of the buffer, and data that the caller vouches for.
        match unsafe { libc::recvmsg(fd, &raw mut message, flags) } {
            -1 => match Errno::last() {
                Errno::EAGAIN | Errno::EINTR => Ok(Received::Nothing),
                errno => Err(errno),
            },
            0 => Ok(Received::End),
            count => {
                let direct = (count as usize).min(len);
                self.end += count as usize - direct;
                Ok(Received::Bytes(direct))
            }
        }
    }
}

/// The range of a chunk, if it lies within that of the op.
pub(super) fn within(op: &Op, offset: u64, len: u32) -> Result<(u64, u32), NbdError> {
    let end = offset.checked_add(len.into());
    match end {
        Some(end) if offset >= op.offset && end <= op.offset + u64::from(op.len) => {
            Ok((offset, len))
        }
        _ => Err(NbdError::Broken("it sends data that the request did not ask for")),
    }
}

/// The errno of an error of the protocol, which has Linux's numbers.
pub(super) fn errno_of(number: u32) -> Errno {
    i32::try_from(number).map_or(Errno::EINVAL, Errno::from_raw)
}
