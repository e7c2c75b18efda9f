//! Snapshots of a run for observers that export it (`--series`, `--metrics`). A run without them does none of this.

use fiord_stat::live::Totals;
use fiord_stat::progress::JobPhase;
use fiord_stat::samples::Samples;
use fiord_stat::snapshot::{JobCounts, JobSnapshot};
use fiord_sys::clock;
use fiord_types::{Dir, Nanos, PerDir};

use super::progress::phase;
use super::{JobEnd, Standing, estimate_job};
use crate::control::Phase;
use crate::shared::{Run, Shared};
use crate::worker::{DeliveredCounts, WorkerResult};

/// How long a snapshot waits for the counts, ns. A worker delivers them after the batch that it works on.
const PATIENCE: u64 = 50_000_000;

/// Collects the counts of the jobs for snapshots.
#[derive(Debug)]
pub(crate) struct SnapshotMeter {
    /// Time between two snapshots, ns.
    interval: u64,
    /// When the next snapshot is due, ns.
    due: u64,
    /// When the counts of the next snapshot were requested, ns.
    requested: Option<u64>,
    /// The latest counts of each job, as far as they belong to its present part: its ramp or what follows.
    latest: Vec<DeliveredCounts>,
}

/// What the conductor knows about a job.
pub(crate) struct KnownJob<'a> {
    /// How far it is.
    pub standing: Standing,
    /// How it ended.
    pub end: JobEnd,
    /// Its results, once it has ended.
    pub worker: Option<&'a WorkerResult>,
}

impl SnapshotMeter {
    /// Snapshots every `interval` from `began`, ns.
    pub(crate) fn begin(interval: Nanos, began: u64, jobs: usize) -> Self {
        let interval = interval.0.max(1);
        let due = began.saturating_add(interval);
        let latest = vec![DeliveredCounts::default(); jobs];
        SnapshotMeter { interval, due, requested: None, latest }
    }

    /// When [`SnapshotMeter::due`] has something to do, ns.
    pub(crate) fn next(&self) -> u64 {
        let patience = PATIENCE.min(self.interval / 2);
        self.requested.map_or(self.due, |at| at.saturating_add(patience))
    }

    /// The time of the snapshot that must be taken now, ns: when its counts were requested. `None`: none.
    pub(crate) fn due(&mut self, run: &Run, now: u64) -> Option<u64> {
        if now < self.next() {
            return None;
        }
        let Some(requested) = self.requested.take() else {
            let missed = (now - self.due) / self.interval;
            self.due = self.due.saturating_add(self.interval.saturating_mul(missed + 1));
            self.requested = Some(now);
            let measured = |phase| (Phase::Ramp..Phase::Ended).contains(&phase);
            let running = run.jobs.iter().filter(|job| measured(job.control.phase()));
            running.for_each(|job| job.control.request_counts());
            return None;
        };
        Some(requested)
    }

    /// The state of each job. `began`: when the run began, ns. `at`: time of the snapshot, ns. `last`: the run is over.
    pub(crate) fn jobs<'a>(
        &mut self,
        run: &Run,
        known: impl Iterator<Item = KnownJob<'a>>,
        (began, at): (u64, u64),
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
            counts: JobCounts::of(&worker.recorder),
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
