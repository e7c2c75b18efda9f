//! `cpuio`: burns CPU time.
//!
//! A cycle uses `cpuchunks` of CPU time, by the CPU clock of the thread: other programs that want the
//! same CPU make a cycle longer, not lighter. The worker sleeps between two cycles so long that the
//! thread uses `cpuload` per cent of the time (`Pace::cpu_load`). No cycle uses more CPU time than
//! remains of `cpuload` per cent of the run time, so the last one may be shorter.

use std::hint::black_box;

use fiord_plan::model::CpuMode;
use fiord_sys::clock;

use super::CyclicWork;
use crate::{EndSignal, EngineConfig, EngineError, MachineClock, Time};

/// CPU time between two looks at the clocks, ns.
const SLICE: u64 = 20_000;
/// A cycle looks at the clocks at least this often.
const LOOKS: u64 = 16;
/// Elements that one step of `cpumode=qsort` sorts: about 10 us of work.
const SORTED: usize = 512;

/// The cycles of one job.
#[derive(Debug)]
pub struct CpuCycles {
    /// CPU time of a cycle, ns.
    chunk: u64,
    /// CPU time per 100 ns of run time, ns.
    percent: u64,
    /// Run time with ramp, ns.
    run_time: Option<u64>,
    /// When the run time ends, ns, and the CPU clock at which the whole load is done, ns; `None` before
    /// the first cycle and without a run time.
    limit: Option<(u64, u64)>,
    clock: MachineClock,
    end: EndSignal,
    work: Work,
    /// Steps of work that take about one slice.
    steps: u64,
}

/// What the CPU does.
#[derive(Debug)]
enum Work {
    /// Counts.
    Noop,
    Sort {
        numbers: Box<[u64; SORTED]>,
        state: u64,
    },
}

impl Work {
    /// Does a number of steps.
    fn spin(&mut self, steps: u64) {
        match self {
            Work::Noop => (0..steps).for_each(|step| {
                black_box(step);
            }),
            Work::Sort { numbers, state } => {
                for _ in 0..steps {
                    for number in numbers.iter_mut() {
                        // xorshift: the order must not be predictable.
                        *state ^= *state << 13;
                        *state ^= *state >> 7;
                        *state ^= *state << 17;
                        *number = *state;
                    }
                    numbers.sort_unstable();
                    black_box(&numbers);
                }
            }
        }
    }
}

impl CpuCycles {
    /// Works for about `goal` ns of CPU time. Returns the CPU clock after it. `began`: the CPU clock now.
    fn slice(&mut self, goal: u64, began: u64) -> u64 {
        let wanted = goal.clamp(1, SLICE);
        let steps = u128::from(self.steps) * u128::from(wanted) / u128::from(SLICE);
        let steps = u64::try_from(steps).unwrap_or(self.steps).max(1);
        self.work.spin(steps);
        let now = clock::thread_cpu();
        let took = now.saturating_sub(began).max(1);
        // Calibrates: the clock of the CPU changes with its load and temperature.
        let ideal = u128::from(steps) * u128::from(SLICE) / u128::from(took);
        let ideal = u64::try_from(ideal).unwrap_or(u64::MAX).clamp(1, 1 << 32);
        self.steps = self.steps.midpoint(ideal.clamp(self.steps / 4, self.steps * 4)).max(1);
        now
    }

    /// CPU time of the cycle that begins now, ns. `used`: the CPU clock now.
    fn goal(&mut self, used: u64) -> u64 {
        let Some(run_time) = self.run_time else { return self.chunk };
        let whole = u128::from(run_time) * u128::from(self.percent) / 100;
        let whole = u64::try_from(whole).unwrap_or(u64::MAX);
        let first = || (self.clock.now().saturating_add(run_time), used.saturating_add(whole));
        let (_, all) = *self.limit.get_or_insert_with(first);
        self.chunk.min(all.saturating_sub(used))
    }
}

impl CyclicWork for CpuCycles {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.cpu_load().ok_or_else(EngineError::other_engine)?;
        let work = match plan.mode {
            CpuMode::Noop => Work::Noop,
            CpuMode::Qsort => Work::Sort { numbers: Box::new([0; SORTED]), state: 0x9e37_79b9 },
        };
        Ok(CpuCycles {
            chunk: plan.chunk.0,
            percent: u64::from(plan.load_percent.get()),
            run_time: config.run_time.map(|time| time.0),
            limit: None,
            clock: config.clock,
            end: config.end.clone(),
            work,
            steps: 1,
        })
    }

    fn cycle(&mut self) -> Result<(), EngineError> {
        let began = clock::thread_cpu();
        let goal = self.goal(began);
        let slice = (goal / LOOKS).max(1);
        let mut now = began;
        while now - began < goal && !self.end.is_stopped() {
            if self.limit.is_some_and(|(deadline, _)| self.clock.now() >= deadline) {
                break;
            }
            now = self.slice(slice.min(goal - (now - began)), now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use fiord_plan::EnginePlan;
    use fiord_plan::model::CpuioPlan;
    use fiord_types::Nanos;

    use super::*;

    /// CPU time of `cycles` cycles of `chunk` ns, ns.
    fn used(mode: CpuMode, chunk: u64, cycles: u64, end: &EndSignal) -> u64 {
        let plan =
            CpuioPlan { load_percent: NonZeroU8::new(50).unwrap(), chunk: Nanos(chunk), mode };
        let mut config = EngineConfig::plain(EnginePlan::Cpuio(plan), 1, 0);
        config.end = end.clone();
        let mut work = CpuCycles::new(&config).unwrap();
        let began = clock::thread_cpu();
        (0..cycles).for_each(|_| work.cycle().unwrap());
        clock::thread_cpu() - began
    }

    #[test]
    fn a_cycle_uses_its_cpu_time() {
        // A cycle ends between two sorts, and a sort takes about 100 us without optimization.
        for (mode, short) in [(CpuMode::Noop, 200_000), (CpuMode::Qsort, 2_000_000)] {
            for (chunk, cycles) in [(10_000_000, 5), (short, 10)] {
                let (wanted, used) =
                    (chunk * cycles, used(mode, chunk, cycles, &EndSignal::default()));
                let share = used as f64 / wanted as f64;
                // A busy machine interrupts the thread, and what that costs is its CPU time.
                assert!((0.98..1.3).contains(&share), "{mode:?}: {used} ns instead of {wanted}");
            }
        }
    }

    #[test]
    fn a_stopped_job_ends_its_cycle() {
        let end = EndSignal::default();
        end.stop();
        assert!(used(CpuMode::Noop, 60_000_000_000, 1, &end) < 1_000_000_000);
    }
}
