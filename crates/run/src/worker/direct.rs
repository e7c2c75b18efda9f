//! The loop of engines that complete each I/O before the next is queued: one I/O, one clock stamp.

use fiord_engine::{Engine, Op, Outcome, Queued, Time};
use fiord_load::{Dir, Io, Next, Source};
use fiord_stat::recorder::{Times, axes};
use fiord_stat::shares::Part;

use super::ops::{direction, op_of, op_of_flush, recorded};
use super::pacing::PACED;
use super::session::{Fill, Session};
use super::shares::SAMPLED;
use super::zoned::{Placed, ZONED};

impl<E: Engine, S: Source, C: Fill> Session<'_, E, S, C> {
    /// Runs to the end of the work, the run time or the first error. `A` is a set of [`axes`].
    pub fn run_direct<const A: u32>(&mut self) {
        self.one_by_one = true;
        let mut now = self.clock.now();
        while self.step::<A>(&mut now) {
            if self.due(now) {
                // By value: a variable whose address is given away is not kept in a register.
                match self.look_direct::<A>(now) {
                    Some(later) => now = later,
                    None => break,
                }
            }
        }
    }

    /// One I/O, which begins now: what is next, its bytes, the call, what it took. False at the end
    /// of the job.
    #[inline(always)]
    fn step<const A: u32>(&mut self, now: &mut u64) -> bool {
        let next = if A & PACED != 0 {
            match self.next_in_time(now) {
                Some(next) => next,
                None => return false,
            }
        } else {
            self.source.next()
        };
        let placed = if A & ZONED != 0 {
            self.place_now(next, now)
        } else {
            match next {
                Next::Io(io) => Placed::Here(io),
                aside => Placed::Aside(aside),
            }
        };
        let io = match placed {
            Placed::Here(io) => io,
            Placed::Aside(aside) => {
                self.lap::<A>(Part::Rest);
                let (from, more) = (self.clock.now(), self.aside(aside));
                *now = self.clock.now();
                self.shares.aside(from, *now);
                return more;
            }
            Placed::Nowhere => {
                self.lap::<A>(Part::Waiting);
                return true;
            }
            Placed::Stop => return false,
        };
        self.drawn += 1;
        self.lap::<A>(if A & PACED != 0 { Part::Waiting } else { Part::Rest });
        if C::WRITES
            && io.dir == Dir::Write
            && self.content.fill(&mut self.engine.buffer(0)[..io.len as usize], &io)
        {
            *now = self.stamp::<A>(Part::Contents, *now);
        }
        let op = op_of(&io);
        if A & PACED != 0 {
            self.pacing.issued(0, &op);
        }
        if A & SAMPLED != 0 {
            *now = self.shares.mark();
        }
        let start = *now;
        let outcome = self.carry_out::<A>(&op);
        *now = self.stamp::<A>(Part::Waiting, start);
        if outcome == complete(&io) {
            let lat = now.wrapping_sub(start);
            let times = Times { slat: 0, clat: lat, lat };
            self.recorder.complete::<A>(recorded(io.dir), u64::from(io.len), times);
            if A & ZONED != 0 {
                self.zone_done(0);
            }
        } else {
            match self.unusual::<A>(op, outcome, start) {
                Some(end) => *now = end,
                None => return false,
            }
        }
        if A & PACED != 0 {
            self.ended_in_time(0, &op, now.wrapping_sub(start), *now);
        }
        self.lap::<A>(Part::Completion);
        A & PACED == 0 || self.error.is_none()
    }

    /// Looks around, then takes a burst of samples. The time after that; `None` when the job is to
    /// issue no more.
    #[cold]
    #[inline(never)]
    fn look_direct<const A: u32>(&mut self, mut now: u64) -> Option<u64> {
        if !self.look(now) {
            return None;
        }
        if !self.shares.begin(now) {
            return Some(now);
        }
        let mut more = true;
        while more && !self.hurried(now) {
            let (before, drawn) = (self.completed(), self.drawn);
            self.shares.start(self.clock.now());
            // To the next I/O.
            while self.drawn == drawn && !self.hurried(now) {
                let goes_on = if const { A & ZONED != 0 } {
                    self.step::<{ axes::DYNAMIC | PACED | ZONED | SAMPLED }>(&mut now)
                } else if const { A & PACED != 0 } {
                    self.step::<{ axes::DYNAMIC | PACED | SAMPLED }>(&mut now)
                } else {
                    self.step::<{ axes::DYNAMIC | SAMPLED }>(&mut now)
                };
                if !goes_on {
                    return None;
                }
            }
            more = self.sampled(before);
        }
        // What ended the burst may be something to look at.
        now = self.clock.now();
        (!self.due(now) || self.look(now)).then_some(now)
    }

    /// The time at which a part of the round has ended: exact when latencies are measured.
    #[inline(always)]
    fn stamp<const A: u32>(&mut self, part: Part, last: u64) -> u64 {
        if A & SAMPLED != 0 {
            self.lap::<A>(part);
            return self.shares.mark();
        }
        if A == axes::BARE { self.rough_time(last) } else { self.clock.now() }
    }

    /// Carries out one op, or the reset of a zone.
    #[inline(always)]
    fn carry_out<const A: u32>(&mut self, op: &Op) -> Outcome {
        if A & ZONED != 0 {
            if let Some(outcome) = self.reset_zone(op) {
                return outcome;
            }
            self.taken(0);
        }
        self.at_once(op)
    }

    /// Carries out one op.
    #[inline(always)]
    fn at_once(&mut self, op: &Op) -> Outcome {
        match self.engine.queue(0, op) {
            Queued::Done(outcome) => outcome,
            // Not reached: this loop runs only engines that complete at once.
            Queued::Pending | Queued::Full => Outcome::err(5),
        }
    }

    /// The same out of the way of the loop, which has the engine's code in it.
    #[cold]
    #[inline(never)]
    fn aside_at_once(&mut self, op: &Op) -> Outcome {
        self.at_once(op)
    }

    /// An I/O that failed, or moved less than it should: goes on with its rest. `None`: the job ends.
    #[cold]
    fn unusual<const A: u32>(
        &mut self,
        first: Op,
        mut outcome: Outcome,
        start: u64,
    ) -> Option<u64> {
        let mut op = first;
        let whole = first.len;
        let dir = direction(&first);
        let mut short = false;
        loop {
            match outcome.get() {
                Err(_) | Ok(0) => {
                    return self.not_done::<A>(&op, outcome).then(|| self.clock.now());
                }
                Ok(bytes) if bytes < op.len => {
                    if !std::mem::replace(&mut short, true) {
                        self.recorder.short(recorded(dir));
                    }
                    op.offset += u64::from(bytes);
                    op.at += bytes;
                    op.len -= bytes;
                    outcome = self.aside_at_once(&op);
                }
                Ok(_) => break,
            }
        }
        let end = self.clock.now();
        let lat = end.wrapping_sub(start);
        let times = Times { slat: 0, clat: lat, lat };
        self.recorder.complete::<A>(recorded(dir), u64::from(whole), times);
        if A & ZONED != 0 {
            self.zone_done(0);
        }
        Some(end)
    }

    /// An I/O failed. True when the job goes on.
    fn not_done<const A: u32>(&mut self, op: &Op, outcome: Outcome) -> bool {
        if A & ZONED != 0 {
            self.failed_in_zone(0, op, outcome)
        } else {
            self.io_failed(0, op, outcome)
        }
    }

    /// Everything a source says that is no I/O. False when the job's work is done.
    fn aside(&mut self, next: Next) -> bool {
        let result = match next {
            Next::Io(_) => Ok(()),
            Next::Flush(flush, file, offset, len, _) => {
                return self.flush_now(&op_of_flush(flush, file, offset, len));
            }
            Next::Open(file) => self.attach(file),
            Next::Close(file) => self.close(file),
            Next::Again(file) => self.begin_again(file),
            Next::End => return self.another_loop(),
        };
        self.note(result)
    }

    /// Flushes a file and measures it. False when that failed and ends the job.
    pub fn flush_now(&mut self, op: &Op) -> bool {
        let start = self.clock.now();
        let outcome = self.aside_at_once(op);
        self.recorder.sync_issued += 1;
        match outcome.get() {
            Ok(_) => {
                self.recorder.synced(self.clock.now() - start);
                true
            }
            Err(_) => self.io_failed(0, op, outcome),
        }
    }
}

/// The outcome of an I/O that did all of its work. Trims move no bytes.
#[inline(always)]
pub fn complete(io: &Io) -> Outcome {
    Outcome::ok(if io.dir == Dir::Trim { 0 } else { io.len })
}
