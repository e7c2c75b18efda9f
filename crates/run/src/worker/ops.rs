//! Converts I/Os and flushes of the source to ops of the engine, and directions to those of the recorder.

use fiord_engine::{IoAttributes, Op, OpKind};
use fiord_load::{Flush, Io};
use fiord_types::{Dir, FileIndex};

/// Converts an I/O to an op.
#[inline(always)]
pub(crate) fn op_of(io: &Io) -> Op {
    let kind = match io.dir {
        Dir::Read => OpKind::Read,
        Dir::Write => OpKind::Write,
        Dir::Trim => OpKind::Trim,
    };
    Op { kind, file: io.file, offset: io.offset, len: io.len, at: 0, attributes: io.attributes }
}

/// Converts a flush to an op.
pub(crate) fn op_of_flush(flush: Flush, file: FileIndex, offset: u64, len: u64) -> Op {
    let kind = match flush {
        Flush::Fsync => OpKind::Fsync,
        Flush::Fdatasync => OpKind::Fdatasync,
        Flush::Range(flags) => OpKind::SyncFileRange(flags),
    };
    Op {
        kind,
        file,
        offset,
        len: u32::try_from(len).unwrap_or(u32::MAX),
        at: 0,
        attributes: IoAttributes::PLAIN,
    }
}

/// The direction of an op that moves or drops data.
#[inline(always)]
pub(crate) fn direction(op: &Op) -> Dir {
    // One arm for each direction: reads, writes and trims have equal numbers in both types.
    match op.kind {
        OpKind::Read => Dir::Read,
        OpKind::Write => Dir::Write,
        OpKind::Trim => Dir::Trim,
        OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => Dir::Write,
    }
}
