//! Pauses between I/Os (`thinktime` and its family).

use fiord_plan::{JobPlan, Think};

/// What a job has to do before its next I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thought {
    /// Nothing.
    Go,
    /// Wait for the I/Os in flight, and ask again when one of them has ended.
    Drain,
    /// Be busy for the first time, ns, and do nothing for the second: a pause has begun.
    Pause {
        /// How long to be busy.
        busy: u64,
        /// How long to do nothing after that.
        idle: u64,
    },
}

/// Counts towards the next pause.
#[derive(Debug, Clone)]
pub struct Thinker {
    think: Think,
    /// I/Os issued since the last pause.
    issued: u32,
    /// When I/O went on after the last pause.
    since: u64,
}

impl Thinker {
    /// Of a job whose I/O begins now. `None`: it makes no pauses.
    pub fn new(job: &JobPlan, now: u64) -> Option<Self> {
        let think = job.pace.think.filter(|think| think.time > 0)?;
        Some(Thinker { think, issued: 0, since: now })
    }

    /// An I/O was issued.
    #[inline]
    pub fn issued(&mut self) {
        self.issued = self.issued.saturating_add(1);
    }

    /// Before an I/O, with so many in flight. I/Os that are counted when they end are issued in
    /// groups of `thinktime_blocks`, so a pause begins with none in flight and no group is larger
    /// than it should be.
    #[inline]
    pub fn before(&mut self, now: u64, in_flight: u32) -> Thought {
        let think = &self.think;
        let enough = think.blocks.is_some_and(|n| self.issued >= n);
        let late = think.io_time > 0 && now.saturating_sub(self.since) >= think.io_time;
        if !enough && !late {
            return Thought::Go;
        }
        if in_flight > 0 && (!think.on_issue || !enough) {
            return Thought::Drain;
        }
        let (busy, time) = (think.spin, think.time);
        self.issued = 0;
        self.since = now.saturating_add(time);
        Thought::Pause { busy, idle: time - busy.min(time) }
    }
}
