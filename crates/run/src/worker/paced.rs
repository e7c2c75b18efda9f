//! Waiting for what is due. Only the loops that are compiled with [`PACED`](super::pacing::PACED) in
//! their axes have any of this. What is due when is said by [`Pacing`](super::pacing::Pacing); here
//! the loops wait for it.

use fiord_engine::{Engine, Op, Slot, Time, Want};
use fiord_load::{Next, Source};

use super::ops::{direction, recorded};
use super::session::{Fill, Session};
use crate::error::JobError;

/// The longest sleep, ns: a job that is told to end does so in this time.
const NAP: u64 = 50_000_000;

/// `ETIMEDOUT` of `errno.h`.
const TIMED_OUT: i32 = 110;

impl<E: Engine, S: Source, C: Fill> Session<'_, E, S, C> {
    /// What is next of a loop with one I/O at a time, when it is due. `None`: the job is to stop.
    pub fn next_in_time(&mut self, now: &mut u64) -> Option<Next> {
        while !self.gate(now, 0) {
            if !self.wait(now) {
                return None;
            }
        }
        let next = match self.pacing.choose(*now) {
            Some(dir) => self.source.next_of(dir),
            None => self.source.next(),
        };
        if let Next::Io(io) = &next {
            while !self.pacing.is_due(io.dir, *now) {
                if !self.wait(now) {
                    return None;
                }
            }
        }
        Some(next)
    }

    /// Whether pauses, flows and goals permit another I/O with so many in flight. If not,
    /// `pacing.wake` says what to wait for.
    pub fn gate(&mut self, now: &mut u64, in_flight: u32) -> bool {
        self.pacing.gate(&self.clock, now, in_flight)
    }

    /// Waits, with nothing in flight, for what `gate` or `is_due` said, or for something to look at.
    /// False when the job is to stop.
    pub fn wait(&mut self, now: &mut u64) -> bool {
        let event = self.next_event(*now);
        self.pacing.wait(&self.clock, event);
        *now = self.clock.now();
        self.pacing.waited(*now);
        // Counters can wait for the I/O that is due: after it the loop looks around, and samples.
        !self.hurried(*now) || self.look(*now)
    }

    /// Bounds a wait for completions by what is due. False when that is due already: nothing is to
    /// be waited for.
    pub fn bound(&mut self, want: &mut Want) -> bool {
        if !self.pacing.bounds(want) {
            return true;
        }
        let now = self.clock.now();
        self.pacing.bound(want, now, self.next_event(now))
    }

    /// A wait for completions has ended, with none or some.
    pub fn bounded(&mut self, now: u64, none: bool) {
        self.pacing.bounded(now, none);
    }

    /// An I/O ended well.
    #[inline]
    pub fn ended_in_time(&mut self, slot: Slot, op: &Op, lat: u64, end: u64) {
        let dir = direction(op);
        let mut from_due = lat;
        if let Some(due) = self.pacing.due_of(slot) {
            from_due = end.saturating_sub(due);
            self.recorder.intended(recorded(dir), from_due);
        }
        self.recorder.sliced(end, lat, from_due.max(lat));
        self.pacing.ended(lat);
        let most = self.pacing.max_latency(dir);
        if lat > most {
            self.too_slow(op, lat, most);
        }
    }

    /// `max_latency`.
    #[cold]
    fn too_slow(&mut self, op: &Op, lat: u64, most: u64) {
        let what = format!("latency of {lat} nsec exceeds specified max ({most} nsec)");
        let mut error = JobError::new("max_latency", TIMED_OUT, what);
        error.file = Some(self.files.path(op.file).to_path_buf());
        error.offset = Some(op.offset - u64::from(op.at));
        self.error.get_or_insert(error);
    }

    /// When there is something to look at.
    fn next_event(&self, now: u64) -> u64 {
        self.until(now).min(now + NAP)
    }
}
