//! Computes the progress of the run and of each job: rates since the last event, and what is left.

use fiord_plan::{JobPlan, Mix, Plan, Rate, Reporting, Unified};
use fiord_stat::live::Totals;
use fiord_stat::progress::{IntervalLatency, JobPhase, JobProgress, Progress, RunKind};
use fiord_stat::report::NumberStyle;
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use super::{Standing, estimate, estimate_job};
use crate::job::control::Phase;
use crate::shared::Run;

/// Keeps the totals of the last event, to compute the rates of the next.
#[derive(Debug)]
pub(crate) struct Meter {
    last: Vec<Totals>,
    last_ns: u64,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// The job has not ended.
    None,
    /// The job has ended without an error.
    Succeeded,
    /// The job has ended with an error.
    Failed,
}

impl Meter {
    /// A meter for `jobs` jobs, starting at `now` with all totals 0.
    pub(crate) fn new(jobs: usize, now: u64) -> Self {
        Meter { last: vec![Totals::default(); jobs], last_ns: now }
    }

    /// The numbers at `now`. For each job, `standings` has how far it is, `outcomes` how it ended, and `latencies`
    /// its latencies since the last event; `latencies` may be shorter.
    pub(crate) fn progress(
        &mut self,
        run: &Run,
        standings: &[Standing],
        outcomes: &[JobEnd],
        latencies: Vec<Option<PerDir<IntervalLatency>>>,
        (began, now): (u64, u64),
    ) -> Progress {
        let plan: &Plan = &run.plan;
        let spent = now.saturating_sub(self.last_ns).max(1);
        let elapsed = now.saturating_sub(began);
        let per_second = |n: u64| (u128::from(n) * 1_000_000_000 / u128::from(spent)) as u64;
        let bytes_per_second = |bytes: Bytes| Bytes(per_second(bytes.0));
        let mut bytes = PerDir::all(Bytes::ZERO);
        let mut ios = PerDir::all(0);
        let mut jobs = Vec::with_capacity(plan.jobs.len());
        let mut latencies = latencies.into_iter();
        let mut open_files = 0;
        let mut limits = Limits::default();
        for (index, job) in plan.jobs.iter().enumerate() {
            let shared = &run.jobs[index];
            let totals = shared.live.totals();
            let last = std::mem::replace(&mut self.last[index], totals);
            let more = Totals {
                bytes: PerDir::from_fn(|dir| Bytes(grown(totals.bytes[dir].0, last.bytes[dir].0))),
                ios: PerDir::from_fn(|dir| grown(totals.ios[dir], last.ios[dir])),
            };
            for dir in Dir::ALL {
                bytes[dir] += more.bytes[dir];
                ios[dir] += more.ios[dir];
            }
            let phase = phase(job, shared.control.phase(), outcomes[index]);
            let reads_back = standings[index].read_back.is_some();
            let phase = match phase {
                JobPhase::Running(_) if reads_back => JobPhase::Verifying,
                phase => phase,
            };
            if phase.is_running() {
                open_files += u64::from(job.target.open_files).min(job.target.files.len() as u64);
                limits.add(job);
            }
            let (eta, done) = estimate_job(job, &standings[index], elapsed);
            jobs.push(JobProgress {
                phase,
                totals,
                bw: more.bytes.map(bytes_per_second),
                iops: more.ios.map(per_second),
                latency: latencies.next().flatten(),
                done,
                eta: eta.map(Nanos::from_secs),
                behind: run.jobs[index].live.behind().filter(|_| phase.is_running()),
            });
        }
        self.last_ns = now;
        let (eta, done) = estimate(&plan.jobs, standings, elapsed);
        Progress {
            interval: Nanos(spent),
            jobs,
            open_files,
            done,
            bw: bytes.map(bytes_per_second),
            iops: ios.map(per_second),
            rate_limits: limits.bytes,
            rate_iops_limits: limits.ios,
            eta: eta.map(Nanos::from_secs),
            elapsed: Nanos::from_secs(Nanos(elapsed).as_secs()),
            style: plan.jobs.first().map(|job| style(&job.reporting)).unwrap_or_default(),
            unified: plan.jobs.iter().any(|job| job.reporting.unified == Unified::Mixed),
        }
    }
}

/// How the job's numbers are printed.
pub(crate) fn style(reporting: &Reporting) -> NumberStyle {
    NumberStyle {
        figures: u32::from(reporting.significant_figures),
        kb_base: reporting.kb_base,
        bits: reporting.unit_base == 1,
    }
}

/// Minimum and maximum rates of all running jobs together.
#[derive(Debug, Default)]
struct Limits {
    bytes: (Bytes, Bytes),
    ios: (u64, u64),
}

impl Limits {
    /// Adds the minimum and maximum rates of the directions that a job uses.
    fn add(&mut self, job: &JobPlan) {
        for dir in job.load.mix.dirs() {
            match job.pace.min_rate[dir] {
                Some(Rate::Bytes(n)) => self.bytes.0 = self.bytes.0.saturating_add(Bytes(n)),
                Some(Rate::Ios(n)) => self.ios.0 = self.ios.0.saturating_add(n),
                None => {}
            }
            match job.pace.rate[dir] {
                Some(Rate::Bytes(n)) => self.bytes.1 = self.bytes.1.saturating_add(Bytes(n)),
                Some(Rate::Ios(n)) => self.ios.1 = self.ios.1.saturating_add(n),
                None => {}
            }
        }
    }
}

/// The increase of a counter. Counters restart at zero at the end of the ramp.
fn grown(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

pub(super) fn phase(job: &JobPlan, phase: Phase, outcome: JobEnd) -> JobPhase {
    match (outcome, phase) {
        (JobEnd::Failed, _) => JobPhase::Failed,
        (JobEnd::Succeeded, _) => JobPhase::Reaped,
        (_, Phase::NotStarted) => JobPhase::Waiting,
        (_, Phase::SetUp) if job.target.layout.pre_read => JobPhase::PreReading,
        (_, Phase::SetUp) => JobPhase::Created,
        (_, Phase::Waiting) => JobPhase::Initialized,
        (_, Phase::Ramp) => JobPhase::Ramping,
        (_, Phase::Running) => JobPhase::Running(kind(job)),
        (_, Phase::Finishing) => JobPhase::Finishing,
        (_, Phase::Ended) => JobPhase::Exited,
    }
}

fn kind(job: &JobPlan) -> RunKind {
    match (job.load.mix, job.load.random) {
        (Mix::Read, false) => RunKind::Read,
        (Mix::Read, true) => RunKind::RandRead,
        (Mix::Write, false) => RunKind::Write,
        (Mix::Write, true) => RunKind::RandWrite,
        (Mix::Trim, false) => RunKind::Trim,
        (Mix::Trim, true) => RunKind::RandTrim,
        (mix, random) if mix.has(Dir::Read) && random => RunKind::RandMixed,
        (mix, _) if mix.has(Dir::Read) => RunKind::Mixed,
        (_, true) => RunKind::RandWrite,
        (_, false) => RunKind::Write,
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, JobPlan, Mix, Rate};
    use fiord_types::{Bytes, PerDir};

    use super::Limits;

    /// fio 3.42: `rw=randrw` with `rate_iops=1000,500` shows `0-1500 IOPS`, with `,500` `0-500 IOPS`;
    /// `rate=1m` with `rate_iops=100` in another job shows `0B/s-1024KiB/s`; the rate of a direction that the
    /// job does not use does not count.
    #[test]
    fn only_rates_of_directions_in_use_count() {
        let mut mixed = JobPlan::plain(EnginePlan::Null, 1 << 20);
        mixed.load.mix = Mix::ReadWrite { read_percent: 50 };
        mixed.pace.rate = PerDir::new(1000, 500, 9).map(|n| Some(Rate::Ios(n)));
        let mut limits = Limits::default();
        limits.add(&mixed);
        assert_eq!((limits.bytes, limits.ios), ((Bytes::ZERO, Bytes::ZERO), (0, 1500)));
        let mut reads = JobPlan::plain(EnginePlan::Null, 1 << 20);
        reads.load.mix = Mix::Read;
        reads.pace.rate = PerDir::all(Some(Rate::Bytes(1 << 20)));
        reads.pace.min_rate = PerDir::all(Some(Rate::Bytes(102_400)));
        limits.add(&reads);
        assert_eq!((limits.bytes, limits.ios), ((Bytes(102_400), Bytes(1 << 20)), (0, 1500)));
    }
}
