//! The messages with which fio's network engines announce the begin and the end of a transfer.
//!
//! Observed with fio 3.42: the magic number is "link". A sender of datagrams announces itself; each
//! end of every protocol announces that it closes. The two messages have different byte orders.

/// Length of each message in bytes.
pub(super) const LEN: usize = 8;

/// A sender of datagrams sends this before its first block.
pub(super) const OPEN: [u8; LEN] = *b"link\0\0\0\x98";

/// Each end sends this after its last block.
pub(super) const CLOSE: [u8; LEN] = *b"knil\x89\0\0\0";
