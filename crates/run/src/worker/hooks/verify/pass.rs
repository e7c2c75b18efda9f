//! The order in which a job reads its writes back: that of the writes. A second source repeats the I/Os of the first
//! one, so that nothing is stored for each write.

use std::collections::{HashSet, VecDeque};

use fiord_load::{AnySource, Io, IoAttributes, Next, Source};
use fiord_types::{Dir, FileIndex};

use super::super::Extra;

/// Repeats the writes of the job's loops.
#[derive(Debug)]
pub(super) struct Replay {
    source: AnySource,
    /// Number of the next write that the source draws.
    next: u64,
    /// The loop has been read back: the source must be restarted before the next one.
    ended: bool,
    /// Numbers of the writes of this loop that failed.
    failed: HashSet<u64>,
    /// Files to open, flush and close before the next read.
    controls: VecDeque<Extra>,
    /// Files must be flushed before they are read: the job writes.
    settles: bool,
}

/// What comes next in a verify pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassStep {
    /// Reads back the write with this number, if it is known.
    Read(Io, Option<u64>),
    /// Not an I/O. No op may be in flight.
    Control(Extra),
    /// All writes have been read.
    End,
}

impl Replay {
    /// `source` is equal to that of the job, before its first I/O.
    pub(super) fn new(source: AnySource, settles: bool) -> Self {
        Replay {
            source,
            next: 0,
            ended: false,
            failed: HashSet::new(),
            controls: VecDeque::new(),
            settles,
        }
    }

    /// A write failed.
    pub(super) fn failed(&mut self, number: u64) {
        self.failed.insert(number);
    }

    /// The pass over a loop begins. `files`: those that stay open.
    pub(super) fn begin(&mut self, files: u32) {
        if std::mem::take(&mut self.ended) {
            while self.source.next() != Next::End {}
            self.source.restart();
        }
        if self.settles {
            self.controls.extend((0..files).map(FileIndex).map(Extra::Settle));
        }
    }

    /// The next step. `written`: writes that were issued in all loops. `idle`: no op is in flight. `None`: not now.
    pub(super) fn next(&mut self, written: u64, idle: bool) -> Option<PassStep> {
        loop {
            if !self.controls.is_empty() {
                return idle.then(|| self.controls.pop_front().map(PassStep::Control)).flatten();
            }
            match if self.next < written { self.source.next() } else { Next::End } {
                Next::Io(write) if write.dir == Dir::Write => {
                    let number = self.next;
                    self.next += 1;
                    if !self.failed.remove(&number) {
                        let attributes = IoAttributes::PLAIN;
                        let read = Io { dir: Dir::Read, attributes, ..write };
                        return Some(PassStep::Read(read, Some(number)));
                    }
                }
                Next::Io(_) | Next::Flush(..) | Next::Again(_) => {}
                Next::Open(file) => {
                    self.controls.push_back(Extra::Open(file));
                    if self.settles {
                        self.controls.push_back(Extra::Settle(file));
                    }
                }
                Next::Close(file) => self.controls.push_back(Extra::Close(file)),
                Next::End => {
                    self.ended = true;
                    return idle.then_some(PassStep::End);
                }
            }
        }
    }
}
