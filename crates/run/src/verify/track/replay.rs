//! The order in which a job reads its writes back: that of the writes. A second source repeats the I/Os of the first
//! one, so that nothing is stored for each write.

use std::collections::{HashSet, VecDeque};

use fiord_load::{AnySource, Io, IoAttributes, Next, Source};
use fiord_types::{Dir, FileIndex};

use super::expected::ExpectedWrites;
use super::last_writes::LastWrites;
use super::slot_use::WriteNumbers;
use crate::hook::Extra;

/// Repeats the writes of the job's loops.
#[derive(Debug)]
pub(crate) struct Replay {
    source: AnySource,
    /// Direction of the I/Os that are read back: reads if the job only reads, and stands for one that wrote.
    dir: Dir,
    /// The writes of an earlier run that are checked; `None`: all.
    expected: Option<ExpectedWrites>,
    /// Which writes of an earlier run no later one has overwritten; `None`: all.
    last: Option<LastWrites>,
    /// Bytes of writes that were left out because they may be incomplete.
    uncertain: u64,
    /// Bytes of writes that were left out because later ones have overwritten them, or a part of them.
    overwritten: u64,
    /// Loops that an earlier run made after this one. They are read back in one pass.
    loops_left: u64,
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
pub(crate) enum PassStep {
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
            dir: Dir::Write,
            expected: None,
            last: None,
            uncertain: 0,
            overwritten: 0,
            loops_left: 0,
            next: 0,
            ended: false,
            failed: HashSet::new(),
            controls: VecDeque::new(),
            settles,
        }
    }

    /// For data that an earlier run wrote with I/Os of direction `dir` in `loops` loops. `expected`: the writes that are
    /// checked. `last`: those of them that were not overwritten.
    pub(super) fn of_earlier_run(
        source: AnySource,
        (dir, loops): (Dir, u64),
        expected: Option<ExpectedWrites>,
        last: Option<LastWrites>,
    ) -> Self {
        let loops_left = loops.saturating_sub(1);
        Replay { dir, expected, last, loops_left, ..Replay::new(source, false) }
    }

    /// Number of the next write that is read back.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// Returns and forgets the bytes of writes that were left out because they may be incomplete.
    pub(crate) fn take_uncertain(&mut self) -> u64 {
        std::mem::take(&mut self.uncertain)
    }

    /// Writes of an earlier run that the pass has gone over.
    pub(crate) fn replayed_writes(&self) -> u64 {
        if self.settles || self.dir != Dir::Write { 0 } else { self.next }
    }

    /// Returns and forgets the bytes of writes that were left out because later ones have overwritten them.
    pub(crate) fn take_overwritten(&mut self) -> u64 {
        std::mem::take(&mut self.overwritten)
    }

    /// A write failed.
    pub(super) fn failed(&mut self, number: u64) {
        self.failed.insert(number);
    }

    /// Follows the job to its next loop, if the last one has been read back.
    pub(crate) fn follow(&mut self) {
        if std::mem::take(&mut self.ended) {
            while self.source.next() != Next::End {}
            self.source.restart();
        }
    }

    /// The pass over a loop begins. `files`: those that stay open.
    pub(crate) fn begin(&mut self, files: u32) {
        self.follow();
        if self.settles {
            self.controls.extend((0..files).map(FileIndex).map(Extra::Settle));
        }
    }

    /// The next step. `written`: writes that were issued in all loops. `idle`: no op is in flight. `None`: not now.
    pub(crate) fn next(&mut self, written: u64, idle: bool) -> Option<PassStep> {
        let written =
            self.expected.as_ref().map_or(written, |expected| written.min(expected.number()));
        loop {
            if !self.controls.is_empty() {
                return idle.then(|| self.controls.pop_front().map(PassStep::Control)).flatten();
            }
            match if self.next < written { self.source.next() } else { Next::End } {
                Next::Io(io) if io.dir == self.dir => {
                    if let Some((read, number)) = self.read_back(io) {
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
                Next::End if self.loops_left > 0 && self.next < written => {
                    self.loops_left -= 1;
                    self.source.restart();
                }
                Next::End => {
                    self.ended = true;
                    return idle.then_some(PassStep::End);
                }
            }
        }
    }

    /// The next write to read back while the job still writes, and its number (`verify_backlog`). `None`: there is none,
    /// or it is in flight. All files of the job are open.
    pub(super) fn next_unread(&mut self, numbers: &WriteNumbers) -> Option<(Io, u64)> {
        while self.next < numbers.issued_writes() && !numbers.is_in_flight(self.next) {
            match self.source.next() {
                Next::Io(io) if io.dir == self.dir => {
                    if let Some(read) = self.read_back(io) {
                        return Some(read);
                    }
                }
                Next::End => return None,
                _ => {}
            }
        }
        None
    }

    /// Numbers a write, and returns the read of it. `None`: it is not read back.
    fn read_back(&mut self, write: Io) -> Option<(Io, u64)> {
        let number = self.next;
        self.next += 1;
        let is_last = self.last.as_mut().is_none_or(|last| last.is_last(&write));
        if self.expected.as_ref().is_some_and(|expected| !expected.is_certain(&write)) {
            self.uncertain += u64::from(write.len);
            return None;
        }
        if !is_last {
            self.overwritten += u64::from(write.len);
            return None;
        }
        let read = Io { dir: Dir::Read, attributes: IoAttributes::PLAIN, ..write };
        (!self.failed.remove(&number)).then_some((read, number))
    }
}
