//! One peer: its stream, the messages that wait for it, and the frames that arrive.

use fiord_types::{Bytes, Errno, Nanos};

use super::closing::ClosingLink;
use super::process::AgentProcess;
use super::wire::{OutQueue, Wire};
use crate::contract::{Loss, MAX_QUEUE};
use crate::frame::{
    Frame, FrameDecoder, FrameError, MAX_BODY, Speaks, encode_message, encode_refusal,
};

/// A peer is stalled if too many bytes wait and it has taken none for this long.
const STALL: Nanos = Nanos::from_secs(1);

/// This many bytes never wait, however fast the peer takes them.
const MOST_QUEUED: usize = 4 * MAX_QUEUE;

/// How long a process may take to end after its standard output.
pub(super) const ENDING: Nanos = Nanos::from_secs(1);

/// What a link has for the layer above.
#[derive(Debug)]
pub(super) enum FromLink {
    /// A message.
    Message(Vec<u8>),
    /// The peer is lost.
    Lost(Loss),
    /// Nothing yet.
    Nothing,
}

/// A peer that is neither lost nor closed.
#[derive(Debug, Default)]
pub(super) struct HostLink {
    /// `None` until the connection is made.
    wire: Option<Wire>,
    process: Option<AgentProcess>,
    decoder: FrameDecoder,
    queue: OutQueue,
    /// When the peer last took bytes, or none waited.
    took_at: Nanos,
    /// When bytes last arrived.
    read_at: Nanos,
    /// A message has arrived.
    heard: bool,
    /// The peer made the connection.
    accepted: bool,
    /// The peer takes no more bytes.
    deaf: bool,
    /// When the input ended, and the error that ended it.
    ended: Option<(Nanos, Option<fiord_sys::Error>)>,
}

impl HostLink {
    /// A peer that made the connection.
    pub(super) fn accepted(wire: Wire) -> HostLink {
        HostLink { wire: Some(wire), accepted: true, ..HostLink::default() }
    }

    /// The connection is made.
    pub(super) fn connected(&mut self, wire: Wire, process: Option<AgentProcess>, now: Nanos) {
        (self.wire, self.process) = (Some(wire), process);
        self.flush(now);
    }

    pub(super) fn trust(&mut self) {
        self.decoder.trust();
    }

    pub(super) fn read_at(&self) -> Nanos {
        self.read_at
    }

    pub(super) fn queued(&self) -> Bytes {
        Bytes(self.queue.length() as u64)
    }

    /// The connection and, while it has a standard error, the process.
    pub(super) fn streams(&self) -> (Option<&Wire>, Option<&AgentProcess>) {
        (self.wire.as_ref(), self.process.as_ref())
    }

    pub(super) fn process(&mut self) -> Option<&mut AgentProcess> {
        self.process.as_mut()
    }

    /// Whether to wait for input.
    pub(super) fn wants_input(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether to wait until the peer takes bytes.
    pub(super) fn wants_output(&self) -> bool {
        !self.queue.is_empty() && !self.deaf
    }

    /// When the process of a link without input must have ended.
    pub(super) fn ends_by(&self) -> Option<Nanos> {
        self.process.as_ref()?;
        self.ended.as_ref().map(|(at, _)| at.saturating_add(ENDING))
    }

    /// Queues a message and sends what the peer takes at once.
    pub(super) fn send(&mut self, message: &[u8], now: Nanos) -> Result<(), Loss> {
        if message.len() > MAX_BODY {
            return Err(Loss::TooLong { length: Bytes(message.len() as u64) });
        }
        if self.deaf {
            return Ok(());
        }
        if self.queue.is_empty() {
            self.took_at = now;
        }
        let mut bytes = Vec::new();
        encode_message(message, &mut bytes);
        self.queue.push(bytes);
        self.flush(now);
        let (queued, late) = (self.queue.length(), now.saturating_sub(self.took_at) >= STALL);
        if queued > MOST_QUEUED || queued > MAX_QUEUE && late {
            return Err(Loss::Stalled { queued: self.queued() });
        }
        Ok(())
    }

    /// Sends what the peer takes.
    pub(super) fn flush(&mut self, now: Nanos) {
        let Some(wire) = &mut self.wire else { return };
        match self.queue.write_to(wire) {
            Ok(0) => {}
            Ok(_) => self.took_at = now,
            // What the peer said before, such as a refusal, may still arrive. The end of the input ends the link.
            Err(_) => {
                self.deaf = true;
                self.queue.clear();
            }
        }
    }

    /// Reads what has arrived. Returns whether [`HostLink::next`] has something new.
    pub(super) fn read(&mut self, buffer: &mut [u8], now: impl Fn() -> Nanos) -> bool {
        let Some(wire) = &mut self.wire else { return false };
        let read = wire.read(buffer);
        let at = now();
        match read {
            Ok(0) => self.ended = Some((at, None)),
            Ok(count) => {
                self.read_at = at;
                self.decoder.push(&buffer[..count]);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
            Err(error) => {
                let error = fiord_sys::Error::from_io("read", &error);
                self.ended = Some((at, Some(error)));
            }
        }
        true
    }

    /// Takes the next message or the end.
    pub(super) fn next(&mut self, now: Nanos) -> FromLink {
        match self.decoder.next_frame() {
            Ok(Some(Frame::Message(bytes))) => {
                self.heard = true;
                return FromLink::Message(bytes);
            }
            Ok(Some(Frame::Refusal(why))) => return FromLink::Lost(Loss::Refused { why }),
            Err(error) => return FromLink::Lost(Loss::NotUnderstood(error)),
            Ok(None) => {}
        }
        let Some((at, error)) = &self.ended else { return FromLink::Nothing };
        if let Some(process) = &mut self.process {
            if !process.has_ended() && now < at.saturating_add(ENDING) {
                return FromLink::Nothing;
            }
            return FromLink::Lost(process.loss(self.heard));
        }
        let reset = [Errno::ECONNRESET, Errno::EPIPE];
        FromLink::Lost(match error {
            Some(error) if !reset.contains(&error.errno) => Loss::System(error.clone()),
            Some(_) => Loss::Closed { said: "the peer broke it off".into() },
            None if self.decoder.is_within_frame() => {
                Loss::Closed { said: "in the middle of a message".into() }
            }
            None => Loss::Closed { said: String::new() },
        })
    }

    /// Closes the connection after the queued messages.
    pub(super) fn close(self, now: Nanos) -> ClosingLink {
        ClosingLink::new((self.wire, self.process), self.queue, now)
    }

    /// Sends a refusal behind the queued messages, then closes the connection.
    pub(super) fn refuse(mut self, why: &str, now: Nanos) -> ClosingLink {
        let mut bytes = Vec::new();
        encode_refusal(why, &mut bytes);
        self.queue.push(bytes);
        self.close(now)
    }

    /// Closes the connection to a peer that is lost. A peer that is not understood hears why.
    pub(super) fn abandon(mut self, loss: &Loss, now: Nanos) -> ClosingLink {
        self.queue.clear();
        match loss {
            // Only who made the connection gets the line: at the other end of a process may be a shell, which would run it.
            Loss::NotUnderstood(error @ FrameError::OtherProtocol { speaks, .. }) => {
                if self.accepted {
                    self.queue.push(plain_line(*speaks, error).into_bytes());
                }
                self.close(now)
            }
            Loss::NotUnderstood(error) => self.refuse(&error.to_string(), now),
            _ => self.close(now),
        }
    }
}

/// What a peer that does not speak this protocol gets.
fn plain_line(speaks: Speaks, error: &FrameError) -> String {
    let head = match speaks {
        Speaks::Http => {
            "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
        }
        _ => "",
    };
    format!("{head}{error}\n")
}
