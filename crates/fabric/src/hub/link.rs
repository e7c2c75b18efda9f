//! One peer: its stream, the messages that wait for it, and the frames that arrive.

use fiord_types::{Bytes, Errno, Nanos};

use super::closing::ClosingLink;
use super::process::AgentProcess;
use super::seal::{Seal, Unsealed};
use super::wire::{OutQueue, TURN, Wire};
use crate::contract::{Loss, MAX_QUEUE};
use crate::frame::{
    Frame, FrameDecoder, FrameError, MAX_BODY, encode_message, encode_refusal, plain_line,
};

/// A peer is stalled if too many bytes wait and it has taken none for this long.
const STALL: Nanos = Nanos::from_secs(1);

/// Maximum number of bytes that wait, even for a peer that takes them fast.
const MAX_QUEUED: Bytes = Bytes(4 * MAX_QUEUE as u64);

/// How long a process may take to end after its standard output.
const ENDING: Nanos = Nanos::from_secs(1);

/// What a link has for the layer above.
#[derive(Debug)]
pub(super) enum FromLink {
    Message(Vec<u8>),
    /// The peer made the connection, and is this one.
    Joined(String),
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
    /// The encryption, if the connection has one.
    seal: Option<Box<dyn Seal>>,
    decoder: FrameDecoder,
    /// Frames that are not encrypted yet if the connection has an encryption.
    queue: OutQueue,
    /// Encrypted bytes.
    sealed: OutQueue,
    /// When the peer last took bytes, or none waited.
    took_at: Nanos,
    /// When bytes last arrived.
    read_at: Nanos,
    /// A message has arrived.
    heard: bool,
    /// The peer made the connection.
    accepted: bool,
    /// The address of a peer that made the connection, until it was reported.
    unreported: Option<String>,
    /// The peer takes no more bytes.
    deaf: bool,
    /// When the input ended, and the error that ended it.
    ended: Option<(Nanos, Option<fiord_sys::Error>)>,
    /// Why the bytes of the peer cannot be decrypted.
    failed: Option<Loss>,
}

impl HostLink {
    /// A peer at this address that made the connection.
    pub(super) fn accepted(wire: Wire, seal: Option<Box<dyn Seal>>, address: String) -> HostLink {
        let (wire, unreported) = (Some(wire), Some(address));
        HostLink { wire, seal, unreported, accepted: true, ..HostLink::default() }
    }

    /// The connection is made.
    pub(super) fn connected(
        &mut self,
        wire: Wire,
        process: Option<AgentProcess>,
        seal: Option<Box<dyn Seal>>,
        now: Nanos,
    ) {
        (self.wire, self.process, self.seal) = (Some(wire), process, seal);
        self.flush(now);
    }

    /// Whether messages can be exchanged: the connection is made, and both ends have proved who they are.
    pub(super) fn is_usable(&self) -> bool {
        self.wire.is_some() && self.seal.as_ref().is_none_or(|seal| seal.is_made())
    }

    /// The address of a peer that made the connection and was not reported, and the name of its key.
    pub(super) fn joined(&mut self) -> Option<String> {
        let address = self.unreported.take()?;
        Some(match self.seal.as_ref().and_then(|seal| seal.peer()) {
            Some(key) => format!("{address} (key of {key})"),
            None => address,
        })
    }

    pub(super) fn trust(&mut self) {
        self.decoder.trust();
    }

    pub(super) fn read_at(&self) -> Nanos {
        self.read_at
    }

    pub(super) fn queued(&self) -> Bytes {
        Bytes((self.queue.length() + self.sealed.length()) as u64)
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
        self.ended.is_none() && self.failed.is_none()
    }

    /// Whether to wait until the peer takes bytes.
    pub(super) fn wants_output(&self) -> bool {
        let ready = !self.sealed.is_empty() || !self.queue.is_empty() && self.is_usable();
        ready && !self.deaf
    }

    /// Whether the input has ended, and the process may not have.
    pub(super) fn waits_for_process(&self) -> bool {
        self.process.is_some() && self.ended.is_some()
    }

    /// Queues a message and sends what the peer takes at once.
    pub(super) fn send(&mut self, message: &[u8], now: Nanos) -> Result<(), Loss> {
        if message.len() > MAX_BODY {
            return Err(Loss::TooLong { length: Bytes(message.len() as u64) });
        }
        if self.deaf {
            return Ok(());
        }
        if self.queue.is_empty() && self.sealed.is_empty() {
            self.took_at = now;
        }
        let mut bytes = Vec::new();
        encode_message(message, &mut bytes);
        self.queue.push(bytes);
        self.flush(now);
        let (queued, late) = (self.queued(), now.saturating_sub(self.took_at) >= STALL);
        if queued > MAX_QUEUED || queued > Bytes(MAX_QUEUE as u64) && late {
            return Err(Loss::Stalled { queued });
        }
        Ok(())
    }

    /// Sends what the peer takes.
    pub(super) fn flush(&mut self, now: Nanos) {
        self.encrypt(TURN);
        let Some(wire) = &mut self.wire else { return };
        let queue = if self.seal.is_some() { &mut self.sealed } else { &mut self.queue };
        match queue.write_to(wire) {
            Ok(0) => {}
            Ok(_) => self.took_at = now,
            // What the peer said before, such as a refusal, may still arrive. The end of the input ends the link.
            Err(_) => {
                self.deaf = true;
                self.queue.clear();
                self.sealed.clear();
            }
        }
    }

    /// Encrypts frames until about `most` encrypted bytes wait.
    fn encrypt(&mut self, most: usize) {
        let Some(seal) = &mut self.seal else { return };
        while seal.is_made()
            && self.sealed.length() < most
            && let Some(part) = self.queue.pop()
        {
            seal.send(&part);
            self.sealed.push(seal.take());
        }
        self.sealed.push(seal.take());
    }

    /// Understands bytes that have arrived.
    fn push(&mut self, bytes: &[u8], at: Nanos) {
        self.read_at = at;
        let Some(seal) = &mut self.seal else { return self.decoder.push(bytes) };
        let mut plain = Vec::new();
        match seal.receive(bytes, &mut plain) {
            Ok(true) => self.ended = Some((at, None)),
            Ok(false) => {}
            Err(Unsealed { loss, answer }) => {
                self.failed = Some(loss);
                self.sealed.push(answer);
            }
        }
        self.decoder.push(&plain);
        self.flush(at);
    }

    /// Reads what has arrived. Returns whether [`HostLink::next`] has something new.
    pub(super) fn read(&mut self, buffer: &mut [u8], now: impl Fn() -> Nanos) -> bool {
        let Some(wire) = &mut self.wire else { return false };
        let read = wire.read(buffer);
        let at = now();
        match read {
            Ok(0) => self.ended = Some((at, None)),
            Ok(count) => {
                self.push(&buffer[..count], at);
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
        let is_known = self.is_usable() || self.ended.is_some() || self.failed.is_some();
        if is_known && let Some(peer) = self.joined() {
            return FromLink::Joined(peer);
        }
        match self.decoder.next_frame() {
            Ok(Some(Frame::Message(bytes))) => {
                self.heard = true;
                return FromLink::Message(bytes);
            }
            Ok(Some(Frame::Refusal(why))) => return FromLink::Lost(Loss::Refused { why }),
            Err(error) => return FromLink::Lost(Loss::NotUnderstood(error)),
            Ok(None) => {}
        }
        if let Some(loss) = &self.failed {
            return FromLink::Lost(loss.clone());
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
            Some(_) => Loss::Closed { said: "the peer reset it".into() },
            None if self.decoder.is_within_frame() => {
                Loss::Closed { said: "the peer closed it in the middle of a message".into() }
            }
            None => Loss::Closed { said: String::new() },
        })
    }

    /// Closes the connection after the queued messages.
    pub(super) fn close(mut self, now: Nanos) -> ClosingLink {
        self.encrypt(usize::MAX);
        let queue = match &mut self.seal {
            None => self.queue,
            Some(seal) => {
                seal.close();
                self.sealed.push(seal.take());
                self.sealed
            }
        };
        ClosingLink::new(self.wire, self.process, queue, now)
    }

    /// Sends a refusal after the queued messages, then closes the connection.
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
            // Sent only to the side that connected: a child process may be a shell and would execute the line.
            Loss::NotUnderstood(error @ FrameError::OtherProtocol { speaks, .. }) => {
                if self.accepted {
                    self.queue.push(plain_line(*speaks, error));
                }
                self.close(now)
            }
            Loss::NotUnderstood(error) => self.refuse(&error.to_string(), now),
            _ => self.close(now),
        }
    }
}
