//! `cpuload`: sleeps between cycles of CPU load.

use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;
use fiord_sys::clock;

use crate::hook::{Completed, Delay, Disposition, Events, Hook, IssuedIo};

/// Maximum time for which a job that other programs kept from the CPU uses more CPU time than
/// `cpuload` later, ns.
const MAX_DEBT: u64 = 1_000_000_000;

/// Delays each cycle until the CPU time of the thread is the wanted share of the time since the
/// beginning. All of its CPU time counts, also that of the worker itself. The hook reads the CPU clock
/// of the thread after each cycle, which takes far longer than that.
pub(super) struct CpuLoad {
    percent: u64,
    /// When measuring began, ns, and the CPU clock of the thread then, ns.
    began: (u64, u64),
    /// When the next cycle is due, ns.
    next: u64,
}

impl CpuLoad {
    /// The load of a job whose first cycle is due at `now`; `None` if it does not sleep.
    pub(super) fn of(job: &JobPlan, now: u64) -> Option<Self> {
        let percent = u64::from(job.pace.cpu_load?.get());
        Some(CpuLoad { percent, began: (now, clock::thread_cpu()), next: now })
    }
}

impl Hook for CpuLoad {
    fn events(&self) -> Events {
        Events::READY | Events::COMPLETED
    }

    fn ready(&mut self, now: u64, _in_flight: u32) -> Delay {
        if now < self.next { Delay::Until(self.next) } else { Delay::None }
    }

    fn completed(
        &mut self,
        _io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        let used = clock::thread_cpu().saturating_sub(self.began.1);
        self.next = self.began.0.saturating_add(used.saturating_mul(100) / self.percent);
        let debt = end.end.saturating_sub(self.next);
        self.began.0 += debt.saturating_sub(MAX_DEBT);
        Disposition::Release
    }

    fn restart(&mut self, now: u64) {
        self.began = (now, clock::thread_cpu());
        self.next = now;
    }
}
