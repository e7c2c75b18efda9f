//! Jobs that may write a block more than once, or share a file with other jobs: a map says for each granule which write
//! it contains. A write claims its granules, so overlapping writes follow one another. A read whose granules have
//! changed meanwhile is repeated.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use fiord_engine::Op;
use fiord_load::verify::{ClaimRefused, GranuleState, MapSnapshot, WriteMap, WriteRecords};
use fiord_load::{Io, IoAttributes};
use fiord_plan::{Backlog, JobPlan};
use fiord_types::{Bytes, Dir, FileIndex};

use super::unread::UnreadWrites;
use crate::error::{JobError, Stage};
use crate::hook::{Admission, Delay};
use crate::maps::{TargetClaim, TargetMaps, VerifyMaps};
use crate::verify::contents::{GranuleStates, StoredContents, TrimmedBlocks};

/// How long a job waits before it claims granules again that another job has claimed.
const POLL: Duration = Duration::from_micros(50);

/// The range of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IoRange {
    file: FileIndex,
    offset: u64,
    len: u32,
}

/// What the map says about an op in flight.
#[derive(Debug)]
enum Watch {
    /// A write or trim.
    Write(TargetClaim),
    /// A read whose granules other jobs may write.
    Read {
        before: MapSnapshot,
        /// See [`GranuleStates::before`].
        generations: Vec<u16>,
    },
    /// A read that excludes writes.
    Exclusive(TargetClaim),
}

/// The maps of a job's files, and its ops in flight.
#[derive(Debug)]
pub(crate) struct TrackedMaps {
    /// By file.
    maps: Vec<TargetMaps>,
    /// Where the data ends that the file had before the run, by file. 0: it had none.
    earlier_ends: Vec<Bytes>,
    /// Bytes of a zone, by file; `None`: the file has no zones.
    zone_sizes: Vec<Option<u64>>,
    /// Start and end of the job's region, by file.
    regions: Vec<(u64, u64)>,
    /// The claim of the I/O that was admitted.
    admitted: Option<(IoRange, TargetClaim)>,
    /// By slot.
    watches: Vec<Option<(FileIndex, Watch)>>,
    /// Where the verify pass continues: file and offset.
    cursor: (usize, u64),
    /// Maximum number of bytes that a read may have.
    most: u32,
    /// Reads to be repeated.
    repeats: VecDeque<IoRange>,
    /// The claim of the read that is issued next.
    exclusive: Option<(IoRange, TargetClaim)>,
    /// Recycled state buffers.
    lists: Vec<GranuleStates>,
    /// Recycled generation buffers.
    counts: Vec<Vec<u16>>,
    /// Other jobs use some of the files.
    shared: bool,
    /// The writes that wait to be read back (`verify_backlog`).
    backlog: Option<UnreadWrites>,
    /// Trimmed blocks are read back, too.
    reads_trimmed: bool,
}

/// The next step of a pass over the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapStep {
    Read(Io),
    /// Another job uses the blocks.
    Wait,
    /// Everything has been read, except what is in flight.
    End,
}

/// How a read relates to the writes of all jobs.
#[derive(Debug)]
pub(crate) enum ReadStates {
    /// These are the states of its granules.
    Known(GranuleStates),
    /// A write came in between. The read is repeated.
    Changed,
}

impl TrackedMaps {
    pub(crate) fn of(
        job: &JobPlan,
        maps: &VerifyMaps,
        backlog: Option<Backlog>,
    ) -> Result<Self, JobError> {
        let files = &job.target.files;
        Ok(TrackedMaps {
            maps: maps.of_job(job).map_err(|e| JobError::from(e).during(Stage::SetUp))?,
            earlier_ends: files.iter().map(|file| maps.earlier_end(file)).collect(),
            zone_sizes: files.iter().map(|file| file.zones.map(|zones| zones.size.0)).collect(),
            regions: files.iter().map(|file| (file.offset.0, file.end().0)).collect(),
            admitted: None,
            watches: (0..job.slots()).map(|_| None).collect(),
            cursor: (0, 0),
            most: [Dir::Write, Dir::Read]
                .into_iter()
                .filter(|dir| job.load.mix.has(*dir))
                .map(|dir| job.load.blocks[dir].max())
                .max()
                .unwrap_or(0),
            repeats: VecDeque::new(),
            exclusive: None,
            lists: Vec::new(),
            counts: Vec::new(),
            shared: files.iter().any(|file| maps.is_shared(file)),
            backlog: backlog.map(UnreadWrites::new),
            reads_trimmed: job
                .verify
                .as_ref()
                .is_some_and(|plan| TrimmedBlocks::of(plan).must_read_zero()),
        })
    }

    /// Whether blocks of a file before `end`, which no job has written, contain data of an earlier run.
    pub(super) fn has_earlier_data(&self, file: FileIndex, end: u64) -> bool {
        end <= self.earlier_ends[file.get()].0
    }

    /// Bytes of a granule of a file.
    pub(crate) fn granule(&self, file: FileIndex) -> u64 {
        if self.records(file).is_some() {
            // The whole read is one write.
            return u64::MAX;
        }
        self.own(file).map_or(1, |map| map.granule().0)
    }

    /// The records of the writes, if the job keeps them.
    fn records(&self, file: FileIndex) -> Option<&WriteRecords> {
        self.maps[file.get()].records()
    }

    /// The map of the job's own format. A job that only informs other jobs has none.
    fn own(&self, file: FileIndex) -> Option<&WriteMap> {
        self.maps[file.get()].own()
    }

    /// Claims the granules of a write or trim.
    pub(crate) fn admit(&mut self, io: &Io) -> Admission {
        let range = IoRange { file: io.file, offset: io.offset, len: io.len };
        if self.admitted.as_ref().is_some_and(|(admitted, _)| *admitted == range) {
            return Admission::AsDrawn;
        }
        self.release_admitted();
        let (start, len) = self.claimed_by(io);
        match self.maps[io.file.get()].claim(start, len) {
            Ok(claimed) => {
                self.admitted = Some((range, claimed));
                Admission::AsDrawn
            }
            Err(ClaimRefused::Busy(_)) => Admission::Later(Delay::Event(crate::hook::NEVER)),
            Err(refused @ ClaimRefused::Outside) => {
                let error = JobError::new(Stage::Io, None, refused.to_string());
                Admission::Fail(Box::new(error))
            }
        }
    }

    /// Start and length of what an I/O changes: a trim in a zone resets the whole zone.
    fn claimed_by(&self, io: &Io) -> (u64, u64) {
        match self.zone_sizes[io.file.get()] {
            Some(size) if io.dir == Dir::Trim => (io.offset / size * size, size),
            _ => (io.offset, u64::from(io.len)),
        }
    }

    fn release_admitted(&mut self) {
        if let Some((range, claimed)) = self.admitted.take() {
            self.maps[range.file.get()].release(claimed);
        }
    }

    /// The states of the granules of the admitted write: `after` returns them from those before it.
    pub(crate) fn after_write(
        &mut self,
        after: impl Fn(GranuleState) -> GranuleState,
    ) -> GranuleStates {
        let mut states = self.lists.pop().unwrap_or_default();
        if let Some((range, claimed)) = &self.admitted {
            states.states.extend(claimed.previous().map(after));
            if let (Some(map), Some(claimed)) = (self.own(range.file), claimed.own()) {
                map.generations_after_write(claimed, &mut states.before);
            }
        }
        states
    }

    /// Takes back a list of states, to use its memory again.
    pub(crate) fn take_back(&mut self, mut states: GranuleStates) {
        states.states.clear();
        states.before.clear();
        self.lists.push(states);
    }

    /// The admitted I/O is issued in this slot.
    pub(crate) fn write_issued(&mut self, slot: u32) {
        self.watches[slot as usize] =
            self.admitted.take().map(|(range, claimed)| (range.file, Watch::Write(claimed)));
    }

    pub(crate) fn read_issued(&mut self, slot: u32, file: FileIndex, offset: u64, len: u32) {
        let mut generations = self.counts.pop().unwrap_or_default();
        let watch = match self.exclusive.take() {
            Some((_, claimed)) => Watch::Exclusive(claimed),
            None => match self.own(file) {
                Some(map) => {
                    let before = map.snapshot(offset, u64::from(len));
                    map.generations_before(offset, u64::from(len), &mut generations);
                    Watch::Read { before, generations }
                }
                None => return,
            },
        };
        self.watches[slot as usize] = Some((file, watch));
    }

    /// A write or trim has completed. `stored`: what it leaves in its blocks. Returns the bytes of writes that a trim has
    /// discarded.
    pub(super) fn write_completed(
        &mut self,
        slot: u32,
        range: Range<u64>,
        succeeded: bool,
        stored: StoredContents<'_>,
    ) -> Bytes {
        let Some((file, Watch::Write(claimed))) = self.watches[slot as usize].take() else {
            return Bytes::ZERO;
        };
        if let Some(backlog) = &mut self.backlog {
            let is_trim = matches!(stored, StoredContents::Trimmed);
            let range = match self.zone_sizes[file.get()].filter(|_| is_trim) {
                // A trim in a zone resets the whole zone.
                Some(size) => {
                    let zone = range.start / size * size;
                    zone..zone + size
                }
                None => range,
            };
            match succeeded && !is_trim {
                true => backlog.written(file, range),
                false => backlog.changed(file, range, succeeded && self.reads_trimmed),
            }
        }
        let map = &self.maps[file.get()];
        match stored {
            _ if !succeeded => map.abandon(claimed),
            StoredContents::Data(value) => map.complete(claimed, value),
            StoredContents::Zeros | StoredContents::Trimmed => return map.trim(claimed),
        }
        Bytes::ZERO
    }

    /// A write or trim of a job that does not verify has ended.
    pub(crate) fn overwritten(&mut self, slot: u32) {
        self.write_completed(slot, 0..0, false, StoredContents::Trimmed);
    }

    /// A read has completed: returns the states of its granules. An exclusive read must be
    /// [judged](Self::judged) afterwards.
    pub(crate) fn read_states(&mut self, slot: u32, read: &Op) -> ReadStates {
        let Some((file, watch)) = &self.watches[slot as usize] else {
            return ReadStates::Changed;
        };
        let map = &self.maps[file.get()];
        let Some(own) = map.own() else { return ReadStates::Changed };
        let mut states = self.lists.pop().unwrap_or_default();
        own.generations_before(read.offset, u64::from(read.len), &mut states.before);
        match watch {
            Watch::Exclusive(claimed) => states.states.extend(claimed.previous()),
            Watch::Read { before, generations }
                if before.is_settled()
                    && own.is_unchanged(before)
                    && are_equal(generations, &states.before) =>
            {
                states.states.extend(before.states());
            }
            _ => {
                self.take_back(states);
                return ReadStates::Changed;
            }
        }
        if let Some(records) = map.records() {
            let state = recorded(records, read, &states.states);
            states.states.clear();
            states.states.push(state);
        }
        ReadStates::Known(states)
    }

    /// A read has been judged, or it failed. Returns whether a bad result is final, because no write can have
    /// interfered. Otherwise the read can be [repeated](Self::repeat).
    pub(crate) fn judged(&mut self, slot: u32) -> bool {
        match self.watches[slot as usize].take() {
            Some((file, Watch::Exclusive(claimed))) => {
                self.maps[file.get()].release(claimed);
                true
            }
            Some((_, Watch::Read { mut generations, .. })) => {
                if generations.capacity() > 0 {
                    generations.clear();
                    self.counts.push(generations);
                }
                !self.shared
            }
            _ => !self.shared,
        }
    }

    /// Whether other jobs use the files, too.
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    /// A read has met a write: reads again what is still to be read back, and keeps writes away meanwhile.
    pub(super) fn changed(&mut self, slot: u32, file: FileIndex, offset: u64, len: u32) {
        match (&mut self.backlog, self.watches[slot as usize].take()) {
            // A write of the job itself waits to be read back, too.
            (Some(backlog), Some((file, Watch::Read { before, .. })))
                if !self.shared && self.maps[file.get()].records().is_none() =>
            {
                let Some(map) = self.maps[file.get()].own() else { return };
                let now = map.snapshot(offset, u64::from(len));
                let (granule, end) = (map.granule().0, offset + u64::from(len));
                let starts = (offset / granule..).map(|index| index * granule);
                for (start, (before, now)) in starts.zip(before.states().zip(now.states())) {
                    let part = start.max(offset)..(start + granule).min(end);
                    if before == now && now != GranuleState::InFlight {
                        backlog.changed(file, part, true);
                    } else {
                        backlog.overwritten += Bytes(part.end.saturating_sub(part.start));
                    }
                }
            }
            _ => self.repeat(file, offset, len),
        }
    }

    /// Reads a range again, and keeps writes away meanwhile.
    pub(super) fn repeat(&mut self, file: FileIndex, offset: u64, len: u32) {
        self.repeats.push_back(IoRange { file, offset, len });
    }

    /// The pass over the map begins.
    pub(crate) fn begin_pass(&mut self) {
        // The run time may be over before the write that was admitted is issued.
        self.release_admitted();
        if let Some(backlog) = &mut self.backlog {
            backlog.reads_all = std::mem::take(&mut backlog.overflowed);
            if backlog.reads_all {
                // What waits is read with everything else.
                backlog.ranges.clear();
            }
        }
        self.cursor = (0, self.regions.first().map_or(0, |region| region.0));
    }

    /// A read that must be repeated, if there is one.
    pub(crate) fn next_repeat(&mut self) -> Option<MapStep> {
        let range = self.repeats.pop_front()?;
        match self.maps[range.file.get()].claim_for_read(range.offset, u64::from(range.len)) {
            Ok(claimed) => {
                self.exclusive = Some((range, claimed));
                Some(MapStep::Read(read_of(range)))
            }
            Err(ClaimRefused::Busy(_)) => {
                self.repeats.push_back(range);
                Some(MapStep::Wait)
            }
            Err(ClaimRefused::Outside) => None,
        }
    }

    /// A read of the job's own writes in a range. They begin at `from`, and the range ends at `end`.
    fn next_in(&self, file: FileIndex, from: u64, end: u64) -> Option<Io> {
        if let Some(records) = self.records(file) {
            let write = records.next(from).filter(|write| write.end <= end)?;
            let len = (write.end - write.start) as u32;
            return Some(read_of(IoRange { file, offset: write.start, len }));
        }
        let trimmed = self.reads_trimmed;
        let wanted = |state| match state {
            GranuleState::Written(_) => true,
            GranuleState::Trimmed => trimmed,
            _ => false,
        };
        let run = self.own(file)?.next_run(from, Bytes(u64::from(self.most)), wanted)?;
        let offset = run.offset.0.max(from);
        let len = (run.offset.0 + run.len.0).min(end).checked_sub(offset).filter(|len| *len > 0)?;
        Some(read_of(IoRange { file, offset, len: len.min(u64::from(self.most)) as u32 }))
    }

    /// The next read of those that must precede the reset of a zone.
    pub(crate) fn next_of_zone(&mut self, file: FileIndex, from: u64, end: u64) -> Option<Io> {
        if let Some(backlog) = &mut self.backlog {
            let unread = backlog.ranges.pop_within(file, from..end);
            if !backlog.overflowed {
                let range = unread?;
                let len = (range.end - range.start) as u32;
                return Some(read_of(IoRange { file, offset: range.start, len }));
            }
        }
        self.next_in(file, from, end)
    }

    /// Whether reads wait to be repeated.
    pub(crate) fn has_repeats(&self) -> bool {
        !self.repeats.is_empty()
    }

    /// The next step of the pass.
    pub(crate) fn next(&mut self) -> MapStep {
        let mut waits = false;
        match self.next_repeat() {
            Some(MapStep::Wait) => waits = true,
            Some(step) => return step,
            None => {}
        }
        let read = match &self.backlog {
            Some(backlog) if !backlog.reads_all => self.next_unread(),
            _ => self.next_of_map(),
        };
        match read {
            Some(read) => MapStep::Read(read),
            None if waits => MapStep::Wait,
            None => MapStep::End,
        }
    }

    /// The next read of the pass over the whole map.
    fn next_of_map(&mut self) -> Option<Io> {
        while let Some(&(start, end)) = self.regions.get(self.cursor.0) {
            let file = FileIndex::at(self.cursor.0);
            let map = self.maps[file.get()].own()?;
            let from = self.cursor.1.max(start);
            if let Some(records) = self.maps[file.get()].records() {
                if let Some(write) = records.next(from).filter(|write| write.end <= end) {
                    self.cursor.1 = write.end;
                    let len = (write.end - write.start) as u32;
                    return Some(read_of(IoRange { file, offset: write.start, len }));
                }
                self.next_file();
                continue;
            }
            let trimmed = self.reads_trimmed;
            let wanted = |state| match state {
                GranuleState::Written(_) | GranuleState::InFlight => true,
                GranuleState::Trimmed => trimmed,
                GranuleState::NeverWritten | GranuleState::Unknown => false,
            };
            match map.next_run(from, Bytes(u64::from(self.most)), wanted) {
                Some(run) if run.offset.0 < end => {
                    let stop = (run.offset.0 + run.len.0).min(end);
                    let offset = run.offset.0.max(from);
                    self.cursor.1 = stop;
                    let len = (stop - offset).min(u64::from(self.most)) as u32;
                    return Some(read_of(IoRange { file, offset, len }));
                }
                _ => self.next_file(),
            }
        }
        None
    }

    /// The pass continues with the next file.
    fn next_file(&mut self) {
        let next = self.cursor.0 + 1;
        self.cursor = (next, self.regions.get(next).map_or(0, |region| region.0));
    }

    /// Returns and forgets the bytes of writes that were overwritten before `verify_backlog` has read them back.
    pub(crate) fn take_overwritten(&mut self) -> Bytes {
        let taken = self.backlog.as_mut().map(|backlog| std::mem::take(&mut backlog.overwritten));
        taken.unwrap_or_default()
    }

    /// Number of writes that wait to be read back (`verify_backlog`).
    pub(super) fn unread(&self) -> u64 {
        self.backlog.as_ref().map_or(0, |backlog| backlog.ranges.len() as u64)
    }

    /// Whether a block waits to be read back. Without `verify_backlog`, all blocks do until the end of the loop.
    pub(crate) fn is_unread(&self, io: &Io) -> bool {
        let range = io.offset..io.offset + u64::from(io.len);
        let unread = |backlog: &UnreadWrites| backlog.ranges.overlaps(io.file, &range);
        self.backlog.as_ref().is_none_or(unread)
    }

    /// Returns the file of the next unread write.
    pub(crate) fn first_unread_file(&self) -> Option<FileIndex> {
        let repeated = self.repeats.front().map(|range| range.file);
        repeated.or_else(|| Some(self.backlog.as_ref()?.ranges.first()?.0))
    }

    /// Returns the next unread write, if one can be read now.
    pub(super) fn next_unread(&mut self) -> Option<Io> {
        self.next_unread_if(|_| true)
    }

    /// Returns the next unread write of `file`, if one can be read now.
    pub(crate) fn next_unread_of(&mut self, file: FileIndex) -> Option<Io> {
        self.next_unread_if(|next| next == file)
    }

    /// Returns the next unread write whose file is `wanted`, if one can be read now.
    fn next_unread_if(&mut self, wanted: impl Fn(FileIndex) -> bool) -> Option<Io> {
        if self.repeats.front().is_some_and(|range| wanted(range.file))
            && let Some(MapStep::Read(io)) = self.next_repeat()
        {
            return Some(io);
        }
        loop {
            let (file, range) = self.backlog.as_ref()?.ranges.first()?;
            if !wanted(file) {
                return None;
            }
            // `None`: the rest was reset, or other jobs have overwritten it.
            let next = self.next_in(file, range.start, range.end);
            let end = next.map_or(range.end, |io| io.offset + u64::from(io.len));
            self.backlog.as_mut()?.ranges.remove(file, range.start..end);
            if next.is_some() {
                return next;
            }
        }
    }

    /// Waits a moment for other jobs.
    pub(crate) fn wait(&self) {
        std::thread::sleep(POLL);
    }
}

/// Other jobs must not wait for a job that has ended.
impl Drop for TrackedMaps {
    fn drop(&mut self) {
        self.release_admitted();
        if let Some((range, claimed)) = self.exclusive.take() {
            self.maps[range.file.get()].release(claimed);
        }
        for (file, watch) in self.watches.drain(..).flatten() {
            match watch {
                Watch::Write(claimed) => self.maps[file.get()].abandon(claimed),
                Watch::Exclusive(claimed) => self.maps[file.get()].release(claimed),
                Watch::Read { .. } => {}
            }
        }
    }
}

/// Whether two lists of generations are equal. An empty list stands for zeros.
fn are_equal(one: &[u16], other: &[u16]) -> bool {
    one == other
        || (one.is_empty() || other.is_empty()) && one.iter().chain(other).all(|count| *count == 0)
}

fn read_of(range: IoRange) -> Io {
    let IoRange { file, offset, len } = range;
    Io { dir: Dir::Read, file, offset, len, attributes: IoAttributes::PLAIN }
}

/// The state of a whole read. `granules`: those of the map.
fn recorded(records: &WriteRecords, read: &Op, granules: &[GranuleState]) -> GranuleState {
    match records.value(&(read.offset..read.offset + u64::from(read.len))) {
        Some(value) => GranuleState::Written(value),
        None if granules.iter().all(|state| *state == GranuleState::NeverWritten) => {
            GranuleState::NeverWritten
        }
        None => GranuleState::Unknown,
    }
}
