//! A connection to a server: bytes in both directions, plain or over TLS.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use fiord_types::Errno;

use crate::tls::TlsStream;

/// How a send or a receive ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// So many bytes, at least 1.
    Bytes(usize),
    /// The server has closed its end.
    End,
    /// Nothing now: wait until the connection is ready.
    Wait,
    /// A signal arrived.
    Interrupted,
    /// A system call failed.
    Failed(Errno),
    /// TLS failed, for this reason.
    #[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "nothing else fails in this way"))]
    Tls(String),
}

/// A connection.
pub(crate) enum Transport {
    /// A socket.
    Plain(OwnedFd),
    /// A socket with TLS.
    Tls(Box<TlsStream>),
}

impl Transport {
    pub(crate) fn fd(&self) -> RawFd {
        match self {
            Transport::Plain(fd) => fd.as_raw_fd(),
            Transport::Tls(stream) => stream.fd(),
        }
    }

    /// Whether bytes wait to be sent that the caller has handed over already.
    pub(crate) fn wants_write(&self) -> bool {
        match self {
            Transport::Plain(_) => false,
            Transport::Tls(stream) => stream.wants_write(),
        }
    }

    /// Goes on with the handshake. `Bytes` means that it is complete.
    pub(crate) fn shake_hands(&mut self, wait: bool) -> Moved {
        match self {
            Transport::Plain(_) => Moved::Bytes(1),
            Transport::Tls(stream) => stream.shake_hands(wait),
        }
    }

    /// Sends the two parts one after the other, as far as the connection takes them. `wait`: blocks until it takes
    /// some, or the patience of the socket ends.
    pub(crate) fn send(&mut self, first: &[u8], second: &[u8], wait: bool) -> Moved {
        match self {
            Transport::Plain(fd) => send_parts(fd.as_raw_fd(), first, second, wait),
            Transport::Tls(stream) => stream.send(first, second, wait),
        }
    }

    /// Receives bytes. `wait`: blocks until there are some, or the patience of the socket ends.
    pub(crate) fn receive(&mut self, to: &mut [u8], wait: bool) -> Moved {
        match self {
            Transport::Plain(fd) => receive(fd.as_raw_fd(), to, wait),
            Transport::Tls(stream) => stream.receive(to, wait),
        }
    }
}

const fn flags(wait: bool) -> i32 {
    if wait { libc::MSG_NOSIGNAL } else { libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT }
}

/// The result of a call that moves bytes.
fn moved(ret: isize) -> Moved {
    match ret {
        1.. => Moved::Bytes(ret as usize),
        0 => Moved::End,
        _ => match Errno::last() {
            Errno::EAGAIN => Moved::Wait,
            Errno::EINTR => Moved::Interrupted,
            errno => Moved::Failed(errno),
        },
    }
}

/// `sendmsg(2)` of two parts.
pub(crate) fn send_parts(fd: RawFd, first: &[u8], second: &[u8], wait: bool) -> Moved {
    let part = |data: &[u8]| libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: data.len(),
    };
    let mut parts = [part(first), part(second)];
    // SAFETY: all bytes zero are a valid message without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    // SAFETY: the message has two parts, which are readable memory of their lengths.
    moved(unsafe { libc::sendmsg(fd, &raw const message, flags(wait)) })
}

/// `recv(2)`.
pub(crate) fn receive(fd: RawFd, to: &mut [u8], wait: bool) -> Moved {
    // SAFETY: the slice is writable memory of its length.
    moved(unsafe { libc::recv(fd, to.as_mut_ptr().cast(), to.len(), flags(wait)) })
}
