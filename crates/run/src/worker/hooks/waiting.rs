//! How the loops wait until an I/O is due. [`Pacing`](super::pacing::Pacing) knows when that is.

use fiord_engine::{Op, Slot, Time, Want};
use fiord_load::{Next, Source};

use super::super::core::JobState;
use super::super::loops::ops::direction;
use crate::error::{JobError, Stage};

/// The longest sleep, ns. A job notices within this time that it must stop.
const LONGEST_SLEEP: u64 = 50_000_000;

/// `ETIMEDOUT` of `errno.h`.
const ETIMEDOUT: i32 = 110;

impl JobState<'_> {
    /// The next operation of a loop that issues one I/O at a time, when it is due. `None`: the job must
    /// stop.
    pub fn next_when_due<S: Source + ?Sized>(
        &mut self,
        source: &mut S,
        clock: &impl Time,
        now: &mut u64,
    ) -> Option<Next> {
        while !self.pacing.gate(clock, now, 0) {
            if !self.wait_until_due(clock, now) {
                return None;
            }
        }
        let next = match self.pacing.choose(*now) {
            Some(dir) => source.next_of(dir),
            None => source.next(),
        };
        if let Next::Io(io) = &next {
            while !self.pacing.is_due(io.dir, *now) {
                if !self.wait_until_due(clock, now) {
                    return None;
                }
            }
        }
        Some(next)
    }

    /// Waits, with nothing in flight, until the next I/O is due or housekeeping is. False when the job
    /// must stop.
    pub fn wait_until_due(&mut self, clock: &impl Time, now: &mut u64) -> bool {
        let event = self.next_event_or_nap(*now);
        self.pacing.wait(clock, event);
        *now = clock.now();
        self.pacing.waited(*now);
        // The publishing of counters can wait until the I/O that is due has been issued.
        !self.housekeeping_urgent(*now) || self.keep_house(*now)
    }

    /// Limits a wait for completions to the time until the next I/O is due. False when it is due
    /// already, so there must be no wait.
    pub fn limit_wait(&mut self, clock: &impl Time, want: &mut Want) -> bool {
        if !self.pacing.bounds(want) {
            return true;
        }
        let now = clock.now();
        self.pacing.bound(want, now, self.next_event_or_nap(now))
    }

    /// Follows an I/O that succeeded: latency from its intended start, latency slices, the latency
    /// target, `max_latency`. `lat` and `end` in ns.
    #[inline]
    pub fn follow_completion(&mut self, slot: Slot, op: &Op, lat: u64, end: u64) {
        let dir = direction(op);
        let mut from_due = lat;
        if let Some(due) = self.pacing.due_of(slot) {
            from_due = end.saturating_sub(due);
            self.recorder.intended(dir, from_due);
        }
        self.recorder.sliced(end, lat, from_due.max(lat));
        self.pacing.ended(lat);
        let limit = self.pacing.max_latency(dir);
        if lat > limit {
            self.fail_max_latency(op, lat, limit);
        }
    }

    /// Ends the job because of `max_latency`.
    #[cold]
    fn fail_max_latency(&mut self, op: &Op, lat: u64, limit: u64) {
        let what = format!("latency of {lat} nsec exceeds specified max ({limit} nsec)");
        let mut error = JobError::new(Stage::MaxLatency, ETIMEDOUT, what);
        error.file = Some(self.files.path(op.file).to_path_buf());
        error.offset = Some(op.offset - u64::from(op.at));
        self.error.get_or_insert(error);
    }

    /// When the next thing happens that a sleep must not miss.
    fn next_event_or_nap(&self, now: u64) -> u64 {
        self.next_event(now).min(now + LONGEST_SLEEP)
    }
}
