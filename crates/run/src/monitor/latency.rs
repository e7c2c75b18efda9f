//! Latencies between two progress events, from snapshots of the running jobs.

use std::time::Duration;

use fiord_stat::histogram::Histogram;
use fiord_stat::progress::IntervalLatency;
use fiord_stat::recorder::DirRecorder;
use fiord_types::PerDir;

use crate::job::control::Phase;
use crate::shared::Run;

/// How long before an event the snapshots are requested, ns. A worker delivers its snapshot after the batch that it
/// works on.
pub(crate) const LEAD: u64 = 20_000_000;

/// Keeps the histograms of the last event, to compute the latencies since then.
#[derive(Debug)]
pub(crate) struct LatencyMeter {
    last: Vec<PerDir<Histogram>>,
    /// Snapshots are requested for the next event.
    pub requested: bool,
}

impl LatencyMeter {
    /// A meter for `jobs` jobs that have not begun.
    pub(crate) fn new(jobs: usize) -> Self {
        LatencyMeter { last: vec![Default::default(); jobs], requested: false }
    }

    /// Requests the snapshots for the next event.
    pub(crate) fn request(&mut self, run: &Run) {
        self.requested = true;
        let measured = |phase| (Phase::Ramp..Phase::Ended).contains(&phase);
        let running = run.jobs.iter().filter(|job| measured(job.control.phase()));
        running.for_each(|job| job.control.request_snapshot());
    }

    /// The latencies of each job since its last snapshot. `None` for a job that has delivered no new one: its next
    /// latencies cover this interval too.
    pub(crate) fn take(&mut self, run: &Run) -> Vec<Option<PerDir<IntervalLatency>>> {
        self.requested = false;
        let one = |(job, last): (&crate::shared::Shared, &mut PerDir<Histogram>)| {
            let snapshot = job.control.take_snapshot(Duration::ZERO)?;
            Some(PerDir::from_fn(|dir| {
                let now = latencies(&snapshot.recorder.dirs[dir]);
                let latency = IntervalLatency::of(now.since(&last[dir]));
                last[dir] = now.clone();
                latency
            }))
        };
        run.jobs.iter().zip(&mut self.last).map(one).collect()
    }
}

/// The histogram of the total latencies, or of the completion latencies if there is none.
fn latencies(dir: &DirRecorder) -> &Histogram {
    if dir.lat_hist.is_empty() { &dir.clat_hist } else { &dir.lat_hist }
}
