//! The clock that times a job's I/O: `clocksource`, `gtod_cpu`.

use fiord_engine::MachineClock;
use fiord_plan::{ClockSource, JobPlan, Plan};
use fiord_sys::clock::{Clock, Publisher, TimeSource};

use crate::error::{JobError, Stage};

/// The clocks of a run. Owns the clock thread of `gtod_cpu`.
#[derive(Debug, Default)]
pub(crate) struct Timebase {
    publisher: Option<Result<Publisher, JobError>>,
}

impl Timebase {
    /// Starts the clocks that the jobs of a plan need. A run has one clock thread at most, on the CPU that the
    /// first job with `gtod_cpu` names.
    pub(crate) fn start(plan: &Plan) -> Self {
        let on = plan.jobs.iter().find_map(|job| job.record.clock_cpu);
        let start = |on: u32| {
            Publisher::start(Some(on as usize)).map_err(|e| {
                let detail = format!(
                    "cannot start the clock thread on CPU {on}: {} failed. To fix: set gtod_cpu to \
                     a CPU that this process may use",
                    e.op
                );
                JobError::new(Stage::GtodCpu, e.errno, detail)
            })
        };
        Timebase { publisher: on.map(start) }
    }

    /// The clock of a job. Fails if the machine cannot provide it.
    pub(crate) fn clock(&self, job: &JobPlan) -> Result<MachineClock, JobError> {
        if let (Some(publisher), Some(_)) = (&self.publisher, job.record.clock_cpu) {
            return match publisher {
                Ok(publisher) => Ok(MachineClock(publisher.clock())),
                Err(error) => Err(error.clone()),
            };
        }
        let source = match job.record.clock {
            None => return Ok(MachineClock::best()),
            Some(ClockSource::Gettimeofday) => TimeSource::GetTimeOfDay,
            Some(ClockSource::ClockGettime) => TimeSource::ClockGetTime,
            Some(ClockSource::Cpu) => TimeSource::Cpu,
        };
        Clock::with_source(source).map(MachineClock).map_err(|e| {
            let why = fiord_sys::clock::why_not_cpu().unwrap_or("not available");
            JobError::new(Stage::ClockSource, e.errno, format!("{}: {why}", source.word()))
        })
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::EnginePlan;

    use super::*;

    #[test]
    fn each_clocksource_gives_its_clock() {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        let base = Timebase::default();
        for (word, source) in [
            (ClockSource::Gettimeofday, TimeSource::GetTimeOfDay),
            (ClockSource::ClockGettime, TimeSource::ClockGetTime),
        ] {
            job.record.clock = Some(word);
            assert_eq!(base.clock(&job).unwrap().0.source(), source);
        }
        job.record.clock_cpu = fiord_sys::cpu::allowed().unwrap().iter().next().map(|c| c as u32);
        let plan = Plan { jobs: vec![job], global_options: Vec::new() };
        let base = Timebase::start(&plan);
        assert_eq!(base.clock(&plan.jobs[0]).unwrap().0.source(), TimeSource::Published);
    }
}
