//! Verification (`verify`): the job writes blocks that say what they must contain, reads them back at the end of each
//! loop, and checks them.
//!
//! | question | module |
//! |---|---|
//! | what does a write contain | `fill.rs`, `sectors.rs` (`verify=fiord`) |
//! | which blocks are read back, in which order | `pass.rs` |
//! | which write does a block contain, if blocks are written more than once | `map.rs` |
//! | what is known about a read | `known.rs` |
//! | does a block contain what was written | `check.rs`, `sectors.rs` |
//! | how much was verified | `tally.rs` |
//! | what is done about bad data: re-reads, a list of extents | `evidence.rs`, `reread.rs` |
//! | what happens if a block is bad | `policy.rs` |
//! | which state does the job save at its end | `saved.rs` |
//! | how are bad blocks saved (`verify_dump`) | `dump.rs` |

mod check;
mod dump;
mod evidence;
mod fill;
mod known;
mod map;
mod pass;
mod policy;
mod reread;
mod saved;
mod sectors;
mod tally;
#[cfg(test)]
mod tests;

use fiord_engine::Op;
use fiord_formats::verify::diagnosis::{BadExtent, Diagnosis, Promise};
use fiord_formats::verify::method::Method;
use fiord_load::verify::{GranuleState, WriteValue};
use fiord_load::{Io, any_source};
use fiord_plan::{JobPlan, Tracking, VerifyMethod, VerifyPass, VerifyPlan};
use fiord_stat::recorder::Recorder;
use fiord_types::{Bytes, Dir, Errno, FileIndex, Nanos};

use self::check::{BadContents, BadRead, IntervalChecker};
use self::evidence::BadDataEvidence;
use self::fill::JobFormat;
use self::known::KnownWrite;
use self::map::{MapStep, ReadStates, TrackedMaps};
use self::pass::{PassStep, Replay};
use self::policy::{ErrorPolicy, JudgedRead};
use self::saved::SavedState;
use self::sectors::SectorFormat;
use self::tally::Tally;
use super::super::Outside;
use super::{Admission, Completed, Disposition, Events, Extra, Hook, HookResults, IssuedIo};
use crate::error::JobError;

/// Verifies the I/Os of one job.
pub(crate) struct Verifier {
    contents: Contents,
    policy: ErrorPolicy,
    pass: VerifyPass,
    tracker: Tracker,
    tally: Tally,
    evidence: BadDataEvidence,
    saved: Option<SavedState>,
    /// Files that are open all the time.
    files: u32,
    /// Number of the next write, or of the next read of a job that only reads.
    next: u64,
    /// Number of the first write of this loop.
    loop_start: u64,
    /// Generation of the blocks that this loop writes, if it writes each of them once.
    generation: WriteValue,
    /// What is in each slot.
    slots: Vec<SlotUse>,
    /// The write that the next op reads back.
    reading: Option<u64>,
    /// Reads of the pass that are in flight.
    in_flight: u32,
    /// When the current pass began, ns.
    pass_began: Option<u64>,
    /// Files that must be flushed and dropped from the cache before the pass over the map.
    settles: std::ops::Range<u32>,
    /// Time of all passes that have ended, ns.
    read_back: u64,
    /// When the last read of a pass completed, ns.
    last_end: u64,
    /// When the first write was filled, in seconds of the engine's clock.
    began: Option<u32>,
}

/// What writes contain.
enum Contents {
    /// fio's formats.
    Intervals(JobFormat, Box<IntervalChecker>),
    /// `verify=fiord`.
    Sectors(SectorFormat),
}

/// How the job knows which write a block contains.
enum Tracker {
    /// It knows nothing.
    None,
    /// It repeats its writes in their order.
    Replay(Box<Replay>),
    /// A map says so.
    Map(Box<TrackedMaps>),
}

/// What a slot is used for.
#[derive(Debug, Clone, Copy, Default)]
struct SlotUse {
    /// The number of the write in it, or of the write that it reads back.
    number: Option<u64>,
    generation: u16,
}

impl Verifier {
    /// Whether the writes of a job get their bytes from this hook.
    pub(crate) fn fills(job: &JobPlan) -> bool {
        job.verify.as_ref().is_some_and(VerifyPlan::fills)
    }

    /// The hook of a job; `None` if the job verifies nothing.
    pub(crate) fn of(job: &JobPlan, outside: &Outside) -> Result<Option<Self>, JobError> {
        let Some(plan) = &job.verify else { return Ok(None) };
        let contents = match plan.method {
            VerifyMethod::Fio(method) => {
                let format = JobFormat::of(job, plan, method)?;
                let seed = plan.checks_seed && format.pattern.is_none();
                let checker = IntervalChecker::new(format.clone(), seed, plan.checks_number);
                Contents::Intervals(format, Box::new(checker))
            }
            VerifyMethod::Fiord => Contents::Sectors(SectorFormat::of(job, plan)?),
        };
        let files = u32::try_from(job.target.files.len()).unwrap_or(u32::MAX);
        let stay_open = job.target.open_files >= files;
        Ok(Some(Verifier {
            policy: ErrorPolicy::of(job, plan, outside),
            evidence: BadDataEvidence::of(job, outside)?,
            pass: plan.pass,
            tracker: tracker(job, plan, outside)?,
            saved: SavedState::of(job, plan),
            tally: Tally::new(match contents.fills() {
                true => plan.pass,
                false => VerifyPass::WritesOnly,
            }),
            files: if stay_open { files } else { 0 },
            next: 0,
            loop_start: 0,
            generation: WriteValue::of_generation(0),
            slots: vec![SlotUse::default(); job.depth.depth.max(1) as usize],
            reading: None,
            in_flight: 0,
            pass_began: None,
            settles: 0..0,
            read_back: 0,
            last_end: 0,
            began: None,
            contents,
        }))
    }

    /// The number and generation of an op that was just issued.
    fn use_of(&mut self, io: &IssuedIo) -> SlotUse {
        let generation = sectors::number_of(self.generation);
        let number = match (io.dir, io.extra) {
            (Dir::Read, true) => self.reading.take(),
            (Dir::Read, false) if self.pass != VerifyPass::Reads => None,
            (Dir::Read | Dir::Write, _) => {
                self.next += 1;
                Some(self.next - 1)
            }
            (Dir::Trim, _) => None,
        };
        SlotUse { number, generation }
    }

    fn slot(&self, slot: u32) -> SlotUse {
        self.slots.get(slot as usize).copied().unwrap_or_default()
    }

    /// Ends the pass over a loop.
    fn end_pass(&mut self, now: u64) {
        if let Some(began) = self.pass_began.take() {
            self.read_back += now.saturating_sub(began);
        }
        self.loop_start = self.next;
        self.generation = self.generation.next();
        self.tally.pass_ended();
    }

    /// The next op of the pass. `None`: not now, or never.
    fn next_of_pass(&mut self, now: u64, ending: bool) -> Option<Extra> {
        let idle = self.in_flight == 0;
        let step = match &mut self.tracker {
            Tracker::None => return None,
            Tracker::Replay(replay) => {
                let all = self.pass == VerifyPass::Only;
                replay.next(if all { u64::MAX } else { self.next }, idle)?
            }
            Tracker::Map(maps) => match self.settles.next() {
                Some(file) => PassStep::Control(Extra::Settle(FileIndex(file))),
                None => match maps.next() {
                    MapStep::Read(io) => PassStep::Read(io, None),
                    MapStep::Wait if idle => PassStep::Control(Extra::Wait),
                    MapStep::Wait => return None,
                    MapStep::End if idle => PassStep::End,
                    MapStep::End => return None,
                },
            },
        };
        match step {
            PassStep::Read(io, number) => {
                self.reading = number;
                Some(Extra::Io(io))
            }
            PassStep::Control(control) => Some(control),
            PassStep::End => {
                if ending {
                    self.end_pass(now);
                }
                None
            }
        }
    }

    /// A read that must be repeated because other jobs wrote at the same time.
    fn next_repeat(&mut self, ending: bool) -> Option<Extra> {
        let Tracker::Map(maps) = &mut self.tracker else { return None };
        match maps.next_repeat()? {
            MapStep::Read(io) => Some(Extra::Io(io)),
            MapStep::Wait if ending => Some(Extra::Wait),
            MapStep::Wait | MapStep::End => None,
        }
    }

    /// Checks the bytes of a read that succeeded.
    fn judge(&mut self, io: &IssuedIo, data: &[u8]) -> Disposition {
        let read = JudgedRead { op: whole(&io.op), data };
        let SlotUse { number, generation } = self.slot(io.slot);
        let states;
        let known = match &mut self.tracker {
            Tracker::Map(maps) => match maps.read_states(io.slot) {
                ReadStates::Known(list) => {
                    states = list;
                    let unwritten = |state: &GranuleState| *state == GranuleState::NeverWritten;
                    if self.pass == VerifyPass::Reads && states.iter().all(unwritten) {
                        KnownWrite::Nothing
                    } else {
                        let granule = maps.granule(read.op.file);
                        KnownWrite::States { granule, states: &states }
                    }
                }
                ReadStates::Changed => {
                    maps.judged(io.slot);
                    maps.repeat(read.op.file, read.op.offset, read.op.len);
                    return Disposition::Release;
                }
            },
            _ => match number {
                // What an earlier run wrote has its generation.
                Some(number) if self.contents.knows(self.pass) => {
                    KnownWrite::Write { number, generation }
                }
                _ => KnownWrite::Nothing,
            },
        };
        let mut bad = Vec::new();
        let fatal = self.policy.is_fatal();
        let checked = self.contents.check(&read, &known, &mut |one| {
            bad.push(one);
            !fatal
        });
        let is_final = match &mut self.tracker {
            Tracker::Map(maps) => maps.judged(io.slot),
            _ => true,
        };
        let Some(first) = bad.first() else {
            self.tally.verified(checked);
            return Disposition::Release;
        };
        if !is_final && let Tracker::Map(maps) = &mut self.tracker {
            maps.repeat(read.op.file, read.op.offset, read.op.len);
            return Disposition::Release;
        }
        self.tally.verified(checked);
        let mut extents = self.contents.diagnose(&read, &known, self.began, &bad);
        if self.pass == VerifyPass::AfterWrites {
            // The pass flushes each file before it reads it.
            extents.iter_mut().for_each(|extent| extent.promise(Promise::Flushed));
        }
        for one in &bad {
            let expected = match &self.contents {
                Contents::Intervals(format, _)
                    if self.policy.dumps() && one.has_intact_header() =>
                {
                    let mut expected = data.to_vec();
                    format.restore(read.op.offset, &mut expected, number);
                    Some(expected)
                }
                _ => None,
            };
            self.policy.report(read, one, &extents, expected.as_deref());
        }
        self.keep_evidence(&read, &known, extents);
        self.policy.consequence(read, first)
    }

    /// Reads bad data again, and adds its extents to the results.
    fn keep_evidence(
        &mut self,
        read: &JudgedRead<'_>,
        known: &KnownWrite<'_>,
        extents: Vec<BadExtent>,
    ) {
        // Writes of other jobs could interfere with further reads.
        let alone = !matches!(&self.tracker, Tracker::Map(maps) if maps.is_shared());
        let contents = &mut self.contents;
        let mut right = |again: &[u8]| {
            let mut right = true;
            let again = JudgedRead { op: read.op, data: again };
            contents.check(&again, known, &mut |_| {
                right = false;
                false
            });
            right
        };
        let place = (read.offset(), Bytes(read.data.len() as u64));
        let reread = match alone {
            true => self.evidence.reread(read.op.file, place, read.data, &mut right),
            false => None,
        };
        for extent in extents {
            let complete = self.tally.bad(self.policy.path(read.op.file), extent, reread);
            self.evidence.list(complete);
        }
    }

    /// A read that was to be checked failed.
    fn unreadable(&mut self, io: &IssuedIo, errno: Errno) {
        let op = whole(&io.op);
        let (start, length) = (Bytes(op.offset), Bytes(u64::from(op.len)));
        self.tally.verified(length.0);
        // What the block contains is not known, so a read that succeeds counts as right.
        let reread = self.evidence.reread(op.file, (start, length), &[], &mut |_| true);
        let extent = BadExtent { start, length, diagnosis: Diagnosis::ReadError { errno } };
        let complete = self.tally.bad(self.policy.path(op.file), extent, reread);
        self.evidence.list(complete);
    }
}

/// The op from its start, even after a short transfer.
fn whole(op: &Op) -> Op {
    Op { offset: op.offset - u64::from(op.at), len: op.len + op.at, at: 0, ..*op }
}

fn tracker(job: &JobPlan, plan: &VerifyPlan, outside: &Outside) -> Result<Tracker, JobError> {
    let replay = |settles| Ok(Tracker::Replay(Box::new(Replay::new(any_source(job)?, settles))));
    match (plan.pass, plan.tracking) {
        // The order of the writes is repeated without them.
        (VerifyPass::Only, _) => replay(false),
        (VerifyPass::AfterWrites, Tracking::Replay) => replay(true),
        (_, Tracking::Map { granule }) => {
            Ok(Tracker::Map(Box::new(TrackedMaps::of(job, outside.maps, granule)?)))
        }
        _ => Ok(Tracker::None),
    }
}

impl Contents {
    /// Whether a block that a source repeats can be told from other writes.
    fn knows(&self, pass: VerifyPass) -> bool {
        match self {
            Contents::Intervals(..) => true,
            Contents::Sectors(_) => pass == VerifyPass::AfterWrites,
        }
    }

    fn fills(&self) -> bool {
        !matches!(self, Contents::Intervals(format, _) if format.method == Method::Null)
    }

    /// The value in the map of a granule that the write with this number has written.
    fn value(&self, number: u64, before: GranuleState) -> WriteValue {
        match (self, before) {
            (Contents::Intervals(format, _), _) => {
                WriteValue::of_number(number, u32::from(format.thread()))
            }
            (Contents::Sectors(_), GranuleState::Written(value)) => value.next(),
            (Contents::Sectors(_), GranuleState::Unknown) => WriteValue::of_number(number, 0),
            (Contents::Sectors(_), _) => WriteValue::of_generation(0),
        }
    }

    fn check(
        &mut self,
        read: &JudgedRead<'_>,
        known: &KnownWrite<'_>,
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> u64 {
        match self {
            Contents::Intervals(_, checker) => checker.check(read.op.offset, read.data, known, bad),
            Contents::Sectors(format) => {
                format.check(read.op.file, read.op.offset, read.data, known, bad)
            }
        }
    }

    /// Says what is wrong with a read that has bad intervals.
    fn diagnose(
        &self,
        read: &JudgedRead<'_>,
        known: &KnownWrite<'_>,
        began: Option<u32>,
        bad: &[BadRead],
    ) -> Vec<BadExtent> {
        match self {
            Contents::Intervals(_, checker) => {
                checker.diagnose(read.op.offset, read.data, known, began)
            }
            Contents::Sectors(_) => {
                let extents = bad.iter().filter_map(|one| match &one.difference {
                    BadContents::Sectors(extent) => Some(extent.clone()),
                    _ => None,
                });
                extents.collect()
            }
        }
    }
}

/// The last extent is complete when the job ends.
impl Drop for Verifier {
    fn drop(&mut self) {
        let last = self.tally.finish();
        self.evidence.list(last);
    }
}

impl Hook for Verifier {
    fn events(&self) -> Events {
        let fills = self.contents.fills() && self.pass != VerifyPass::Reads;
        let map = matches!(self.tracker, Tracker::Map(_));
        let reads_back = self.pass.reads_back() || (map && self.pass == VerifyPass::Reads);
        Events::FILL.only_if(fills)
            | Events::EXTRA.only_if(reads_back)
            | Events::ADMIT.only_if(map)
            | Events::ISSUED
            | Events::COMPLETED
            | Events::DATA.only_if(self.pass != VerifyPass::WritesOnly)
    }

    fn extra(&mut self, now: u64, ending: bool) -> Option<Extra> {
        if self.pass == VerifyPass::Reads {
            return self.next_repeat(ending);
        }
        if self.pass_began.is_none() {
            let unwritten = self.next == self.loop_start && self.pass != VerifyPass::Only;
            if !ending || unwritten {
                return None;
            }
            self.pass_began = Some(now);
            match &mut self.tracker {
                Tracker::None => {}
                Tracker::Replay(replay) => replay.begin(self.files),
                Tracker::Map(maps) => {
                    maps.begin_pass();
                    self.settles = 0..self.files;
                }
            }
        }
        self.next_of_pass(now, ending)
    }

    fn admit(&mut self, io: &mut Io) -> Admission {
        match &mut self.tracker {
            Tracker::Map(maps) if io.dir != Dir::Read => maps.admit(io),
            _ => Admission::AsDrawn,
        }
    }

    fn fill(&mut self, io: &Io, data: &mut [u8], now: u64) {
        self.began.get_or_insert((now / 1_000_000_000) as u32);
        let number = self.next;
        match &self.contents {
            Contents::Intervals(format, _) => format.fill(number, io.offset, data, now),
            Contents::Sectors(format) => {
                let states;
                let known = match &self.tracker {
                    Tracker::Map(maps) => {
                        let next =
                            |state| GranuleState::Written(self.contents.value(number, state));
                        states = maps.before_write().into_iter().map(next).collect::<Vec<_>>();
                        KnownWrite::States { granule: maps.granule(io.file), states: &states }
                    }
                    _ => {
                        let generation = sectors::number_of(self.generation);
                        KnownWrite::Write { number, generation }
                    }
                };
                format.fill(io.file, number, io.offset, data, &known);
            }
        }
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        let used = self.use_of(io);
        self.in_flight += u32::from(io.extra);
        if let Some(at) = self.slots.get_mut(io.slot as usize) {
            *at = used;
        }
        if let Tracker::Map(maps) = &mut self.tracker {
            match io.dir {
                Dir::Read => maps.read_issued(io.slot, io.op.file, io.op.offset, io.op.len),
                Dir::Write | Dir::Trim => maps.write_issued(io.slot),
            }
        }
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if io.extra {
            self.in_flight -= 1;
            self.last_end = end.end;
        }
        let bytes = u64::from(io.op.len) + u64::from(io.op.at);
        match io.dir {
            Dir::Read if !end.succeeded || !(io.extra || self.pass == VerifyPass::Reads) => {
                if let Tracker::Map(maps) = &mut self.tracker {
                    maps.judged(io.slot);
                }
                let checked = io.extra || self.pass == VerifyPass::Reads;
                if let (true, Err(errno)) = (checked, end.outcome.get()) {
                    self.unreadable(io, errno);
                }
                Disposition::Release
            }
            Dir::Read => self.judge(io, data),
            Dir::Write => {
                let number = self.slot(io.slot).number.unwrap_or(0);
                self.tally.written(bytes, end.succeeded);
                if !end.succeeded
                    && let Some(saved) = &mut self.saved
                {
                    saved.failed(number);
                }
                match &mut self.tracker {
                    Tracker::None => {}
                    Tracker::Replay(replay) if !end.succeeded => replay.failed(number),
                    Tracker::Replay(_) => {}
                    Tracker::Map(maps) => {
                        let value = |before| self.contents.value(number, before);
                        maps.write_completed(io.slot, end.succeeded, Some(&value));
                    }
                }
                Disposition::Release
            }
            Dir::Trim => {
                if let Tracker::Map(maps) = &mut self.tracker {
                    maps.write_completed(io.slot, end.succeeded, None);
                }
                Disposition::Release
            }
        }
    }

    fn wait(&mut self) {
        if let Tracker::Map(maps) = &self.tracker {
            maps.wait();
        }
    }

    fn restart(&mut self, now: u64) {
        self.read_back = 0;
        self.tally.restart();
        if let Some(began) = &mut self.pass_began {
            *began = now;
        }
    }

    fn add_results(&self, results: &mut HookResults) {
        let current = self.pass_began.map_or(0, |began| self.last_end.saturating_sub(began));
        results.read_back = Nanos(self.read_back + current);
        results.verify = Some(self.tally.results());
        results.verify_state = self.saved.as_ref().map(|saved| saved.at(self.next));
    }
}
