//! The message that both ends exchange when they have connected, and again when the end that issues the I/Os is done.
//!
//! Learned by watching fio 3.33 at work: all numbers are big-endian 32-bit numbers, except the addresses, which have
//! 64 bits.
//!
//! | bytes | contents |
//! |---|---|
//! | 0 to 3 | what the end that connected does ([`word`]); 0 from the end that waited |
//! | 4 to 7 | number of buffers |
//! | 8 to 11 | largest block in bytes |
//! | 12 to 15 | 0; in the second message of a fiord that receives messages: how many it has received, modulo 2^32 |
//! | then for each buffer | address, key, size in bytes |
//!
//! fio ignores the private data of connection requests. fiord writes [`GREETING`] there, so that two fiords can
//! announce the end of a stream of messages, which fio does not do.

use std::ffi::{c_uint, c_ulonglong};

use fiord_plan::model::RdmaPlan;

use super::abi::{MemoryKeys, opcode};

/// Length of the message in bytes.
pub(super) const LEN: usize = 16 + MAX_BUFFERS * 16;

/// Maximum number of buffers in the message, and so the maximum `iodepth`.
pub(super) const MAX_BUFFERS: usize = RdmaPlan::MAX_IN_FLIGHT as usize;

/// The private data of a connection request or its answer from fiord.
pub(super) const GREETING: [u8; 6] = *b"fiord\x01";

/// The first number of a message.
pub(super) mod word {
    pub(in super::super) const WAITED: u32 = 0;
    pub(in super::super) const WRITE: u32 = 1;
    pub(in super::super) const READ: u32 = 2;
    pub(in super::super) const SEND: u32 = 3;
    pub(in super::super) const RECV: u32 = 4;
}

/// What an end of a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Writes the memory of the peer, or reads it.
    Accesses {
        /// `IBV_WR_RDMA_WRITE` or `IBV_WR_RDMA_READ`.
        opcode: u32,
    },
    /// Lends its memory to the peer.
    Lends,
    Sends,
    Receives,
}

impl Role {
    /// Returns the role of the endpoint that announced `said`. `waited`: it accepted the connection.
    pub(super) fn of(said: u32, waited: bool) -> Role {
        match (said, waited) {
            (word::WRITE, false) => Role::Accesses { opcode: opcode::RDMA_WRITE },
            (word::READ, false) => Role::Accesses { opcode: opcode::RDMA_READ },
            (word::SEND, false) | (word::RECV, true) => Role::Sends,
            (word::RECV, false) | (word::SEND, true) => Role::Receives,
            _ => Role::Lends,
        }
    }
}

/// A buffer of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RemoteBuffer {
    pub address: c_ulonglong,
    pub key: c_uint,
}

/// What a peer says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PeerMessage {
    pub word: c_uint,
    pub largest_block: c_uint,
    pub buffers: Vec<RemoteBuffer>,
}

impl PeerMessage {
    /// Reads a message; `None` if it is not one.
    pub(super) fn parse(bytes: &[u8; LEN]) -> Option<PeerMessage> {
        let number = |at: usize| {
            let field = bytes[at..at + 4].iter();
            field.fold(0_u32, |value, byte| value << 8 | u32::from(*byte))
        };
        let (word, count, largest_block) = (number(0), number(4) as usize, number(8));
        if word > word::RECV || count == 0 || count > MAX_BUFFERS {
            return None;
        }
        let buffer = |at: usize| RemoteBuffer {
            address: u64::from(number(at)) << 32 | u64::from(number(at + 4)),
            key: number(at + 8),
        };
        let buffers = (0..count).map(|index| buffer(16 + index * 16)).collect();
        Some(PeerMessage { word, largest_block, buffers })
    }

    /// Writes a message. All buffers have `size` bytes.
    pub(super) fn write(&self, size: u32, into: &mut [u8; LEN]) {
        into.fill(0);
        into[0..4].copy_from_slice(&self.word.to_be_bytes());
        into[4..8].copy_from_slice(&(self.buffers.len() as u32).to_be_bytes());
        into[8..12].copy_from_slice(&self.largest_block.to_be_bytes());
        for (entry, buffer) in into[16..].chunks_exact_mut(16).zip(&self.buffers) {
            entry[0..8].copy_from_slice(&buffer.address.to_be_bytes());
            entry[8..12].copy_from_slice(&buffer.key.to_be_bytes());
            entry[12..16].copy_from_slice(&size.to_be_bytes());
        }
    }

    /// Adds the number of received messages to a message.
    pub(super) fn write_received(received: u32, into: &mut [u8; LEN]) {
        into[12..16].copy_from_slice(&received.to_be_bytes());
    }

    /// The number of received messages in a message; 0 if it has none.
    pub(super) fn received(bytes: &[u8; LEN]) -> u32 {
        u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])
    }

    /// The message of this end: its buffers have the stride `stride` from `base` on.
    pub(super) fn own(
        word: u32,
        largest_block: u32,
        (base, stride, count): (u64, u64, u64),
        keys: &MemoryKeys,
    ) -> PeerMessage {
        let buffer = |index| RemoteBuffer { address: base + index * stride, key: keys.remote };
        PeerMessage { word, largest_block, buffers: (0..count).map(buffer).collect() }
    }
}

/// How many of `posted` messages the peer has received, if it says that it received `received` of all messages, and `moved` are
/// known to have arrived. A peer that says nothing says 0.
pub(super) fn arrived_of(received: u32, moved: u32, posted: u32) -> u32 {
    let more = received.wrapping_sub(moved).cast_signed();
    more.clamp(0, posted.cast_signed()).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_arrived_before_the_farewell_are_known() {
        assert_eq!(arrived_of(64, 61, 3), 3);
        assert_eq!(arrived_of(62, 61, 3), 1);
        assert_eq!(arrived_of(61, 61, 3), 0);
        assert_eq!(arrived_of(0, 61, 3), 0, "the peer counts nothing");
        assert_eq!(arrived_of(1, u32::MAX, 4), 2);
    }

    /// The beginning of the message of fio 3.33 with `verb=write`, `bs=4k` and `iodepth=2`.
    const FROM_FIO: [u8; 48] = [
        0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0x10, 0, 0, 0, 0, 0, //
        0, 0, 0x55, 0x71, 0xdd, 0x4d, 0x11, 0xf0, 0, 0, 0x0b, 0xbf, 0, 0, 0x10, 0, //
        0, 0, 0x55, 0x71, 0xdd, 0x4d, 0x21, 0xf0, 0, 0, 0x0c, 0xaa, 0, 0, 0x10, 0,
    ];

    #[test]
    fn a_message_of_fio_is_read_and_written() {
        let mut bytes = [0; LEN];
        bytes[..48].copy_from_slice(&FROM_FIO);
        let message = PeerMessage::parse(&bytes).unwrap();
        let first = RemoteBuffer { address: 0x5571_dd4d_11f0, key: 0xbbf };
        assert_eq!((message.word, message.largest_block), (word::WRITE, 4096));
        assert_eq!((message.buffers.len(), message.buffers[0]), (2, first));
        let mut again = [1; LEN];
        message.write(4096, &mut again);
        assert_eq!(again, bytes);
        assert_eq!(PeerMessage::received(&again), 0);
        PeerMessage::write_received(0x0102_0304, &mut again);
        assert_eq!((PeerMessage::received(&again), again[12]), (0x0102_0304, 1));
    }

    #[test]
    fn other_bytes_are_no_message() {
        assert_eq!(PeerMessage::parse(&[0; LEN]), None, "no buffer");
        assert_eq!(PeerMessage::parse(&[0xff; LEN]), None);
        let mut bytes = [0; LEN];
        bytes[..48].copy_from_slice(&FROM_FIO);
        bytes[6] = 3;
        assert_eq!(PeerMessage::parse(&bytes), None, "more buffers than the message has room for");
    }
}
