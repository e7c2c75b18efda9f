//! Bytes from the server: a buffer for many replies, and long data that go directly to the buffers of slots.

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use fiord_formats::nbd::NbdError;
use fiord_sys::poll::{self, PollEntry, Readiness};
use fiord_types::Errno;

use crate::Op;
use crate::endpoint::LOOK;
use crate::error::FailureCause;
use crate::tls::TlsStream;
use crate::transport::{Moved, Transport};

/// The size of the buffer: replies to several reads arrive in one system call.
const CAPACITY: usize = 256 << 10;

/// Received bytes that were not used yet.
pub(super) struct Incoming {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

/// What a receive brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Number of bytes for the data; other bytes may have arrived for the buffer.
    Bytes(usize),
    /// Nothing has arrived, or a signal has.
    Nothing,
    /// The server has closed the connection.
    End,
    /// TLS failed, for this reason.
    Tls(FailureCause),
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

    /// Receives what has arrived, to `data` or to the buffer. Waits for it for the time `patience` at most. `unsent`: ends the
    /// wait also when the socket takes more bytes.
    ///
    /// # Errors
    ///
    /// A system call failed.
    ///
    /// # Safety
    ///
    /// `data` is valid memory with this address and length in bytes, which nothing else uses.
    pub(super) unsafe fn receive(
        &mut self,
        transport: &mut Transport,
        data: (*mut u8, usize),
        (patience, unsent): (Option<Duration>, bool),
    ) -> Result<Received, Errno> {
        let readiness = if unsent { Readiness::Both } else { Readiness::Readable };
        let mut entry = [PollEntry::new(transport.fd(), readiness)];
        let mut wait = |patience| poll::wait(&mut entry, Some(patience));
        match transport {
            Transport::Plain(socket) => {
                // The limit of the socket is `LOOK`.
                let mut waits = patience.is_some();
                if let Some(patience) = patience.filter(|time| *time < LOOK || unsent) {
                    let _ = wait(patience);
                    waits = false;
                }
                // SAFETY: the caller vouches for the data.
                unsafe { self.receive_plain(socket.as_raw_fd(), data, waits) }
            }
            Transport::Tls(stream) => {
                // Data that are decrypted already do not make the socket readable.
                // SAFETY: the caller vouches for the data.
                match (unsafe { self.decrypt(stream, data) }, patience) {
                    (Ok(Received::Nothing), Some(patience)) => {
                        let _ = wait(patience);
                        // SAFETY: as above.
                        unsafe { self.decrypt(stream, data) }
                    }
                    (received, _) => received,
                }
            }
        }
    }

    /// Receives: first `len` bytes to `data`, then what follows to the buffer. `waits`: until the first byte, or as long as the
    /// socket's limit says.
    ///
    /// # Safety
    ///
    /// `data` is valid memory of `len` bytes, which nothing else uses.
    unsafe fn receive_plain(
        &mut self,
        fd: RawFd,
        (data, len): (*mut u8, usize),
        waits: bool,
    ) -> Result<Received, Errno> {
        self.make_room(len);
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

impl Incoming {
    /// Moves the bytes to the front of the buffer, if `len` bytes of data do not come first.
    fn make_room(&mut self, len: usize) {
        if self.start > 0 && len == 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }

    /// Receives what has arrived over TLS: to `data`, or to the buffer if `len` is 0.
    ///
    /// # Safety
    ///
    /// `data` is valid memory of `len` bytes, which nothing else uses.
    unsafe fn decrypt(
        &mut self,
        stream: &mut TlsStream,
        (data, len): (*mut u8, usize),
    ) -> Result<Received, Errno> {
        self.make_room(len);
        let room = match len {
            0 => &mut self.buffer[self.end..],
            // SAFETY: the caller vouches for the data.
            _ => unsafe { std::slice::from_raw_parts_mut(data, len) },
        };
        match stream.receive(room, false) {
            Moved::Bytes(count) if len == 0 => {
                self.end += count;
                Ok(Received::Bytes(0))
            }
            Moved::Bytes(count) => Ok(Received::Bytes(count)),
            Moved::Wait | Moved::Interrupted => Ok(Received::Nothing),
            Moved::End => Ok(Received::End),
            Moved::Failed(errno) => Err(errno),
            Moved::Tls(why) => Ok(Received::Tls(why)),
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
