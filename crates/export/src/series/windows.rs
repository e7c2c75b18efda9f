//! The rows of a job with a clock of its own (`ioengine=sim`): they come at the end of the run, from the windows of its
//! samples, because the times of snapshots say nothing about such a clock.

use fiord_stat::progress::{JobPhase, RunKind};
use fiord_stat::samples::{SampleLatencies, WindowSample};
use fiord_stat::snapshot::JobSnapshot;
use fiord_types::{JobIndex, Nanos};

use super::{RowLatencies, SERIES_PERCENTILES, SeriesRow};

/// Adds the rows of a job. Its samples are empty before the end of the run. Windows that are longer than `interval` are
/// a row each.
pub(super) fn rows<'a>(
    host: &'a str,
    interval: Nanos,
    begin: Nanos,
    index: usize,
    job: &'a JobSnapshot,
    rows: &mut Vec<SeriesRow<'a>>,
) {
    let samples = &job.samples;
    for dir in job.dirs() {
        let list = samples.dir(dir);
        let mut sum = WindowSample::default();
        let mut from = samples.begin();
        for (at, (_, to)) in samples.spans().enumerate() {
            if let Some(sample) = list.get(at) {
                sum.merge(sample);
            }
            let next = Nanos((from / interval.max(Nanos(1)) + 1).saturating_mul(interval.0));
            if to < next && to < samples.end() {
                continue;
            }
            let sum = std::mem::take(&mut sum);
            rows.push(SeriesRow {
                host,
                job: &job.name,
                index: JobIndex::at(index),
                dir,
                phase: phase(job, to),
                time: begin.saturating_add(to),
                elapsed: to,
                interval: to.saturating_sub(from),
                ios: sum.ios(),
                bytes: sum.bytes(),
                latencies: latencies(sum.latencies()),
            });
            from = to;
        }
    }
}

/// What the job did up to this time.
fn phase(job: &JobSnapshot, to: Nanos) -> JobPhase {
    match job.phase {
        JobPhase::Failed if to == job.samples.end() => JobPhase::Failed,
        _ if to <= job.samples.measured() && job.samples.begin() < job.samples.measured() => {
            JobPhase::Ramping
        }
        // Only the word of the phase is written.
        _ => JobPhase::Running(RunKind::Mixed),
    }
}

fn latencies(of: &SampleLatencies) -> RowLatencies {
    let percentiles = SERIES_PERCENTILES.iter().filter_map(|percent| of.percentile(*percent));
    let mean = mean(of);
    RowLatencies { mean, percentiles: percentiles.collect(), in_flight: mean }
}

/// The mean, with each latency in the middle of its bucket.
fn mean(of: &SampleLatencies) -> Option<f64> {
    let (mut n, mut sum) = (0u64, 0.0);
    for bucket in of.buckets() {
        let middle = (bucket.from().as_f64() + bucket.to().as_f64()) / 2.0;
        n += bucket.count();
        sum += middle * bucket.count() as f64;
    }
    (n > 0).then(|| sum / n as f64)
}

#[cfg(test)]
mod tests {
    use fiord_stat::samples::{SHORTEST_WINDOW, Samples};
    use fiord_types::{Bytes, Dir, PerDir};

    use super::*;
    use crate::fixture::{READING, job};

    #[test]
    fn windows_become_rows_of_the_interval() {
        let window = SHORTEST_WINDOW * 8;
        let of = |ios| {
            WindowSample::new(ios, Bytes(512 * ios), SampleLatencies::of_values([Nanos(1000)]))
        };
        let dirs = PerDir::new((1..=9).map(of).collect(), Vec::new(), Vec::new());
        let (begin, end) = (window / 2, window * 9);
        let mut job = job("a", READING, 0);
        job.samples = Samples::new(begin, begin, end, window, dirs);
        let counts = |interval| {
            let mut list = Vec::new();
            rows("h", interval, Nanos::ZERO, 0, &job, &mut list);
            assert!(list.iter().all(|row| row.dir == Dir::Read && row.latencies.mean.is_some()));
            list.iter().map(|row| (row.ios, row.elapsed.as_millis())).collect::<Vec<_>>()
        };
        // Windows of 250 ms.
        assert_eq!(counts(Nanos::from_secs(1)), [(10, 1000), (26, 2000), (9, 2250)]);
        assert_eq!(counts(Nanos::from_millis(10)).len(), 9);
        assert_eq!(counts(Nanos::from_millis(700)), [(6, 750), (15, 1500), (24, 2250)]);
    }
}
