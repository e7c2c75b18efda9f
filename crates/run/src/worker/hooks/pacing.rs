//! Rates and think times. `fiord_load::pace` decides when an I/O is due; this hook connects it to the loops.
//! They are one hook, because a job can ask that a pause moves its schedule (`rate_ignore_thinktime`).

use fiord_load::pace::think::Thought;
use fiord_load::pace::{Pacer, Thinker};
use fiord_plan::{JobPlan, Mix};
use fiord_stat::recorder::Recorder;
use fiord_types::{Dir, Nanos};

use crate::hook::{Completed, Delay, Disposition, Events, Hook, IssuedIo, NEVER};

/// The rates and think times of one job.
pub(super) struct Pacing {
    pacer: Option<Pacer>,
    thinker: Option<Thinker>,
    /// The job reads and writes, so that the rates may decide the direction.
    mixed: bool,
    /// The job does not catch up on its rate after a pause (`rate_ignore_thinktime`).
    forgive: bool,
    /// `thinkcycles` of one I/O, converted to ns.
    think_ns: u64,
    /// Think time of the I/Os that completed since the last busy-wait, ns.
    owed: u64,
    /// End of the current pause.
    not_before: u64,
}

impl Pacing {
    /// The rates and think times of a job whose first I/O is due at `now`; `None` if it has none. `hertz`: CPU
    /// cycles per second.
    pub(super) fn of(job: &JobPlan, hertz: u64, now: u64) -> Option<Self> {
        let pace = &job.pace;
        let cycles = pace.think.map_or(0, |think| think.cycles);
        let think_ns = u128::from(cycles) * 1_000_000_000 / u128::from(hertz.max(1));
        let pacing = Pacing {
            pacer: Pacer::new(job, now),
            thinker: Thinker::new(job, now),
            mixed: matches!(job.load.mix, Mix::ReadWrite { .. }),
            forgive: pace.forgive_think,
            think_ns: u64::try_from(think_ns).unwrap_or(NEVER),
            owed: 0,
            not_before: 0,
        };
        (pacing.pacer.is_some() || pacing.thinks()).then_some(pacing)
    }

    fn thinks(&self) -> bool {
        self.thinker.is_some() || self.think_ns > 0
    }
}

impl Hook for Pacing {
    fn events(&self) -> Events {
        let paced = Events::DUE | Events::ISSUED | Events::COMPLETED;
        paced.only_if(self.pacer.is_some())
            | Events::DIRECTION.only_if(self.pacer.is_some() && self.mixed)
            | Events::READY.only_if(self.thinks())
            | Events::ISSUED.only_if(self.thinker.is_some())
            | Events::COMPLETED.only_if(self.think_ns > 0)
    }

    fn ready(&mut self, now: u64, in_flight: u32) -> Delay {
        if self.owed > 0 {
            return Delay::Busy(now.saturating_add(std::mem::take(&mut self.owed)));
        }
        if now < self.not_before {
            return Delay::Until(self.not_before);
        }
        match self.thinker.as_mut().map_or(Thought::Go, |thinker| thinker.before(now, in_flight)) {
            Thought::Go => Delay::None,
            Thought::Drain => Delay::Completion,
            Thought::Pause { busy, idle } => {
                if let Some(pacer) = self.pacer.as_mut().filter(|_| self.forgive) {
                    pacer.shift(busy + idle);
                }
                self.not_before = now.saturating_add(busy + idle);
                match busy {
                    0 => Delay::Until(self.not_before),
                    _ => Delay::Busy(now.saturating_add(busy)),
                }
            }
        }
    }

    #[inline]
    fn direction(&mut self, now: u64) -> Option<Dir> {
        self.pacer.as_mut().and_then(|pacer| pacer.choose(now))
    }

    #[inline]
    fn due(&mut self, dir: Dir, now: u64) -> Delay {
        match self.pacer.as_ref().map_or(0, |pacer| pacer.due(dir)) {
            due if due > now => Delay::Until(due),
            _ => Delay::None,
        }
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        if io.extra {
            return;
        }
        if let Some(pacer) = &mut self.pacer {
            if pacer.has(io.dir) {
                io.due = pacer.intended(io.dir);
            }
            pacer.issued(io.dir, io.op.len);
        }
        if let Some(thinker) = &mut self.thinker {
            thinker.issued();
        }
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        recorder: &mut Recorder,
    ) -> Disposition {
        if end.succeeded {
            if io.due != NEVER {
                recorder.intended(io.dir, Nanos(end.end.saturating_sub(io.due)));
            }
            self.owed = self.owed.saturating_add(self.think_ns);
        }
        Disposition::Release
    }
}
