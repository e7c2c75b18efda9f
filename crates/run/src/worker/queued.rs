//! The loop of engines with many I/Os in flight.
//!
//! Each round fills the free slots, takes one issue stamp, submits and waits in one system call,
//! takes one completion stamp and records what came back. An explicit `iodepth_batch*` or
//! `iodepth_low` is honoured to the letter: I/Os are then submitted and taken back in groups of that
//! size, and queueing resumes only when few enough are left.

use fiord_engine::{Engine, Op, OpKind, Outcome, Queued, Slot, Time, Want};
use fiord_load::{Dir, Next, Source};
use fiord_stat::recorder::{self, Times, axes};
use fiord_stat::shares::Part;

use super::ops::{direction, op_of, op_of_flush, recorded};
use super::pacing::PACED;
use super::session::{Fill, Session};
use super::shares::SAMPLED;
use super::slots::{Batching, InFlight, NO_RUNS, Run, Runs, Slots};
use super::zoned::{Step, ZONED};
use crate::error::JobError;

/// How filling ended.
#[derive(PartialEq, Eq)]
enum Filled {
    /// Every slot is in use, or the engine takes no more, or what is next must wait for others.
    Wait,
    /// The work is done.
    End,
    /// The job is to stop.
    Stop,
    /// I/Os ended as they were queued, and it is time to look around.
    Look,
}

/// Where the loop is.
struct Course {
    slots: Slots,
    batching: Batching,
    /// What the source said and could not be done yet.
    held: Option<Next>,
    now: u64,
    /// Nothing more is issued; what is in flight is waited for.
    ended: bool,
}

impl<E: Engine, S: Source, C: Fill> Session<'_, E, S, C> {
    /// Runs to the end of the work, the run time or the first error. `A` is a set of [`axes`].
    pub fn run_queued<const A: u32>(&mut self) {
        let mut course = Course {
            slots: Slots::new(self.job.depth.depth.max(1)),
            batching: Batching::of(&self.job.depth),
            held: None,
            now: self.clock.now(),
            ended: false,
        };
        while self.round::<A>(&mut course) {
            course.ended |= self.error.is_some()
                || (self.due(course.now) && !self.look_queued::<A>(&mut course));
        }
    }

    /// Fills the free slots, hands them over, waits, takes back. False when the job is over.
    #[inline(always)]
    fn round<const A: u32>(&mut self, course: &mut Course) -> bool {
        let Course { slots, batching, held, now, ended } = course;
        if !*ended {
            let filled = self.fill::<A>(slots, batching, held, now);
            if filled != Filled::Wait {
                if filled == Filled::Look {
                    return true;
                }
                *ended = true;
            }
        }
        let pending = slots.in_flight();
        if pending == 0 {
            if !*ended && A & ZONED != 0 && std::mem::take(&mut self.blocked) {
                *ended = !self.wait_for_zone(now);
            } else if A & PACED != 0 && !*ended && !self.wait(now) {
                *ended = true;
            }
            self.lap::<A>(Part::Waiting);
            return !*ended;
        }
        let all = *ended || self.must_drain(held.as_ref());
        // One at a time when all must come back: what has completed is not to wait for the rest.
        let min = if all { 1 } else { batching.min.min(pending) };
        let want = Want { min, max: batching.max, timeout: None };
        let mut bounded = want;
        if A & PACED != 0 && !*ended && !self.bound(&mut bounded) {
            *now = self.clock.now();
            self.lap::<A>(Part::Waiting);
            return true;
        }
        if !self.turn::<A>(slots, bounded, now) {
            return false;
        }
        while slots.in_flight() > batching.low && !all && batching.comes_down(pending) {
            let want = batching.down(slots.in_flight());
            if !self.turn::<A>(slots, want, now) {
                return false;
            }
        }
        true
    }

    /// Looks around, then takes a burst of samples. False when the job is to issue no more.
    #[cold]
    #[inline(never)]
    fn look_queued<const A: u32>(&mut self, course: &mut Course) -> bool {
        if !self.look(course.now) {
            return false;
        }
        if course.ended || !self.shares.begin(course.now) {
            return true;
        }
        let mut more = true;
        while more && !course.ended && !self.hurried(course.now) {
            let before = self.completed();
            course.now = self.clock.now();
            self.shares.start(course.now);
            let goes_on = if const { A & ZONED != 0 } {
                self.round::<{ axes::DYNAMIC | PACED | ZONED | SAMPLED }>(course)
            } else if const { A & PACED != 0 } {
                self.round::<{ axes::DYNAMIC | PACED | SAMPLED }>(course)
            } else {
                self.round::<{ axes::DYNAMIC | SAMPLED }>(course)
            };
            if !goes_on || self.error.is_some() {
                return false;
            }
            more = self.sampled(before);
        }
        // What ended the burst may be something to look at.
        !self.due(course.now) || self.look(course.now)
    }

    /// Whether what is next must wait until nothing is in flight.
    fn must_drain(&self, held: Option<&Next>) -> bool {
        matches!(held, Some(Next::Flush(.., true) | Next::Close(_) | Next::Again(_) | Next::End))
    }

    /// Queues I/Os until no slot is free, or what is next must wait.
    #[inline]
    fn fill<const A: u32>(
        &mut self,
        slots: &mut Slots,
        batching: &Batching,
        held: &mut Option<Next>,
        last: &mut u64,
    ) -> Filled {
        // By value: a variable whose address is given away is not kept in a register.
        let mut now = *last;
        if A & PACED != 0 {
            self.pacing.wake = u64::MAX;
        }
        while let Some(&slot) = slots.free.last() {
            if A & PACED != 0 && !self.gate(&mut now, slots.in_flight()) {
                return Filled::Wait;
            }
            let next = match held.take() {
                Some(next) => next,
                None if A & PACED != 0 => match self.pacing.choose(now) {
                    Some(dir) => self.source.next_of(dir),
                    None => self.source.next(),
                },
                None => self.source.next(),
            };
            let op = match next {
                Next::Io(drawn) => {
                    if A & PACED != 0 && !self.pacing.is_due(drawn.dir, now) {
                        *held = Some(next);
                        return Filled::Wait;
                    }
                    let io = if A & ZONED != 0 {
                        match self.place(&drawn) {
                            Step::Go(io) => io,
                            Step::Another => continue,
                            Step::Write => {
                                *held = Some(self.source.next_of(Dir::Write));
                                continue;
                            }
                            Step::Wait => {
                                *held = Some(next);
                                self.blocked = true;
                                return Filled::Wait;
                            }
                            Step::Stop => return Filled::Stop,
                        }
                    } else {
                        drawn
                    };
                    let op = op_of(&io);
                    if A & axes::DYNAMIC != 0
                        && self.job.load.serialize_overlap
                        // Not by reference: an op whose address is given away is made in memory, and
                        // the copy of it waits for that.
                        && slots.overlaps(op.file, op.offset, op.len)
                    {
                        *held = Some(next);
                        return Filled::Wait;
                    }
                    self.lap::<A>(Part::Rest);
                    if C::WRITES
                        && io.dir == Dir::Write
                        && self.content.fill(&mut self.engine.buffer(slot)[..io.len as usize], &io)
                    {
                        self.lap::<A>(Part::Contents);
                        // It may end as it is queued; else it begins with those it goes with.
                        if A & SAMPLED != 0 {
                            now = self.shares.mark();
                        } else if A & axes::DYNAMIC != 0 {
                            now = self.stamp_queued::<A>(now);
                        }
                        if A & PACED == 0 {
                            slots.filled = true;
                        }
                    }
                    op
                }
                aside => match self.aside_queued(aside, slots) {
                    Aside::Queue(op) => {
                        // Not with what was before it, should it end as it is queued.
                        now = self.stamp_queued::<A>(now);
                        op
                    }
                    Aside::Done => continue,
                    Aside::Hold => {
                        *held = Some(aside);
                        return Filled::Wait;
                    }
                    Aside::End => return Filled::End,
                    Aside::Stop => return Filled::Stop,
                },
            };
            slots.flights[slot as usize] = InFlight { op, start: now, issue: now, short: false };
            if A & axes::DYNAMIC != 0 && self.job.load.trim_ranges > 1 {
                self.engine.ranges(slot, self.source.ranges());
            }
            let queued = if A & ZONED != 0 {
                self.queue_in_zone(slot, &op)
            } else {
                self.engine.queue(slot, &op)
            };
            self.lap::<A>(match queued {
                Queued::Done(_) => Part::Waiting,
                _ => Part::Submission,
            });
            match queued {
                Queued::Pending => {
                    slots.free.pop();
                    slots.fresh.push(slot);
                    slots.fresh_data += self.count_issued(&op);
                    if A & PACED != 0 {
                        self.pacing.issued(slot, &op);
                    }
                }
                Queued::Done(outcome) => {
                    slots.free.pop();
                    let data = self.count_issued(&op);
                    if A & PACED != 0 {
                        self.pacing.issued(slot, &op);
                    }
                    self.recorder.depth.record_n(slots.in_flight(), data);
                    let end = self.stamp_queued::<A>(now);
                    let mut runs = NO_RUNS;
                    self.complete_one::<A>(slots, (slot, outcome), end, &mut runs);
                    self.record_all::<A>(&runs, end);
                    self.recorder.submit.record(1);
                    self.recorder.complete.record(1);
                    self.lap::<A>(Part::Completion);
                    (now, *last) = (end, end);
                    if self.error.is_some() {
                        return Filled::Stop;
                    }
                    if A & SAMPLED != 0 || self.due(now) {
                        return Filled::Look;
                    }
                }
                Queued::Full => {
                    *held = Some(next);
                    if slots.in_flight() == 0 {
                        let full = "the engine takes no I/O though none is in flight";
                        self.error.get_or_insert(JobError::new("queueing", 0, full));
                        return Filled::Stop;
                    }
                    return Filled::Wait;
                }
            }
            if batching.explicit && slots.fresh.len() as u32 >= batching.submit {
                now = self.submit::<A>(slots, now);
                if self.error.is_some() {
                    return Filled::Stop;
                }
                if batching.low == 0 {
                    return Filled::Wait;
                }
            }
        }
        Filled::Wait
    }

    /// Counts an op that was queued. 1 if it moves or drops data, 0 for a flush.
    #[inline(always)]
    fn count_issued(&mut self, op: &Op) -> u64 {
        if matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim) {
            self.drawn += 1;
            self.recorder.issued(recorded(direction(op)));
            return 1;
        }
        self.recorder.sync_issued += 1;
        0
    }

    #[inline(always)]
    fn stamp_queued<const A: u32>(&mut self, last: u64) -> u64 {
        if A == axes::BARE { self.rough_time(last) } else { self.clock.now() }
    }

    /// Stamps everything queued since the last submission: it is being issued now, all of it at the
    /// depth that the device is about to see. Where bytes were made, all of it was ready just now:
    /// what that took is in no latency.
    #[inline(always)]
    fn stamp_issue<const A: u32>(&mut self, slots: &mut Slots) {
        self.recorder.depth.record_n(slots.in_flight(), std::mem::take(&mut slots.fresh_data));
        if A != axes::BARE && !slots.fresh.is_empty() {
            let ready = (C::WRITES && std::mem::take(&mut slots.filled)).then(|| self.clock.now());
            let issue = self.clock.now();
            for &slot in &slots.fresh {
                let flight = &mut slots.flights[slot as usize];
                flight.issue = issue;
                if let Some(ready) = ready {
                    flight.start = ready;
                }
            }
        }
        slots.fresh.clear();
    }

    /// Submits what was queued, in a call of its own.
    fn submit<const A: u32>(&mut self, slots: &mut Slots, now: u64) -> u64 {
        self.stamp_issue::<A>(slots);
        self.lap::<A>(Part::Rest);
        match self.engine.flush() {
            Ok(count) => self.recorder.submit.record(count),
            Err(e) => {
                self.error.get_or_insert(JobError::new("submission", e.errno, e.to_string()));
            }
        }
        self.lap::<A>(Part::Submission);
        self.stamp_queued::<A>(now)
    }

    /// One submission with its wait, and what came back. False when the engine is broken.
    #[inline(always)]
    fn turn<const A: u32>(&mut self, slots: &mut Slots, want: Want, now: &mut u64) -> bool {
        let submitted = slots.fresh.len() as u32;
        self.stamp_issue::<A>(slots);
        if submitted > 0 {
            self.recorder.submit.record(submitted);
        }
        slots.done.clear();
        self.lap::<A>(Part::Rest);
        if A & SAMPLED != 0 {
            // In a call of its own, to tell it from the wait.
            if let Err(e) = self.engine.flush() {
                self.error.get_or_insert(JobError::new("submission", e.errno, e.to_string()));
                return false;
            }
            self.lap::<A>(Part::Submission);
        }
        if let Err(e) = self.engine.reap(want, &mut slots.done) {
            self.error.get_or_insert(JobError::new("reaping", e.errno, e.to_string()));
            return false;
        }
        *now = self.stamp_queued::<A>(*now);
        self.lap::<A>(Part::Waiting);
        let count = slots.done.len();
        if A & PACED != 0 {
            self.bounded(*now, count == 0);
        }
        // A poll that found nothing is none of the completions that the report counts.
        if count > 0 {
            self.recorder.complete.record(count as u32);
        }
        let mut runs = NO_RUNS;
        for i in 0..count {
            let (slot, outcome) = slots.done.as_slice()[i];
            self.complete_one::<A>(slots, (slot, outcome), *now, &mut runs);
        }
        self.record_all::<A>(&runs, *now);
        self.lap::<A>(Part::Completion);
        true
    }

    /// Frees the slot of one completion, and records it: at once, or with those that are like it.
    #[inline(always)]
    fn complete_one<const A: u32>(
        &mut self,
        slots: &mut Slots,
        (slot, outcome): (Slot, Outcome),
        now: u64,
        runs: &mut Runs,
    ) {
        let flight = &slots.flights[slot as usize];
        let op = &flight.op;
        let whole = if op.kind == OpKind::Trim { 0 } else { op.len };
        let moves = matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim);
        if !moves || outcome != Outcome::ok(whole) {
            return self.unusual_completion(slots, slot, outcome, now);
        }
        let dir = recorded(direction(op));
        let bytes = u64::from(op.len) + u64::from(op.at);
        let (start, issue) = (flight.start, flight.issue);
        let run = &mut runs[dir as usize];
        if run.start == start && run.issue == issue {
            run.count += 1;
            run.bytes += bytes;
        } else {
            let ended = std::mem::replace(run, Run { bytes, start, issue, count: 1 });
            self.record::<A>(dir, &ended, now);
        }
        if A & axes::DYNAMIC != 0 && self.recorder.axes & axes::PRIORITIES != 0 {
            let times = times(start, issue, now);
            self.recorder.prioritized(dir, op.tag.priority, times);
        }
        if A & ZONED != 0 {
            self.zone_done(slot);
        }
        if A & PACED != 0 {
            let op = *op;
            self.ended_in_time(slot, &op, now.wrapping_sub(start), now);
        }
        slots.free.push(slot);
    }

    /// Records what completed together.
    #[inline(always)]
    fn record_all<const A: u32>(&mut self, runs: &Runs, now: u64) {
        for (dir, run) in recorder::Dir::ALL.into_iter().zip(runs) {
            self.record::<A>(dir, run, now);
        }
    }

    /// Records I/Os of one direction that took the same time.
    #[inline(always)]
    fn record<const A: u32>(&mut self, dir: recorder::Dir, run: &Run, now: u64) {
        if run.count > 0 {
            let times = times(run.start, run.issue, now);
            self.recorder.complete_n::<A>(dir, run.bytes, times, run.count);
        }
    }

    /// A flush that ended, an I/O that failed, or one that moved less than it should: the latter is
    /// queued again with what is left.
    #[cold]
    fn unusual_completion(&mut self, slots: &mut Slots, slot: Slot, outcome: Outcome, now: u64) {
        let flight = &mut slots.flights[slot as usize];
        let op = flight.op;
        let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
        match outcome.get() {
            Ok(bytes) if moves && bytes > 0 => {
                if !std::mem::replace(&mut flight.short, true) {
                    self.recorder.short(recorded(direction(&op)));
                }
                flight.op.offset += u64::from(bytes);
                flight.op.at += bytes;
                flight.op.len -= bytes;
                self.queue_rest(slots, slot, now);
            }
            Ok(_) if moves => {
                self.failed_in_zone(slot, &op, outcome);
                slots.free.push(slot);
            }
            Ok(_) => {
                if op.kind != OpKind::Trim {
                    self.recorder.synced(now.saturating_sub(flight.issue));
                }
                slots.free.push(slot);
            }
            Err(_) => {
                self.failed_in_zone(slot, &op, outcome);
                slots.free.push(slot);
            }
        }
    }

    /// Queues the rest of a short transfer in its slot.
    fn queue_rest(&mut self, slots: &mut Slots, slot: Slot, now: u64) {
        let op = slots.flights[slot as usize].op;
        match self.engine.queue(slot, &op) {
            Queued::Pending => {}
            Queued::Done(outcome) if outcome == Outcome::ok(op.len) => {
                let flight = &slots.flights[slot as usize];
                let bytes = u64::from(op.len) + u64::from(op.at);
                let end = self.clock.now().max(now);
                let times = Times {
                    slat: flight.issue.saturating_sub(flight.start),
                    clat: end.saturating_sub(flight.issue),
                    lat: end.saturating_sub(flight.start),
                };
                self.recorder.complete::<{ axes::DYNAMIC }>(recorded(direction(&op)), bytes, times);
                if self.recorder.axes & axes::PRIORITIES != 0 {
                    self.recorder.prioritized(recorded(direction(&op)), op.tag.priority, times);
                }
                slots.free.push(slot);
                self.zone_done(slot);
            }
            Queued::Done(outcome) => self.unusual_completion(slots, slot, outcome, now),
            Queued::Full => {
                // The engine has as many places as there are slots, and this one is ours.
                let full = "the engine takes no I/O though its slot is free";
                self.error.get_or_insert(JobError::new("queueing", 0, full));
                slots.free.push(slot);
            }
        }
    }

    /// Everything a source says that is no I/O.
    fn aside_queued(&mut self, next: Next, slots: &Slots) -> Aside {
        let idle = slots.in_flight() == 0;
        let result = match next {
            Next::Io(io) => return Aside::Queue(op_of(&io)),
            Next::Flush(flush, file, offset, len, alone) => {
                if alone && !idle {
                    return Aside::Hold;
                }
                return Aside::Queue(op_of_flush(flush, file, offset, len));
            }
            Next::Open(file) => self.attach(file),
            Next::Close(_) | Next::Again(_) | Next::End if !idle && self.end_needs_idle(&next) => {
                return Aside::Hold;
            }
            Next::Again(file) => self.begin_again(file),
            Next::Close(file) => self.close(file),
            Next::End if self.another_loop() => Ok(()),
            Next::End => return if self.error.is_some() { Aside::Stop } else { Aside::End },
        };
        if self.note(result) { Aside::Done } else { Aside::Stop }
    }

    /// Closing a file and dropping its pages wait for its I/Os; the end of a loop only where files are
    /// made anew.
    fn end_needs_idle(&self, next: &Next) -> bool {
        matches!(next, Next::Close(_) | Next::Again(_)) || self.job.target.unlink_each_loop
    }
}

/// The latencies of an I/O that has just completed.
#[inline(always)]
fn times(start: u64, issue: u64, now: u64) -> Times {
    Times {
        slat: issue.wrapping_sub(start),
        clat: now.wrapping_sub(issue),
        lat: now.wrapping_sub(start),
    }
}

/// What to do about something a source said.
enum Aside {
    /// Queue this.
    Queue(Op),
    /// It is done.
    Done,
    /// It must wait until nothing is in flight.
    Hold,
    /// The work is done.
    End,
    /// The job is to stop.
    Stop,
}
