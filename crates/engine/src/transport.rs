//! A connection to a server: bytes in both directions, plain or over TLS.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

pub(crate) use crate::socket_calls::Moved;
use crate::socket_calls::{receive, send_parts};
use crate::tls::TlsStream;

pub(crate) enum Transport {
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

    /// Continues the handshake. `Bytes` means that it is complete.
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
