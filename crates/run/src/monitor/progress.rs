//! The live line's numbers.

use fiord_plan::{Dir, JobPlan, Mix, Plan, Unified};
use fiord_stat::live::Totals;
use fiord_stat::progress::{JobPhase, Progress, RunKind};

use super::{Standing, estimate};
use crate::control::Phase;
use crate::report::style;
use crate::shared::Run;

/// Remembers the totals of the last line, for the rates of the next.
#[derive(Debug)]
pub(crate) struct Meter {
    last: Vec<Totals>,
    last_ns: u64,
}

/// How each job stands besides what its thread says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has not ended.
    None,
    /// It has ended well.
    Well,
    /// It has failed.
    Failed,
}

impl Meter {
    /// From the start of the run.
    pub fn new(jobs: usize, now: u64) -> Self {
        Meter { last: vec![Totals::default(); jobs], last_ns: now }
    }

    /// The numbers at `now`. `standings` says how far each job is, `outcomes` how it ended.
    pub fn progress(
        &mut self,
        run: &Run,
        standings: &[Standing],
        outcomes: &[Outcome],
        (began, now): (u64, u64),
    ) -> Progress {
        let plan: &Plan = &run.plan;
        let spent = now.saturating_sub(self.last_ns).max(1);
        let mut bytes = [0u64; 3];
        let mut ios = [0u64; 3];
        let mut phases = Vec::with_capacity(plan.jobs.len());
        let mut open_files = 0;
        for (index, job) in plan.jobs.iter().enumerate() {
            let shared = &run.jobs[index];
            let totals = shared.live.totals();
            for dir in 0..3 {
                bytes[dir] += grown(totals.bytes[dir], self.last[index].bytes[dir]);
                ios[dir] += grown(totals.ios[dir], self.last[index].ios[dir]);
            }
            self.last[index] = totals;
            let phase = phase(job, shared.control.phase(), outcomes[index]);
            if phase.is_running() {
                open_files += u64::from(job.target.open_files).min(job.target.files.len() as u64);
            }
            phases.push(phase);
        }
        self.last_ns = now;
        let elapsed = now.saturating_sub(began);
        let (eta_s, done) = estimate(&plan.jobs, standings, elapsed);
        let per_second = |n: u64| (u128::from(n) * 1_000_000_000 / u128::from(spent)) as u64;
        Progress {
            phases,
            open_files,
            done,
            bw: bytes.map(per_second),
            iops: ios.map(per_second),
            rate_limits: (0, 0),
            rate_iops_limits: (0, 0),
            eta_s,
            elapsed_s: elapsed / 1_000_000_000,
            style: plan.jobs.first().map(|job| style(&job.reporting)).unwrap_or_default(),
            unified: plan.jobs.iter().any(|job| job.reporting.unified == Unified::Mixed),
        }
    }
}

/// What was added; counters begin again at zero when the ramp is over.
fn grown(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

fn phase(job: &JobPlan, phase: Phase, outcome: Outcome) -> JobPhase {
    match (outcome, phase) {
        (Outcome::Failed, _) => JobPhase::Failed,
        (Outcome::Well, _) => JobPhase::Reaped,
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
