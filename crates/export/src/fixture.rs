//! Snapshots for tests.

use fiord_stat::progress::{JobPhase, RunKind};
use fiord_stat::recorder::{Recorder, Times, axes};
use fiord_stat::snapshot::{JobCounts, JobSnapshot, RunSnapshot};
use fiord_types::{Bytes, Dir, Nanos, PerDir};

/// A job that has done `ios` reads of 4 KiB, with latencies from 1 to `ios` times 100 us.
pub(crate) fn job(name: &str, phase: JobPhase, ios: u64) -> JobSnapshot {
    let mut recorder = Recorder::new(axes::SYNC, &[Dir::Read]);
    for n in 1..=ios {
        let times = Times { clat: Nanos::from_micros(100 * n), ..Times::default() };
        recorder.complete::<{ axes::SYNC }>(Dir::Read, Bytes(4096), times);
    }
    let mut job = JobSnapshot {
        name: name.into(),
        phase,
        at: Nanos::ZERO,
        uses: PerDir::new(true, false, false),
        totals: Default::default(),
        counts: JobCounts::of(&recorder),
        done: Some(0.25),
        eta: Some(Nanos::from_secs(3)),
        virtual_time: false,
        samples: Default::default(),
    };
    job.totals.ios[Dir::Read] = ios;
    job.totals.bytes[Dir::Read] = Bytes(4096 * ios);
    job
}

/// A run that has lasted `ms` milliseconds.
pub(crate) fn run(ms: u64, mut jobs: Vec<JobSnapshot>) -> RunSnapshot {
    jobs.iter_mut().for_each(|job| job.at = Nanos::from_millis(ms));
    RunSnapshot {
        elapsed: Nanos::from_millis(ms),
        done: Some(0.25),
        eta: Some(Nanos::from_secs(3)),
        jobs,
        last: false,
    }
}

pub(crate) const READING: JobPhase = JobPhase::Running(RunKind::RandRead);
