//! The rows of a time series: one for each job, direction and interval.
//!
//! | question | module |
//! |---|---|
//! | how is a row written | `text.rs` |
//! | where do rows go, and what if that fails | [`output`] |
//! | which rows does a job with a clock of its own have | `windows.rs` |
//! | how is a moment written as a date | `date.rs` |

mod date;
pub mod output;
mod text;
mod windows;

use std::borrow::Cow;

use fiord_stat::histogram::Histogram;
use fiord_stat::live::Totals;
use fiord_stat::progress::JobPhase;
use fiord_stat::report::Report;
use fiord_stat::snapshot::{JobCounts, JobSnapshot, RunSnapshot};
use fiord_stat::summary::Summary;
use fiord_types::{Bytes, Dir, JobIndex, Nanos, PerDir};

pub use text::{header, line};

use self::windows::SampledJob;
use crate::metrics::phase_word;

/// Percentages of the percentiles in a row. The last one is the largest latency, as `largest` computes it.
pub const SERIES_PERCENTILES: [f64; 7] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0];

/// What a column is for. It decides how the line protocol of InfluxDB writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnRole {
    /// The time of the row.
    Time,
    /// The column identifies a series.
    Tag,
    Field,
}

use ColumnRole::{Field, Tag, Time};

/// The columns, in their order.
const COLUMNS: [(&str, ColumnRole); 21] = [
    ("time", Time),
    ("elapsed_s", Field),
    ("interval_s", Field),
    ("host", Tag),
    ("job", Tag),
    ("job_index", Tag),
    ("direction", Tag),
    ("phase", Field),
    ("ios", Field),
    ("bytes", Field),
    ("iops", Field),
    ("bw_bytes", Field),
    ("lat_mean_ns", Field),
    ("lat_p50_ns", Field),
    ("lat_p90_ns", Field),
    ("lat_p95_ns", Field),
    ("lat_p99_ns", Field),
    ("lat_p99_9_ns", Field),
    ("lat_p99_99_ns", Field),
    ("lat_max_ns", Field),
    ("depth", Field),
];

/// The value of a column.
#[derive(Debug, Clone, PartialEq)]
enum Cell<'a> {
    /// A moment, since 1970 (UTC).
    Moment(Nanos),
    Text(Cow<'a, str>),
    Whole(u64),
    Decimal(f64),
    /// Unknown: no I/O completed in the interval, or the job does not measure it.
    Missing,
}

/// What a job did in one direction in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesRow<'a> {
    host: &'a str,
    job: &'a str,
    index: JobIndex,
    dir: Dir,
    phase: JobPhase,
    /// End of the interval, since 1970 (UTC).
    time: Nanos,
    /// End of the interval, since the run began.
    elapsed: Nanos,
    interval: Nanos,
    ios: u64,
    bytes: Bytes,
    latencies: RowLatencies,
}

/// The latencies of an interval.
#[derive(Debug, Clone, Default, PartialEq)]
struct RowLatencies {
    /// ns. `None` without latencies.
    mean: Option<f64>,
    /// Values of [`SERIES_PERCENTILES`]; empty without a histogram.
    percentiles: Vec<Nanos>,
    /// Mean time in which an I/O was in flight, ns. `None` if it is not measured.
    in_flight: Option<f64>,
}

impl SeriesRow<'_> {
    fn seconds(&self) -> f64 {
        self.interval.as_secs_f64()
    }

    /// The mean number of I/Os in flight, by Little's law: their rate times the mean time in flight.
    fn depth(&self) -> Option<f64> {
        let iops = self.ios as f64 / self.seconds();
        match self.ios {
            0 => None,
            _ => self.latencies.in_flight.map(|mean| iops * mean / 1e9),
        }
    }

    fn cells(&self) -> [Cell<'_>; COLUMNS.len()] {
        let decimal = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Decimal);
        let percentile = |at: usize| {
            self.latencies.percentiles.get(at).map_or(Cell::Missing, |ns| Cell::Whole(ns.0))
        };
        [
            Cell::Moment(self.time),
            Cell::Decimal(self.elapsed.as_secs_f64()),
            Cell::Decimal(self.seconds()),
            Cell::Text(self.host.into()),
            Cell::Text(self.job.into()),
            Cell::Text(self.index.to_string().into()),
            Cell::Text(self.dir.name().into()),
            Cell::Text(phase_word(self.phase).into()),
            Cell::Whole(self.ios),
            Cell::Whole(self.bytes.0),
            Cell::Decimal(self.ios as f64 / self.seconds()),
            Cell::Decimal(self.bytes.as_f64() / self.seconds()),
            decimal(self.latencies.mean),
            percentile(0),
            percentile(1),
            percentile(2),
            percentile(3),
            percentile(4),
            percentile(5),
            percentile(6),
            decimal(self.depth()),
        ]
    }
}

/// Turns the snapshots of one host into rows.
#[derive(Debug)]
pub struct SeriesRecorder {
    host: String,
    /// Time between two rows.
    interval: Nanos,
    /// When the next rows are due, since the run began.
    due: Nanos,
    /// Time and jobs of the last rows.
    last: (Nanos, Vec<LastJob>),
}

/// The state of a job at its last row.
#[derive(Debug, Clone)]
struct LastJob {
    totals: Totals,
    counts: JobCounts,
    phase: JobPhase,
    /// When they were counted, since the run began.
    at: Nanos,
}

impl Default for LastJob {
    fn default() -> Self {
        LastJob {
            totals: Totals::default(),
            counts: JobCounts::default(),
            phase: JobPhase::Waiting,
            at: Nanos::ZERO,
        }
    }
}

impl SeriesRecorder {
    /// A recorder for a host whose run begins. `interval`: time between two rows of a job.
    #[must_use]
    pub fn new(host: impl Into<String>, interval: Nanos) -> Self {
        SeriesRecorder { host: host.into(), interval, due: interval, last: Default::default() }
    }

    /// The rows that a snapshot adds. `begin`: when the run began, since 1970 (UTC). Empty if no rows are due yet. The
    /// last snapshot of a run adds the rows of the rest of the last interval.
    ///
    /// A job has rows from its start to its end, also in intervals in which it completes nothing, because a stall is
    /// a result.
    pub fn rows<'a>(&'a mut self, begin: Nanos, snapshot: &'a RunSnapshot) -> Vec<SeriesRow<'a>> {
        let elapsed = snapshot.elapsed;
        // Snapshots come some microseconds late. One that comes this early is that of the row, too.
        let tolerance = self.interval / 8;
        let interval = elapsed.saturating_sub(self.last.0);
        if interval == Nanos::ZERO
            || (!snapshot.last && elapsed.saturating_add(tolerance) < self.due)
        {
            return Vec::new();
        }
        let whole = elapsed.saturating_add(tolerance) / self.interval.max(Nanos(1));
        self.due = self.interval.saturating_mul(whole.saturating_add(1));
        self.last.0 = elapsed;
        self.last.1.resize_with(snapshot.jobs.len(), LastJob::default);
        let mut rows = Vec::new();
        for (index, (job, last)) in snapshot.jobs.iter().zip(&mut self.last.1).enumerate() {
            if job.virtual_time {
                let sampled = SampledJob {
                    host: &self.host,
                    name: &job.name,
                    index: JobIndex::at(index),
                    samples: &job.samples,
                    failed: job.phase == JobPhase::Failed,
                    largest: PerDir::from_fn(|dir| largest_known(job, dir)),
                };
                for dir in job.dirs() {
                    windows::rows(&sampled, dir, begin, self.interval, &mut rows);
                }
                continue;
            }
            let now = LastJob {
                totals: job.totals,
                counts: job.counts.clone(),
                phase: job.phase,
                at: job.at,
            };
            let mut before = std::mem::replace(last, now);
            let interval = job.at.saturating_sub(before.at);
            if interval == Nanos::ZERO {
                continue;
            }
            if before.phase == JobPhase::Ramping && job.phase != JobPhase::Ramping {
                // The counters of a job restart at the end of its ramp.
                before = LastJob::default();
            }
            for dir in job.dirs() {
                let (ios, bytes, latencies) = grown(job, &before, dir);
                if ios == 0 && !does_io(job.phase) {
                    continue;
                }
                rows.push(SeriesRow {
                    host: &self.host,
                    job: &job.name,
                    index: JobIndex::at(index),
                    dir,
                    phase: job.phase,
                    time: begin.saturating_add(elapsed),
                    elapsed,
                    interval,
                    ios,
                    bytes,
                    latencies,
                });
            }
        }
        rows
    }
}

/// The rows of a finished run, from the samples in its report. `interval`: time between two rows of a job; windows that
/// are longer are a row each. The report does not say which host its jobs ran on.
#[must_use]
pub fn of_report(report: &Report, interval: Nanos) -> Vec<SeriesRow<'_>> {
    let mut rows = Vec::new();
    for (index, job) in report.jobs.iter().enumerate() {
        let samples = &job.samples;
        let begin = match job.start {
            Nanos::ZERO => report.written.saturating_sub(samples.end()),
            start => start.saturating_sub(samples.begin()),
        };
        let index = JobIndex::at(index);
        let largest = PerDir::from_fn(|dir| {
            let row = job.dirs.iter().find(|row| row.kind == dir.into());
            row.map_or(Nanos::ZERO, |row| if row.clat.n > 0 { row.clat.max } else { row.lat.max })
        });
        let sampled =
            SampledJob { host: "", name: &job.name, index, samples, failed: job.failed, largest };
        for dir in Dir::ALL.into_iter().filter(|dir| !samples.dir(*dir).is_empty()) {
            windows::rows(&sampled, dir, begin, interval, &mut rows);
        }
    }
    rows.sort_by_key(|row| row.elapsed);
    rows
}

/// Whether a job in this phase has a row even if no I/O completed.
fn does_io(phase: JobPhase) -> bool {
    phase.is_running() && phase != JobPhase::PreReading
}

/// What a job did since its last row.
fn grown(job: &JobSnapshot, before: &LastJob, dir: Dir) -> (u64, Bytes, RowLatencies) {
    let ios = job.totals.ios[dir];
    let bytes = job.totals.bytes[dir];
    // Less than before: the counters have restarted in between.
    let ios = ios.checked_sub(before.totals.ios[dir]).unwrap_or(ios);
    let bytes = bytes.checked_sub(before.totals.bytes[dir]).unwrap_or(bytes);
    let (now, then) = (&job.counts.latencies[dir], &before.counts.latencies[dir]);
    let latencies = RowLatencies {
        mean: mean_since(&now.summary, &then.summary),
        percentiles: percentiles(&now.histogram.since(&then.histogram), largest_known(job, dir)),
        in_flight: mean_since(&now.in_flight, &then.in_flight),
    };
    (ios, bytes, latencies)
}

/// The mean of the values that were added. `None` if there are none.
fn mean_since(now: &Summary, then: &Summary) -> Option<f64> {
    let (n, sum) = match (now.n().checked_sub(then.n()), now.sum().checked_sub(then.sum())) {
        (Some(n), Some(sum)) => (n, sum),
        _ => (now.n(), now.sum()),
    };
    (n > 0).then(|| sum as f64 / n as f64)
}

/// The largest latency of a job so far.
fn largest_known(job: &JobSnapshot, dir: Dir) -> Nanos {
    Nanos(job.counts.latencies[dir].summary.max())
}

/// `known`: the largest latency of the job.
fn percentiles(histogram: &Histogram, known: Nanos) -> Vec<Nanos> {
    let found = histogram.percentiles(&SERIES_PERCENTILES);
    let mut found: Vec<Nanos> = found.into_iter().map(|(_, ns)| ns).collect();
    if let (Some(last), Some(bucket)) = (found.last_mut(), histogram.last_bucket()) {
        *last = largest(bucket, Some(known));
    }
    found
}

/// The largest latency of an interval. Only its bucket is known, so this is the upper end of the bucket, and the largest
/// latency of the whole job (`known`) if that lies in the same bucket: never less than the truth, and at most the width of a
/// bucket more.
fn largest((from, to): (Nanos, Nanos), known: Option<Nanos>) -> Nanos {
    known.filter(|known| (from..=to).contains(known)).unwrap_or(to)
}

#[cfg(test)]
mod tests;
