//! Pauses between I/Os (`thinktime` and related options).

use fiord_plan::{JobPlan, Think};
use fiord_types::Nanos;

/// What a job has to do before its next I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thought {
    /// Issue the I/O.
    Go,
    /// Wait until an I/O in flight has completed, then ask again.
    Drain,
    /// A pause begins: keep the CPU busy for `busy` nanoseconds, then sleep for `idle` nanoseconds.
    Pause {
        /// Nanoseconds to keep the CPU busy.
        busy: u64,
        /// Nanoseconds to sleep after that.
        idle: u64,
    },
}

/// Counts I/Os and time until the next pause.
#[derive(Debug, Clone)]
pub struct Thinker {
    think: Think,
    /// I/Os issued since the last pause.
    issued: u32,
    /// When the last pause ended, in nanoseconds.
    since: u64,
}

impl Thinker {
    /// State of a job whose I/O begins at `now`. `None` if the job makes no pauses.
    #[must_use]
    pub fn new(job: &JobPlan, now: u64) -> Option<Self> {
        let think = job.pace.think.filter(|think| think.time > Nanos::ZERO)?;
        Some(Thinker { think, issued: 0, since: now })
    }

    /// An I/O was issued.
    #[inline]
    pub fn issued(&mut self) {
        self.issued = self.issued.saturating_add(1);
    }

    /// Decides what to do before the next I/O, with `in_flight` I/Os in flight.
    ///
    /// With `thinktime_blocks_type=complete` the I/Os are issued in groups of `thinktime_blocks`,
    /// so that a pause begins with no I/O in flight and no group is too large.
    #[inline]
    pub fn before(&mut self, now: u64, in_flight: u32) -> Thought {
        let think = &self.think;
        let enough = think.blocks.is_some_and(|n| self.issued >= n);
        let late = think.io_time > Nanos::ZERO && now.saturating_sub(self.since) >= think.io_time.0;
        if !enough && !late {
            return Thought::Go;
        }
        if in_flight > 0 && (!think.on_issue || !enough) {
            return Thought::Drain;
        }
        let (busy, time) = (think.spin, think.time);
        self.issued = 0;
        self.since = now.saturating_add(time.0);
        Thought::Pause { busy: busy.0, idle: time.saturating_sub(busy).0 }
    }
}
