//! What the coordinator and the agents expect of every transport.
//!
//! A fabric moves messages between this process and its peers. A message arrives whole and unchanged, the messages of one
//! peer arrive in the order in which it sent them, and each arrives at most once. The fabric does not look into messages.
//!
//! The coordinator has one peer for each host: peer 0 is the host with rank 0. An agent that a coordinator started has one
//! peer, the coordinator, with index 0. An agent that listens for connections has a new peer for each connection, which
//! begins with [`Happening::Joined`].

use fiord_types::{Bytes, HostIndex, Nanos};

use crate::frame::FrameError;

/// Messages to and from peers.
pub trait Fabric {
    /// The number of peers so far, including those that were lost or closed.
    fn size(&self) -> u32;

    /// Queues a message for a peer, and sends it as soon as the peer takes it. Never blocks. Messages to a peer that is
    /// lost or closed disappear.
    ///
    /// A message may have [`MAX_BODY`](crate::frame::MAX_BODY) bytes, or [`MAX_UNKNOWN`](crate::frame::MAX_UNKNOWN) until
    /// the peer has [trusted](Fabric::trust) this end. A longer one is not sent, and the peer becomes lost with
    /// [`Loss::TooLong`]. A peer that takes no bytes although more than [`MAX_QUEUE`] bytes wait becomes lost with
    /// [`Loss::Stalled`].
    fn send(&mut self, to: HostIndex, message: Vec<u8>);

    /// The bytes that wait because the peer has not taken them yet. A sender of much data waits while they are many, so
    /// that the peer does not become [`Loss::Stalled`]. 0 for a peer that is lost or closed, and in a fabric without
    /// queues.
    fn queued(&self, _to: HostIndex) -> Bytes {
        Bytes::ZERO
    }

    /// Queues a message for all peers.
    fn broadcast(&mut self, message: &[u8]) {
        for peer in HostIndex(0).to(HostIndex(self.size())) {
            self.send(peer, message.to_vec());
        }
    }

    /// Waits for the next arrival until `until` on [`fiord_sys::clock::monotonic`], and sends queued messages meanwhile.
    /// `None`: nothing has arrived in time, or something outside the fabric wants the caller's attention (a signal, a
    /// thread that woke it). A time in the past only collects what has already arrived.
    fn receive(&mut self, until: Nanos) -> Option<Arrival>;

    /// Accepts long messages of a peer. A new peer may send messages of [`MAX_UNKNOWN`](crate::frame::MAX_UNKNOWN) bytes
    /// until this call.
    fn trust(&mut self, peer: HostIndex);

    /// Refuses a peer: sends it one line that says why, then closes the connection. The peer reports the line as
    /// [`Loss::Refused`].
    fn refuse(&mut self, peer: HostIndex, why: &str);

    /// Ends the connection to a peer after the queued messages have been sent. Nothing arrives from it any more. Does not
    /// wait.
    fn close(&mut self, peer: HostIndex);

    /// Ends the connection to a peer at once, without regard to queued messages. Unlike after [`Fabric::close`], dropping the
    /// fabric does not wait for this peer.
    fn abandon(&mut self, peer: HostIndex) {
        self.close(peer);
    }
}

/// The number of bytes that may wait for a peer that takes none.
pub const MAX_QUEUE: usize = 64 << 20;

/// Something that arrived from a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    pub from: HostIndex,
    /// Time on [`fiord_sys::clock::monotonic`] right after the last byte was read.
    pub at: Nanos,
    /// What has arrived.
    pub what: Happening,
}

/// What a peer did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// The peer connected. Only fabrics that listen for connections report this; it is the first arrival of the peer.
    Joined {
        /// Where the peer is and, if it has a key, who it is, for messages: `10.0.0.7:41234 (key of build-server)`.
        peer: String,
    },
    /// The peer sent a message.
    Message(Vec<u8>),
    /// The connection ended. Nothing else arrives from this peer.
    Lost(Loss),
}

/// Why the connection to a peer ended. `Display` is a message for the user, without the name of the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The connection was never made.
    #[error("{why}")]
    NotReached {
        /// What failed, and what to do.
        why: String,
    },
    /// The peer ended the connection or its process.
    #[error("the connection ended{}", behind_colon(.said))]
    Closed {
        /// The last line that the peer's process printed on standard error, and how it ended. Empty if unknown.
        said: String,
    },
    /// The peer refused this end, and says why.
    #[error("{why}")]
    Refused {
        /// The peer's words. Control characters are replaced.
        why: String,
    },
    /// The peer sent something that is not a frame of this protocol. It has been refused.
    #[error("{0}")]
    NotUnderstood(FrameError),
    /// The peer does not take messages although many wait for it.
    #[error("the host takes no messages: {queued} bytes wait for it")]
    Stalled {
        /// How many bytes wait.
        queued: Bytes,
    },
    /// A message for the peer was longer than a frame may be.
    #[error("a message of {length} bytes is too long to send")]
    TooLong {
        /// The length of the message.
        length: Bytes,
    },
    /// A system call on the connection failed.
    #[error("{0}")]
    System(fiord_sys::Error),
}

fn behind_colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}
