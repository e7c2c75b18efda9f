//! A stream of bytes in both directions, of any kind, that never blocks.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use fiord_sys::poll::set_blocking;

/// A stream of bytes to and from a peer.
#[derive(Debug)]
pub(super) enum Wire {
    /// A connection of TCP.
    Tcp(TcpStream),
    /// A connection of a Unix socket.
    Unix(UnixStream),
    /// Two pipes, or whatever else standard input and output are.
    Pipes {
        /// Bytes of the peer.
        input: File,
        /// Bytes for the peer. `None` after [`Wire::end_output`].
        output: Option<File>,
    },
}

impl Wire {
    /// A connection of TCP. Its small messages are sent at once.
    pub(super) fn tcp(stream: TcpStream) -> fiord_sys::Result<Wire> {
        set_blocking(&stream, false)?;
        let failed = |error| fiord_sys::Error::from_io("setsockopt TCP_NODELAY", &error);
        stream.set_nodelay(true).map_err(failed)?;
        Ok(Wire::Tcp(stream))
    }

    /// A connection of a Unix socket.
    pub(super) fn unix(stream: UnixStream) -> fiord_sys::Result<Wire> {
        set_blocking(&stream, false)?;
        Ok(Wire::Unix(stream))
    }

    /// Two pipes.
    pub(super) fn pipes(input: OwnedFd, output: OwnedFd) -> fiord_sys::Result<Wire> {
        set_blocking(&input, false)?;
        set_blocking(&output, false)?;
        Ok(Wire::Pipes { input: input.into(), output: Some(output.into()) })
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let read = match self {
                Wire::Tcp(stream) => stream.read(buffer),
                Wire::Unix(stream) => stream.read(buffer),
                Wire::Pipes { input, .. } => input.read(buffer),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Wire::Tcp(stream) => stream.write(bytes),
            Wire::Unix(stream) => stream.write(bytes),
            Wire::Pipes { output: Some(output), .. } => output.write(bytes),
            Wire::Pipes { output: None, .. } => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    /// Tells the peer that no more bytes come.
    pub(super) fn end_output(&mut self) {
        // An error says that the connection has ended already.
        match self {
            Wire::Tcp(stream) => drop(stream.shutdown(Shutdown::Write)),
            Wire::Unix(stream) => drop(stream.shutdown(Shutdown::Write)),
            Wire::Pipes { output, .. } => *output = None,
        }
    }

    /// The descriptor to read from.
    pub(super) fn input(&self) -> BorrowedFd<'_> {
        match self {
            Wire::Tcp(stream) => stream.as_fd(),
            Wire::Unix(stream) => stream.as_fd(),
            Wire::Pipes { input, .. } => input.as_fd(),
        }
    }

    /// The descriptor to write to.
    pub(super) fn output(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Wire::Pipes { output, .. } => output.as_ref().map(AsFd::as_fd),
            _ => Some(self.input()),
        }
    }
}

/// Bytes that wait until the peer takes them.
#[derive(Debug, Default)]
pub(super) struct OutQueue {
    parts: VecDeque<Vec<u8>>,
    /// How many bytes of the first part were sent.
    sent: usize,
    length: usize,
}

/// Small messages are joined up to this size.
const JOINED: usize = 64 << 10;

/// One call of [`OutQueue::write_to`] sends at most about this much, so that one peer does not stop the others.
pub(super) const TURN: usize = 4 << 20;

impl OutQueue {
    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.length += bytes.len();
        match self.parts.back_mut() {
            Some(last) if last.len() + bytes.len() <= JOINED => last.extend_from_slice(&bytes),
            _ => self.parts.push_back(bytes),
        }
    }

    /// How many bytes wait.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Takes the part that waits longest.
    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let mut part = self.parts.pop_front()?;
        part.drain(..std::mem::take(&mut self.sent));
        self.length -= part.len();
        Some(part)
    }

    pub(super) fn clear(&mut self) {
        *self = OutQueue::default();
    }

    /// Sends what the peer takes. Returns how many bytes it took.
    ///
    /// # Errors
    /// The peer takes no more bytes at all.
    pub(super) fn write_to(&mut self, wire: &mut Wire) -> Result<usize> {
        let mut total = 0;
        while let Some(first) = self.parts.front() {
            let count = match wire.write(&first[self.sent..]) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            (self.sent, self.length, total) =
                (self.sent + count, self.length - count, total + count);
            if self.sent == first.len() {
                self.parts.pop_front();
                self.sent = 0;
            }
            if total >= TURN {
                break;
            }
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queued_bytes_arrive_in_order() {
        let (one, mut other) = UnixStream::pair().unwrap();
        let mut wire = Wire::unix(one).unwrap();
        let mut queue = OutQueue::default();
        let mut wanted = Vec::new();
        for part in 0..300u32 {
            let bytes = vec![part as u8; 1 + part as usize * 37];
            wanted.extend_from_slice(&bytes);
            queue.push(bytes);
        }
        assert_eq!(queue.length(), wanted.len());
        let (mut got, mut buffer) = (Vec::new(), vec![0; 5000]);
        while got.len() < wanted.len() {
            queue.write_to(&mut wire).unwrap();
            let count = other.read(&mut buffer).unwrap();
            got.extend_from_slice(&buffer[..count]);
        }
        assert!(got == wanted && queue.is_empty() && queue.parts.is_empty());
        drop(other);
        queue.push(vec![1]);
        assert!(queue.write_to(&mut wire).is_err());
    }
}
