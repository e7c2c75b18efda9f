//! `read_iolog`: issues the I/Os of a trace at their recorded times, and measures how late they are.

use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fiord_load::source::replay::{ReplayCursor, ReplayKind, Upcoming};
use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;
use fiord_stat::replay::{ReplayCount, ReplayResults};
use fiord_types::Nanos;

use crate::hook::{Completed, Delay, Disposition, Events, Hook, HookResults, IssuedIo, NEVER};
use crate::trace::replay::{FeedState, ReplayFeed};

/// How long the worker looks for completions before it asks again for a step that was not read yet, ns.
const ASK_AGAIN: u64 = 50_000;
/// How long it sleeps with nothing in flight before it asks again.
const SLEEP: Duration = Duration::from_micros(50);
/// Maximum time in [`Hook::wait`].
const MAX_WAIT: Duration = Duration::from_millis(20);

/// Follows the I/Os of a trace.
pub(super) struct ReplayHook {
    cursor: Rc<ReplayCursor>,
    feed: Arc<FeedState>,
    /// I/Os have recorded times.
    timed: bool,
    /// Time stands still while the worker waits for the reading thread.
    virtual_time: bool,
    /// When the first I/O was due, ns; [`NEVER`] before.
    start: u64,
    /// The next step must wait for a flush.
    flushing: bool,
    /// Number of slots.
    slots: u32,
    /// By slot: when the I/O in it was due, ns.
    due: Vec<u64>,
    in_flight: u32,
    last_due: Nanos,
    last_issue: u64,
    /// When the last completion was, ns.
    last_end: u64,
    /// Lateness of the I/O that was issued last.
    last_late: Nanos,
    results: ReplayResults,
}

impl ReplayHook {
    pub(super) fn new(job: &JobPlan, feed: &ReplayFeed) -> Self {
        let plan = job.replay.as_ref();
        let timed = plan.is_some_and(|plan| plan.timed);
        let trace_depth = plan.and_then(|plan| plan.contents.as_ref()?.depth);
        ReplayHook {
            cursor: Rc::clone(&feed.cursor),
            feed: Arc::clone(&feed.state),
            timed,
            virtual_time: job.engine.def().virtual_time,
            start: NEVER,
            flushing: false,
            slots: job.slots(),
            due: vec![NEVER; job.slots() as usize],
            in_flight: 0,
            last_due: Nanos::ZERO,
            last_issue: 0,
            last_end: 0,
            last_late: Nanos::ZERO,
            results: ReplayResults { timed, trace_depth, ..ReplayResults::default() },
        }
    }

    /// Waits for the reading thread without letting virtual time pass.
    #[cold]
    fn next_read(&self) -> Upcoming {
        loop {
            match self.cursor.upcoming() {
                Upcoming::Unknown => thread::sleep(SLEEP),
                known => return known,
            }
        }
    }
}

impl Hook for ReplayHook {
    fn events(&self) -> Events {
        Events::READY | Events::ISSUED | Events::COMPLETED | Events::FLUSHES
    }

    #[inline]
    fn ready(&mut self, now: u64, _in_flight: u32) -> Delay {
        if self.flushing {
            return Delay::Completion;
        }
        let upcoming = match self.cursor.upcoming() {
            Upcoming::Unknown if self.virtual_time => self.next_read(),
            upcoming => upcoming,
        };
        match upcoming {
            Upcoming::Step(due) => {
                if self.start == NEVER {
                    self.start = now.saturating_sub(due.0);
                }
                let due = self.start.saturating_add(due.0);
                if self.timed && due > now { Delay::Until(due) } else { Delay::None }
            }
            Upcoming::Drawn(_) | Upcoming::End => Delay::None,
            Upcoming::Unknown => {
                self.results.counts.add(ReplayCount::Starved, u64::from(self.start != NEVER));
                Delay::Event(now.saturating_add(ASK_AGAIN))
            }
        }
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        if io.extra {
            return;
        }
        let Some((since_first, kind)) = self.cursor.issued() else { return };
        self.last_due = since_first;
        let due = self.start.saturating_add(since_first.0);
        if let Some(slot) = self.due.get_mut(io.slot as usize) {
            *slot = due;
        }
        self.flushing = kind == ReplayKind::Preflush;
        self.in_flight += 1;
        let found_no_slot = self.in_flight == self.slots && self.last_end > due;
        self.results.counts.add(ReplayCount::Blocked, u64::from(self.timed && found_no_slot));
        let counts = &mut self.results.counts;
        counts.raise(ReplayCount::Depth, u64::from(self.in_flight));
        counts.add(ReplayCount::Issued, 1);
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        // A flush at the end of the job is not one of the trace.
        let due =
            self.due.get_mut(io.slot as usize).map_or(NEVER, |due| std::mem::replace(due, NEVER));
        if due == NEVER {
            return Disposition::Release;
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        self.last_end = self.last_end.max(end.end);
        if io.flush {
            self.flushing = false;
        }
        let issue = end.end.saturating_sub(end.times.clat.0);
        self.last_issue = self.last_issue.max(issue);
        if self.timed {
            let late = Nanos(issue.saturating_sub(due));
            self.last_late = late;
            self.results.lateness.record(late);
            self.results.lateness_summary.record(late.0);
        }
        Disposition::Release
    }

    fn wait(&mut self) {
        let mut waited = Duration::ZERO;
        while self.cursor.upcoming() == Upcoming::Unknown && waited < MAX_WAIT {
            thread::sleep(SLEEP);
            waited += SLEEP;
        }
    }

    fn behind(&self) -> Option<Nanos> {
        self.timed.then_some(self.last_late)
    }

    fn add_results(&self, results: &mut HookResults) {
        let notes = self.feed.notes();
        let mut replay = self.results.clone();
        replay.recorded = self.last_due;
        replay.took = Nanos(self.last_issue.saturating_sub(self.start));
        replay.counts.merge(&notes.counts);
        replay.first_invalid = notes.first_invalid;
        results.report.replay = Some(Box::new(replay));
        results.failure = notes.error;
    }
}
