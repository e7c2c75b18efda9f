//! Snapshots of a run for observers that export it (`--series`, `--metrics`). A run without them does none of this.

use fiord_stat::live::Totals;
use fiord_stat::progress::JobPhase;
use fiord_stat::samples::Samples;
use fiord_stat::snapshot::{JobCounts, JobSnapshot};
use fiord_sys::clock;
use fiord_types::{Dir, Nanos, PerDir};

use super::progress::phase;
use super::{JobEnd, Standing, estimate_job};
use crate::job::control::{JobControl, Phase};
use crate::shared::{Run, Shared};
use crate::worker_result::{DeliveredCounts, WorkerResult};

/// How long a snapshot waits for the counts before it looks for them, ns. A worker delivers them after the batch that it
/// works on.
const PATIENCE: u64 = 50_000_000;

/// Maximum time that a snapshot waits for the counts, ns: a worker on a busy machine has no CPU for some time. After that
/// the worker is taken to be in a system call, and its latencies are in a later snapshot.
const MAX_WAIT: u64 = 500_000_000;

/// Collects the counts of the jobs for snapshots.
#[derive(Debug)]
pub(crate) struct SnapshotMeter {
    /// Time between two snapshots, ns.
    interval: u64,
    /// When the next snapshot is due, ns.
    due: u64,
    /// When the counts of the next snapshot were requested, ns.
    requested: Option<u64>,
    /// When to look for the requested counts, ns.
    look: u64,
    /// The latest counts of each job, as far as they belong to its present part: its ramp or what follows.
    latest: Vec<DeliveredCounts>,
}

/// What the conductor knows about a job.
pub(crate) struct KnownJob<'a> {
    /// How far it is.
    pub standing: Standing,
    /// How it ended.
    pub end: JobEnd,
    /// Results of the job, once it has ended.
    pub worker: Option<&'a WorkerResult>,
}

impl SnapshotMeter {
    /// Snapshots every `interval` from `began`, ns.
    pub(crate) fn begin(interval: Nanos, began: u64, jobs: usize) -> Self {
        let interval = interval.0.max(1);
        let due = began.saturating_add(interval);
        let latest = vec![DeliveredCounts::default(); jobs];
        SnapshotMeter { interval, due, requested: None, look: 0, latest }
    }

    /// When [`SnapshotMeter::due`] has something to do, ns.
    pub(crate) fn next(&self) -> u64 {
        if self.requested.is_some() { self.look } else { self.due }
    }

    /// The time of the snapshot that must be taken now, ns: when its counts were requested. `None`: none. `jobs`: those of
    /// the run.
    pub(crate) fn due<'a>(
        &mut self,
        jobs: impl Iterator<Item = &'a JobControl>,
        now: u64,
    ) -> Option<u64> {
        if now < self.next() {
            return None;
        }
        let measured = |job: &&JobControl| (Phase::Ramp..Phase::Ended).contains(&job.phase());
        let mut running = jobs.filter(measured);
        let Some(requested) = self.requested else {
            let missed = (now - self.due) / self.interval;
            self.due = self.due.saturating_add(self.interval.saturating_mul(missed + 1));
            self.requested = Some(now);
            self.look = now.saturating_add(PATIENCE.min(self.interval / 2));
            running.for_each(JobControl::request_counts);
            return None;
        };
        let latest = requested.saturating_add(MAX_WAIT.min(self.interval / 2));
        if now < latest && running.any(JobControl::counts_wanted) {
            self.look = now.saturating_add(PATIENCE).min(latest);
            return None;
        }
        self.requested = None;
        Some(requested)
    }

    /// The state of each job. `began`: when the run began, ns. `at`: time of the snapshot, ns. `last`: the run is over.
    pub(crate) fn jobs<'a>(
        &mut self,
        run: &Run,
        known: impl Iterator<Item = KnownJob<'a>>,
        began: u64,
        at: u64,
        last: bool,
    ) -> Vec<JobSnapshot> {
        let elapsed = at.saturating_sub(began);
        let now = clock::monotonic();
        let jobs = run.jobs.iter().zip(&mut self.latest).zip(&run.plan.jobs).zip(known);
        let one = |(((shared, latest), job), known): (((&Shared, &mut _), _), KnownJob<'a>)| {
            let mut phase = phase(job, shared.control.phase(), known.end);
            let at = update(latest, shared, &mut phase, known.worker, now);
            let (eta, done) = estimate_job(job, &known.standing, elapsed);
            let virtual_time = job.engine.def().virtual_time;
            let samples = known.worker.filter(|_| last && virtual_time);
            JobSnapshot {
                name: job.identity.name.clone(),
                phase,
                at: Nanos(at.saturating_sub(began)),
                uses: PerDir::from_fn(|dir| job.load.mix.has(dir)),
                totals: latest.totals,
                counts: latest.counts.clone(),
                done,
                eta: eta.map(Nanos::from_secs),
                virtual_time,
                samples: samples.map_or_else(Samples::default, |worker| worker.samples.clone()),
            }
        };
        jobs.map(one).collect()
    }
}

/// Brings the counts of a job up to date. Returns when they were taken, ns.
fn update(
    latest: &mut DeliveredCounts,
    shared: &Shared,
    phase: &mut JobPhase,
    worker: Option<&WorkerResult>,
    now: u64,
) -> u64 {
    if let Some(worker) = worker {
        *latest = DeliveredCounts {
            at: Nanos(now),
            in_ramp: false,
            totals: JobCounts::totals(&worker.recorder),
            counts: match &worker.counts {
                Some(counts) => JobCounts::clone(counts),
                None => JobCounts::of(&worker.recorder),
            },
        };
        return now;
    }
    if let Some(delivered) = shared.control.take_counts() {
        *latest = *delivered;
        if latest.in_ramp && phase.is_running() {
            *phase = JobPhase::Ramping;
        }
        return latest.at.0;
    }
    if latest.in_ramp && *phase != JobPhase::Ramping {
        *latest = DeliveredCounts::default();
    }
    // It is in a system call: its bytes and I/Os are known, and their latencies follow with the next snapshot.
    let live = shared.live.totals();
    let is_more =
        |live: &Totals| Dir::ALL.iter().any(|dir| live.ios[*dir] > latest.totals.ios[*dir]);
    if is_more(&live) {
        latest.totals = live;
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A meter whose counts were requested at 1 s, and two jobs that run.
    fn requested() -> (SnapshotMeter, [JobControl; 2]) {
        let jobs = [JobControl::new(), JobControl::new()];
        jobs.iter().for_each(|job| job.set_phase(Phase::Running));
        let mut meter = SnapshotMeter::begin(Nanos::from_secs(1), 0, jobs.len());
        assert_eq!(meter.next(), 1000 * MS);
        assert_eq!(meter.due(jobs.iter(), 1000 * MS), None);
        assert!(jobs.iter().all(JobControl::counts_wanted));
        (meter, jobs)
    }

    #[test]
    fn a_snapshot_waits_for_the_counts_of_a_worker_that_has_no_cpu() {
        let (mut meter, jobs) = requested();
        jobs[0].deliver_counts(Box::default());
        assert_eq!((meter.next(), meter.due(jobs.iter(), 1050 * MS)), (1050 * MS, None));
        assert_eq!((meter.next(), meter.due(jobs.iter(), 1120 * MS)), (1100 * MS, None));
        jobs[1].deliver_counts(Box::default());
        assert_eq!(meter.due(jobs.iter(), 1170 * MS), Some(1000 * MS));
        assert_eq!(meter.next(), 2000 * MS);
    }

    #[test]
    fn a_snapshot_does_not_wait_for_a_job_that_has_ended_or_is_in_a_long_system_call() {
        let (mut meter, jobs) = requested();
        jobs.iter().for_each(|job| job.set_phase(Phase::Ended));
        assert_eq!(meter.due(jobs.iter(), 1050 * MS), Some(1000 * MS));
        let (mut meter, jobs) = requested();
        assert_eq!((meter.due(jobs.iter(), 1490 * MS), meter.next()), (None, 1500 * MS));
        assert_eq!(meter.due(jobs.iter(), 1500 * MS), Some(1000 * MS));
        assert_eq!(meter.next(), 2000 * MS);
    }
}
