//! Rows from the samples of a job. Those of a job with a clock of its own (`ioengine=sim`) come at the end of the run,
//! because the times of snapshots say nothing about such a clock; those of a finished run come from its report.

use fiord_stat::progress::{JobPhase, RunKind};
use fiord_stat::samples::{Samples, WindowSample};
use fiord_types::{Dir, JobIndex, Nanos, PerDir};

use super::{RowLatencies, SERIES_PERCENTILES, SeriesRow, largest};

pub(super) struct SampledJob<'a> {
    pub(super) host: &'a str,
    pub(super) name: &'a str,
    pub(super) index: JobIndex,
    pub(super) samples: &'a Samples,
    pub(super) failed: bool,
    /// The largest latency of the job, by direction.
    pub(super) largest: PerDir<Nanos>,
}

/// Adds the rows of a job in one direction. `begin`: when the run began, since 1970 (UTC). Its samples are empty before the
/// end of the run. Windows that are longer than `interval` are a row each.
pub(super) fn rows<'a>(
    job: &SampledJob<'a>,
    dir: Dir,
    begin: Nanos,
    interval: Nanos,
    rows: &mut Vec<SeriesRow<'a>>,
) {
    let samples = job.samples;
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
            host: job.host,
            job: job.name,
            index: job.index,
            dir,
            phase: phase(job, to),
            time: begin.saturating_add(to),
            elapsed: to,
            interval: to.saturating_sub(from),
            ios: sum.ios(),
            bytes: sum.bytes(),
            // The largest latency is that of the measured part.
            latencies: latencies(
                &sum,
                Some(job.largest[dir]).filter(|_| from >= samples.measured()),
            ),
        });
        from = to;
    }
}

/// What the job did up to this time.
fn phase(job: &SampledJob<'_>, to: Nanos) -> JobPhase {
    match job.failed {
        true if to == job.samples.end() => JobPhase::Failed,
        _ if to <= job.samples.measured() && job.samples.begin() < job.samples.measured() => {
            JobPhase::Ramping
        }
        // Only the word of the phase is written.
        _ => JobPhase::Running(RunKind::Mixed),
    }
}

fn latencies(sample: &WindowSample, known: Option<Nanos>) -> RowLatencies {
    let of = sample.latencies();
    let percentiles = SERIES_PERCENTILES.iter().filter_map(|percent| of.percentile(*percent));
    let mut percentiles: Vec<Nanos> = percentiles.collect();
    if let (Some(last), Some(bucket)) = (percentiles.last_mut(), of.buckets().last()) {
        *last = largest((bucket.from(), bucket.to().saturating_sub(Nanos(1))), known);
    }
    let mean = sample.mean();
    RowLatencies { mean, percentiles, in_flight: mean }
}

#[cfg(test)]
mod tests {
    use fiord_stat::samples::{MIN_WINDOW, SampleLatencies};
    use fiord_types::Bytes;

    use super::*;

    #[test]
    fn windows_become_rows_of_the_interval() {
        let window = MIN_WINDOW * 8;
        let of = |ios| {
            WindowSample::new(ios, Bytes(512 * ios), SampleLatencies::of_values([Nanos(1000)]))
        };
        let dirs = PerDir::new((1..=9).map(of).collect(), Vec::new(), Vec::new());
        let (begin, end) = (window / 2, window * 9);
        let samples = Samples::new(begin, begin, end, window, dirs);
        let job = SampledJob {
            host: "h",
            name: "a",
            index: JobIndex(0),
            samples: &samples,
            failed: false,
            largest: PerDir::default(),
        };
        let counts = |interval| {
            let mut list = Vec::new();
            rows(&job, Dir::Read, Nanos::ZERO, interval, &mut list);
            assert!(list.iter().all(|row| row.dir == Dir::Read && row.latencies.mean.is_some()));
            list.iter().map(|row| (row.ios, row.elapsed.as_millis())).collect::<Vec<_>>()
        };
        // Windows of 250 ms.
        assert_eq!(counts(Nanos::from_secs(1)), [(10, 1000), (26, 2000), (9, 2250)]);
        assert_eq!(counts(Nanos::from_millis(10)).len(), 9);
        assert_eq!(counts(Nanos::from_millis(700)), [(6, 750), (15, 1500), (24, 2250)]);
    }
}
