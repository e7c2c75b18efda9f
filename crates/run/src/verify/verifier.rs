//! The hook of jobs with `verify`: hands each step of an I/O to the rooms.

use std::rc::Rc;

use fiord_engine::{HeldSlot, Op};
use fiord_load::Io;
use fiord_load::verify::GranuleState;
use fiord_plan::{JobPlan, VerifyPass, VerifyPlan, WriteCommand};
use fiord_stat::live::ReadBackProgress;
use fiord_stat::recorder::Recorder;
use fiord_types::{Bytes, Dir, FileIndex};

use super::contents::{Contents, JudgedRead, KnownWrite, StoredContents};
use super::judge::{CheckerThreads, Judge, WaitingRead};
use super::pass::{PassDriver, TrimQueue, ZoneReads};
use super::save::SavedState;
use super::services::VerifyServices;
use super::track::{ReadStates, SlotUse, TrackedMaps, Tracker, WriteNumbers, ZoneWalk};
use crate::error::JobError;
use crate::hook::{
    Admission, Completed, Disposition, Events, Extra, Hook, HookResults, IssuedIo, ReleasedSlot,
};
use crate::maps::TargetMaps;
use crate::zones::{Placer, ReadBack};

/// Verifies the I/Os of one job.
pub(crate) struct Verifier {
    pass: VerifyPass,
    numbers: WriteNumbers,
    tracker: Tracker,
    driver: PassDriver,
    judge: Judge,
    /// `verify_async`.
    threads: Option<CheckerThreads>,
    /// What is known about the read whose slot is held next.
    to_hold: Option<WaitingRead>,
    saved: Option<SavedState>,
    trims: Option<TrimQueue>,
    /// What other jobs overwrite of the data of an earlier run.
    overwritten: Option<Box<TrackedMaps>>,
    /// `verify_mode=compare`: the device compares what the job reads back.
    compares: bool,
}

impl Verifier {
    /// Whether the writes of a job get their bytes from this hook.
    pub(crate) fn fills(job: &JobPlan) -> bool {
        job.verify.as_ref().is_some_and(VerifyPlan::fills)
    }

    /// The hook of a job; `None` if the job verifies nothing.
    pub(crate) fn of(
        job: &JobPlan,
        services: &VerifyServices,
    ) -> Result<Option<Box<Self>>, JobError> {
        job.verify.as_ref().map(|plan| Self::of_plan(job, plan, services)).transpose()
    }

    /// Not inlined: only jobs that verify need its stack.
    #[inline(never)]
    fn of_plan(
        job: &JobPlan,
        plan: &VerifyPlan,
        services: &VerifyServices,
    ) -> Result<Box<Self>, JobError> {
        let judge = Judge::of(job, plan, services)?;
        Ok(Box::new(Verifier {
            pass: plan.pass,
            threads: CheckerThreads::start(job, plan, &judge.contents)?,
            to_hold: None,
            numbers: WriteNumbers::new(job.slots(), plan.pass == VerifyPass::Reads),
            judge,
            tracker: Tracker::of(job, plan, services.maps)?,
            driver: PassDriver::of(job, plan),
            saved: SavedState::of(job, plan, services.triggers, services.writes)?,
            trims: TrimQueue::of(job, plan),
            overwritten: match plan.overwritten {
                Some(_) => Some(Box::new(TrackedMaps::of(job, services.maps, None)?)),
                None => None,
            },
            compares: plan.compares_on_device && plan.pass != VerifyPass::Reads,
        }))
    }

    /// Connects the verification of a job on zones with its placer.
    pub(crate) fn join_zones(
        &mut self,
        job: &JobPlan,
        placer: &mut Placer,
        maps: Vec<TargetMaps>,
    ) -> Result<(), JobError> {
        if let Tracker::Zones(walk) = &mut self.tracker {
            *walk = ZoneWalk::new(job, placer.data());
        }
        let shared = self.tracker.is_shared();
        let reads = self.pass == VerifyPass::AfterWrites;
        let reads = reads.then(|| Rc::new(ReadBack::new(shared)));
        self.driver.zone_reads = reads.clone().map(ZoneReads::new);
        placer.verify(job, maps, (reads, !shared))
    }

    /// Whether an I/O is read in order to be checked.
    fn checks(&self, io: &IssuedIo) -> bool {
        io.extra || self.pass == VerifyPass::Reads
    }

    fn read_completed(&mut self, io: &IssuedIo, data: &[u8], end: &Completed) -> Disposition {
        let op = whole(&io.op);
        if self.is_overwritten(io, &op) {
            self.judge.tally.overwritten(Bytes(u64::from(op.len)));
            return Disposition::Release;
        }
        if end.succeeded && self.checks(io) {
            let used =
                if self.judge.knows() { self.numbers.of(io.slot) } else { SlotUse::default() };
            let Some(knowledge) = self.tracker.knowledge(io.slot, &op, used, self.pass) else {
                return Disposition::Release;
            };
            let is_final = self.tracker.judged(io.slot);
            let is_flushed = self.driver.has_flushed();
            let wait = WaitingRead { op, knowledge, is_final, is_flushed, end: end.end };
            if let Some(threads) = &mut self.threads
                && threads.can_take(op.len, end.end)
            {
                self.to_hold = Some(wait);
                return Disposition::Hold;
            }
            let read = JudgedRead { op, data };
            let disposition = self.judge.judge(&mut self.tracker, &read, &wait);
            self.tracker.take_back(wait.knowledge);
            return disposition;
        }
        self.tracker.judged(io.slot);
        if let (true, Err(errno)) = (self.checks(io), end.outcome.get()) {
            self.judge.unreadable(&op, errno);
        }
        Disposition::Release
    }

    /// The next trim, or the control that opens its file. `None`: not now.
    fn next_trim(&mut self) -> Option<Extra> {
        let (Some(trims), Tracker::Map(maps)) = (&mut self.trims, &mut self.tracker) else {
            return None;
        };
        let file = trims.due_file(maps)?;
        match self.driver.enter(file) {
            Ok(()) => trims.next(maps).map(Extra::Io),
            Err(control) => control,
        }
    }

    /// Whether another job may have changed the data of an earlier run before or during a read of it.
    fn is_overwritten(&mut self, io: &IssuedIo, read: &Op) -> bool {
        let Some(maps) = self.overwritten.as_mut().filter(|_| io.extra) else { return false };
        let unchanged = match maps.read_states(io.slot, read) {
            ReadStates::Known(known) => {
                let never = |state: &GranuleState| *state == GranuleState::NeverWritten;
                let unchanged = known.states.iter().all(never);
                maps.take_back(known);
                unchanged
            }
            ReadStates::Changed => false,
        };
        maps.judged(io.slot);
        !unchanged
    }

    /// A write or trim has completed.
    fn write_completed(&mut self, io: &IssuedIo, succeeded: bool) {
        let number = self.numbers.of(io.slot).number().unwrap_or(0);
        self.numbers.write_ended(io.slot);
        if io.dir == Dir::Write {
            self.judge.tally.written(u64::from(whole(&io.op).len), succeeded);
            if let Some(saved) = &self.saved {
                saved.write_ended(io, number, succeeded);
            }
        }
        let contents = &self.judge.contents;
        let value = |before| contents.value(number, before);
        let stored = match (io.dir, io.op.attributes.command) {
            (Dir::Trim, _) => StoredContents::Trimmed,
            (_, WriteCommand::Zeroes) => StoredContents::Zeros,
            _ => StoredContents::Data(&value),
        };
        let trimmed = self.tracker.write_completed(io, succeeded, number, stored);
        self.judge.trimmed(trimmed);
        if let Tracker::Map(maps) = &mut self.tracker {
            self.judge.tally.overwritten_in_run(maps.take_overwritten());
        }
        if let Some(trims) = &mut self.trims
            && io.dir == Dir::Write
            && succeeded
        {
            trims.written(number, &whole(&io.op));
        }
    }
}

/// The op from its start, even after a short transfer.
fn whole(op: &Op) -> Op {
    Op { offset: op.offset - u64::from(op.at), len: op.len + op.at, at: 0, ..*op }
}

impl Hook for Verifier {
    fn read_back(&self) -> Option<ReadBackProgress> {
        let (done, total) = self.judge.tally.read_back()?;
        let elapsed = self.driver.time_of_pass()?;
        Some(ReadBackProgress { done, total, elapsed })
    }

    fn events(&self) -> Events {
        let fills = self.judge.contents.fills() && self.pass != VerifyPass::Reads;
        let map = self.tracker.has_map();
        let reads_back = self.pass.reads_back() || (map && self.pass == VerifyPass::Reads);
        Events::FILL.only_if(fills)
            | Events::EXTRA.only_if(reads_back || self.trims.is_some())
            | Events::ADMIT.only_if(map)
            | Events::ISSUED
            | Events::COMPLETED
            | Events::FLUSHES.only_if(self.saved.as_ref().is_some_and(SavedState::follows_flushes))
            | Events::DATA.only_if(self.pass != VerifyPass::WritesOnly)
    }

    fn extra(&mut self, now: u64, ending: bool) -> Option<Extra> {
        if ending
            && !self.driver.is_reading()
            && let Some(trim) = self.next_trim()
        {
            return Some(trim);
        }
        let Verifier { tracker, numbers, judge, .. } = self;
        let mut next = self.driver.next((tracker, numbers, &mut judge.tally), now, ending);
        if self.compares
            && let Some(Extra::Io(io)) = &mut next
        {
            io.attributes.command = WriteCommand::Compare;
        }
        // As in fio, a batch of `verify_backlog` comes before the trims.
        if next.is_none() && !ending {
            let trim = self.next_trim();
            if trim.is_none() {
                self.driver.job_continues();
            }
            return trim;
        }
        if let Some(trims) = &mut self.trims
            && ending
            && next.is_none()
        {
            trims.end_loop();
        }
        next
    }

    fn admit(&mut self, io: &mut Io) -> Admission {
        self.tracker.admit(io)
    }

    fn fill(&mut self, io: &Io, data: &mut [u8], now: u64) {
        self.judge.filled(now);
        if io.attributes.command == WriteCommand::Zeroes {
            return;
        }
        let number = self.numbers.issued_writes();
        let place = (io.file, io.offset);
        let contents = &mut self.judge.contents;
        if let Contents::Intervals(format, _) = contents {
            return format.fill(number, io.offset, data, now);
        }
        if let Tracker::Map(maps) = &mut self.tracker {
            let next = |state| GranuleState::Written(contents.value(number, state));
            let states = maps.after_write(next);
            let granule = maps.granule(io.file);
            contents.fill(number, place, data, now, &states.known(granule));
            maps.take_back(states);
            return;
        }
        let known = KnownWrite::Write { number, generation: self.numbers.generation() };
        contents.fill(number, place, data, now, &known);
    }

    fn issued(&mut self, io: &mut IssuedIo, data: &mut [u8]) {
        if io.flush {
            if let Some(saved) = &mut self.saved {
                saved.flush_issued(io, self.numbers.oldest_in_flight());
            }
            return;
        }
        if io.dir == Dir::Write
            && let Some(saved) = &mut self.saved
        {
            saved.write_issued(io, self.numbers.issued_writes());
        }
        self.numbers.issued(io);
        if io.extra && self.compares {
            self.judge.contents.expect(io.op.offset, data);
        }
        if io.extra {
            self.driver.extra_issued(io.dir);
        }
        if let Some(maps) = self.overwritten.as_mut().filter(|_| io.extra) {
            maps.read_issued(io.slot, io.op.file, io.op.offset, io.op.len);
        }
        self.tracker.issued(io);
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if io.flush {
            if let Some(saved) = &mut self.saved {
                saved.flush_completed(io, end.succeeded);
            }
            return Disposition::Release;
        }
        if io.extra {
            self.driver.read_completed(end.end);
        }
        match io.dir {
            Dir::Read => self.read_completed(io, data, end),
            Dir::Write | Dir::Trim => {
                self.write_completed(io, end.succeeded);
                Disposition::Release
            }
        }
    }

    fn hold(&mut self, slot: HeldSlot) {
        if let (Some(threads), Some(wait)) = (&mut self.threads, self.to_hold.take()) {
            threads.take(slot, wait);
        }
    }

    fn released(&mut self) -> Option<ReleasedSlot> {
        let held = self.threads.as_mut()?.next_checked()?;
        let verdict = self.judge.judge_held(&mut self.tracker, &held);
        self.tracker.take_back(held.wait.knowledge);
        Some(ReleasedSlot { slot: held.slot.release(), verdict })
    }

    fn flushed(&mut self, file: FileIndex) {
        if let Some(saved) = &mut self.saved {
            saved.flushed(file);
        }
    }

    fn wait(&mut self) {
        match &mut self.threads {
            Some(threads) if threads.has_unchecked() => threads.wait(&mut self.judge.contents),
            _ => self.tracker.wait(),
        }
    }

    fn restart(&mut self, now: u64) {
        self.judge.tally.restart();
        self.driver.restart(now);
    }

    fn add_results(&self, results: &mut HookResults) {
        results.read_back = self.driver.read_back();
        results.reads_between = self.driver.has_read_between();
        results.report.verify = Some(self.judge.tally.results());
        results.verify_state = self.saved.as_ref().and_then(SavedState::at_end);
    }
}
