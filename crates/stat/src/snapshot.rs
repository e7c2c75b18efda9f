//! What the jobs of a run have done so far, for observers that export it (`--series`, `--metrics`). All counts go back
//! to the beginning, so an observer that misses a snapshot loses resolution and no I/O.

use fiord_types::{Dir, Nanos, PerDir};
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::live::Totals;
use crate::progress::JobPhase;
use crate::recorder::{DirRecorder, Recorder};
use crate::samples::Samples;
use crate::summary::Summary;

/// The state of a run at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSnapshot {
    /// Time since the run began.
    pub elapsed: Nanos,
    /// Share of the run that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Estimated time left, in whole seconds; `None` if unknown.
    pub eta: Option<Nanos>,
    /// The jobs, in the order of the plan.
    pub jobs: Vec<JobSnapshot>,
    /// The run is over: there is no later snapshot, and the counts are those of the report.
    pub last: bool,
}

/// The state of one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSnapshot {
    pub name: String,
    /// What the job does.
    pub phase: JobPhase,
    /// Time since the run began at which `totals` and `counts` were taken: when its worker delivered them for this
    /// snapshot, usually within microseconds.
    pub at: Nanos,
    /// Directions that the job uses.
    pub uses: PerDir<bool>,
    /// Bytes and I/Os since the job began, or since the end of its ramp.
    pub totals: Totals,
    /// What its worker counted last. A worker that waits in a system call delivers nothing new until it returns.
    pub counts: JobCounts,
    /// Share of its work or of its run time that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Estimated time left, in whole seconds; `None` if unknown.
    pub eta: Option<Nanos>,
    /// The job has a clock of its own (`ioengine=sim`), so its rates cannot be computed from the times of the snapshots.
    pub virtual_time: bool,
    /// What a job with a clock of its own did in windows of its time; only in the last snapshot.
    #[serde(default, skip_serializing_if = "Samples::is_empty")]
    pub samples: Samples,
}

/// What a worker counts and does not publish in [`crate::live::Live`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCounts {
    /// Latencies by direction.
    pub latencies: PerDir<LatencyCounts>,
    errors: u64,
}

impl JobCounts {
    #[must_use]
    pub fn of(recorder: &Recorder) -> Self {
        let latencies = PerDir::from_fn(|dir| LatencyCounts::of(&recorder.dirs[dir]));
        JobCounts { latencies, errors: recorder.errors }
    }

    /// Bytes and I/Os of a recorder.
    #[must_use]
    pub fn totals(recorder: &Recorder) -> Totals {
        let totals = recorder.totals();
        Totals { bytes: totals.map(|(bytes, _)| bytes), ios: totals.map(|(_, ios)| ios) }
    }

    /// Errors that did not end the job (`continue_on_error`).
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors
    }
}

/// The latencies of one direction since the job began, or since the end of its ramp.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyCounts {
    /// Completion latencies; total latencies if only these have a histogram; empty if none has.
    pub histogram: Histogram,
    /// Number and sum of the latencies in `histogram`, ns; of completion latencies if it is empty.
    pub summary: Summary,
    /// Number and sum of the times in which the I/Os were in flight, ns: total latencies if they are measured.
    pub in_flight: Summary,
}

impl LatencyCounts {
    fn of(dir: &DirRecorder) -> Self {
        let only_total = dir.clat_hist.is_empty() && !dir.lat_hist.is_empty();
        let (histogram, summary) = match only_total {
            true => (&dir.lat_hist, dir.lat),
            false => (&dir.clat_hist, dir.clat),
        };
        let in_flight = if dir.lat.n() > 0 { dir.lat } else { dir.clat };
        LatencyCounts { histogram: histogram.clone(), summary, in_flight }
    }
}

impl JobSnapshot {
    /// The directions that the job uses or has used.
    pub fn dirs(&self) -> impl Iterator<Item = Dir> + '_ {
        Dir::ALL.into_iter().filter(|dir| self.uses[*dir] || self.totals.ios[*dir] > 0)
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::Bytes;

    use super::*;
    use crate::recorder::{Times, axes};

    #[test]
    fn counts_are_completion_latencies_and_times_in_flight() {
        let mut recorder = Recorder::new(axes::ASYNC, &[Dir::Read]);
        let times = Times { slat: Nanos(10), clat: Nanos(100), lat: Nanos(110) };
        recorder.complete::<{ axes::ASYNC }>(Dir::Read, Bytes(512), times);
        let counts = JobCounts::of(&recorder);
        let read = &counts.latencies[Dir::Read];
        assert_eq!(
            (read.histogram.count(), read.summary.sum(), read.in_flight.sum()),
            (1, 100, 110)
        );
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(serde_json::from_str::<JobCounts>(&text).unwrap(), counts);
    }

    #[test]
    fn total_latencies_take_the_place_of_missing_completion_latencies() {
        const LAT: u32 = axes::LAT | axes::LAT_HIST;
        let mut recorder = Recorder::new(LAT, &[Dir::Write]);
        let times = Times { lat: Nanos(110), ..Times::default() };
        recorder.complete::<LAT>(Dir::Write, Bytes(512), times);
        let counts = JobCounts::of(&recorder);
        let write = &counts.latencies[Dir::Write];
        assert_eq!((write.histogram.count(), write.summary.sum()), (1, 110));
    }
}
