//! Requests on their way to the server: many in one system call, with the data of writes from the slots' buffers.

use std::os::fd::{AsRawFd, RawFd};

use fiord_formats::nbd::request::{NbdRequest, REQUEST_LEN};
use fiord_types::Errno;

use crate::Slot;
use crate::tls::TlsStream;
use crate::transport::{Moved, Transport};

/// Maximum number of pieces of memory that one system call sends.
const MAX_PIECES: usize = 256;

/// Requests that were not sent yet, in order.
pub(super) struct RequestQueue {
    /// The request of each slot as bytes.
    headers: Box<[[u8; REQUEST_LEN]]>,
    /// The pieces of memory to send.
    pieces: Vec<libc::iovec>,
    /// The pieces before this one were sent.
    first: usize,
}

impl RequestQueue {
    pub(super) fn new(slots: usize) -> Self {
        RequestQueue {
            headers: vec![[0; REQUEST_LEN]; slots].into_boxed_slice(),
            pieces: Vec::with_capacity(2 * slots),
            first: 0,
        }
    }

    /// Whether there is nothing to send.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.first = 0;
    }

    /// Appends the request of a slot, which has no other one, and the data that follow it.
    #[inline]
    pub(super) fn push(
        &mut self,
        slot: Slot,
        request: &NbdRequest,
        data: Option<(*mut u8, usize)>,
    ) {
        let header = &mut self.headers[slot as usize];
        *header = request.encode();
        let start = header.as_mut_ptr();
        match self.pieces.last_mut() {
            // The headers of neighbouring slots are one piece.
            Some(last) if last.iov_base.cast::<u8>().wrapping_add(last.iov_len) == start => {
                last.iov_len += REQUEST_LEN;
            }
            _ => self.pieces.push(libc::iovec { iov_base: start.cast(), iov_len: REQUEST_LEN }),
        }
        if let Some((data, len)) = data {
            self.pieces.push(libc::iovec { iov_base: data.cast(), iov_len: len });
        }
    }

    /// Sends as much as the socket takes without waiting. Returns whether everything was sent.
    ///
    /// # Errors
    ///
    /// How the connection ended.
    ///
    /// # Safety
    ///
    /// The data of the requests that were not sent are valid memory that nothing writes.
    pub(super) unsafe fn send(&mut self, transport: &mut Transport) -> Result<bool, Moved> {
        // SAFETY: the caller vouches for the data.
        unsafe {
            match transport {
                Transport::Plain(socket) => {
                    self.send_plain(socket.as_raw_fd()).map_err(Moved::Failed)
                }
                Transport::Tls(stream) => self.encrypt(stream),
            }
        }
    }

    /// # Safety
    ///
    /// The data of the requests that were not sent are valid memory that nothing writes.
    unsafe fn send_plain(&mut self, fd: RawFd) -> Result<bool, Errno> {
        while self.first < self.pieces.len() {
            let rest = &mut self.pieces[self.first..];
            // SAFETY: all zeroes is a valid message header.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = rest.as_mut_ptr();
            message.msg_iovlen = rest.len().min(MAX_PIECES);
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            // SAFETY: the pieces are headers that this value owns, and data that the caller vouches for.
            let sent = unsafe { libc::sendmsg(fd, &raw const message, flags) };
            match sent {
                -1 => match Errno::last() {
                    Errno::EAGAIN => return Ok(false),
                    Errno::EINTR => {}
                    errno => return Err(errno),
                },
                sent => self.skip(sent as usize),
            }
        }
        self.clear();
        Ok(true)
    }

    /// Sends over TLS, which keeps what the socket does not take. Returns whether everything was sent.
    ///
    /// # Errors
    ///
    /// How the connection ended.
    ///
    /// # Safety
    ///
    /// The data of the requests that were not sent are valid memory that nothing writes.
    unsafe fn encrypt(&mut self, stream: &mut TlsStream) -> Result<bool, Moved> {
        loop {
            while let Some(piece) = self.pieces.get(self.first) {
                // SAFETY: the piece is a header that this value owns, or data that the caller vouches for.
                let bytes = unsafe {
                    std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len)
                };
                let kept = stream.keep(bytes);
                if kept == 0 {
                    break;
                }
                self.skip(kept);
            }
            match stream.flush(false) {
                Ok(()) => {}
                Err(Moved::Wait | Moved::Interrupted) => return Ok(false),
                Err(end) => return Err(end),
            }
            if self.first >= self.pieces.len() {
                self.clear();
                return Ok(true);
            }
        }
    }

    /// Removes bytes that were sent.
    fn skip(&mut self, mut sent: usize) {
        while sent > 0 {
            let piece = &mut self.pieces[self.first];
            let part = sent.min(piece.iov_len);
            piece.iov_base = piece.iov_base.cast::<u8>().wrapping_add(part).cast();
            piece.iov_len -= part;
            sent -= part;
            self.first += usize::from(piece.iov_len == 0);
        }
    }
}
