//! When written data is flushed (`fsync`, `fdatasync`, `sync_file_range`, `write_barrier`).
//!
//! As in fio, writes are counted over all files of the job. A flush comes before the operation that
//! follows the n-th write, and not at all if nothing follows. Of several flushes that are due
//! together only the strongest is made. It goes to the file that was written last.

use fiord_plan::Load;
use fiord_types::{Dir, FileIndex};

use crate::{Flush, Io, Next};

/// Counts writes and returns the flushes that are due.
#[derive(Debug, Clone)]
pub(super) struct Flushes {
    fsync: u32,
    fdatasync: u32,
    barrier: u32,
    range: u32,
    flags: u32,
    writes: u64,
    due: bool,
    file: FileIndex,
    /// Per file: the range written since the last `sync_file_range(2)`.
    dirty: Vec<(u64, u64)>,
}

/// An empty range.
const CLEAN: (u64, u64) = (u64::MAX, 0);

impl Flushes {
    /// State of a load with `files` files.
    pub(super) fn new(load: &Load, files: usize) -> Self {
        let (range, flags) = load.sync_file_range.unwrap_or((0, 0));
        Flushes {
            fsync: load.fsync,
            fdatasync: load.fdatasync,
            barrier: load.write_barrier,
            range,
            flags,
            writes: 0,
            due: false,
            file: FileIndex(0),
            dirty: vec![CLEAN; if range == 0 { 0 } else { files }],
        }
    }

    /// Whether the load has any flushes.
    pub(super) fn any(load: &Load) -> bool {
        let every = load.fsync | load.fdatasync | load.write_barrier;
        load.mix.has(Dir::Write) && (every != 0 || load.sync_file_range.is_some_and(|r| r.0 != 0))
    }

    /// An I/O was issued.
    #[inline]
    pub(super) fn count(&mut self, io: &Io) {
        if io.dir != Dir::Write {
            return;
        }
        self.writes += 1;
        self.due = true;
        self.file = io.file;
        if let Some(dirty) = self.dirty.get_mut(io.file.get()) {
            *dirty = (dirty.0.min(io.offset), dirty.1.max(io.offset + u64::from(io.len)));
        }
    }

    /// The flush that is due before the next I/O.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Next> {
        if !std::mem::replace(&mut self.due, false) {
            return None;
        }
        let due = |every: u32| every != 0 && self.writes.is_multiple_of(u64::from(every));
        let whole = |kind, drain| Some(Next::Flush(kind, self.file, 0, 0, drain));
        if due(self.fsync) {
            whole(Flush::Fsync, due(self.barrier))
        } else if due(self.fdatasync) || due(self.barrier) {
            whole(Flush::Fdatasync, due(self.barrier))
        } else if due(self.range) {
            let dirty = self.dirty.get_mut(self.file.get())?;
            let (from, to) = std::mem::replace(dirty, CLEAN);
            Some(Next::Flush(Flush::Range(self.flags), self.file, from, to - from, false))
        } else {
            None
        }
    }
}
