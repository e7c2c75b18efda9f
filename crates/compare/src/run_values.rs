//! The results of one run, by job and direction.

use std::collections::BTreeMap;

use fiord_stat::report::{DirKind, DirReport, JobReport, LatencySummary, Report};
use fiord_stat::samples::{Samples, WindowSample};
use fiord_types::{Dir, Nanos};

use crate::bootstrap::ComparedWindow;
use crate::metric::CompareMetric;

/// The results of all jobs of one name in one direction. Jobs with the same name count together.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionResult {
    pub job: String,
    pub kind: DirKind,
    /// I/Os per second.
    iops: f64,
    /// Bytes per second.
    bandwidth: f64,
    /// Sum of all latencies, ns.
    latency_sum: f64,
    /// Number of latencies.
    latencies: f64,
    /// Percentages and latencies, ns; empty if several jobs were added, because percentiles cannot be added.
    percentiles: Vec<(f64, f64)>,
    /// Latency and count of each bucket; empty if a part has none.
    bins: BTreeMap<Nanos, u64>,
    windows: Samples,
    /// Entries of the report that were added.
    parts: usize,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunValues {
    /// All jobs and directions with I/Os, in the order of the report.
    pub directions: Vec<DirectionResult>,
}

impl RunValues {
    /// Takes the results out of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut directions: Vec<DirectionResult> = Vec::new();
        for job in &report.jobs {
            let only = job.dirs.len() == 1;
            let rows = job.dirs.iter().filter(|row| only || row.kind != DirKind::Mixed);
            for row in rows.filter(|row| row.iops > 0.0 || row.total_ios > 0) {
                let part = DirectionResult::of(job, row);
                let same =
                    |have: &&mut DirectionResult| (&have.job, have.kind) == (&part.job, part.kind);
                match directions.iter_mut().find(same) {
                    Some(sum) => sum.add(&part),
                    None => directions.push(part),
                }
            }
        }
        RunValues { directions }
    }

    /// The results of a job in a direction.
    #[must_use]
    pub fn find(&self, job: &str, kind: DirKind) -> Option<&DirectionResult> {
        self.directions.iter().find(|have| have.job == job && have.kind == kind)
    }

    /// Whether the numbers of another run are the same to the last digit: then it is a copy, or a simulation with the same seed.
    #[must_use]
    pub fn is_copy_of(&self, other: &RunValues) -> bool {
        let numbers = |run: &RunValues| {
            let one = |d: &DirectionResult| (d.iops, d.latency_sum, d.percentiles.clone());
            run.directions.iter().map(one).collect::<Vec<_>>()
        };
        let measured = self.directions.iter().any(|d| d.latencies > 0.0);
        measured && numbers(self) == numbers(other)
    }
}

impl DirectionResult {
    fn of(job: &JobReport, row: &DirReport) -> Self {
        let latency = latency(row);
        // A job with `lat_percentiles` has those of its total latencies only.
        let listed =
            [latency, &row.lat].into_iter().find(|summary| !summary.percentiles.is_empty());
        let listed = listed.unwrap_or(latency);
        DirectionResult {
            job: job.name.clone(),
            kind: row.kind,
            iops: row.iops,
            bandwidth: row.bw.as_f64(),
            latency_sum: latency.mean * latency.n as f64,
            latencies: latency.n as f64,
            percentiles: listed.percentiles.iter().map(|(p, ns)| (*p, ns.as_f64())).collect(),
            bins: listed.bins.iter().copied().collect(),
            windows: job.samples.clone(),
            parts: 1,
        }
    }

    fn add(&mut self, part: &DirectionResult) {
        self.iops += part.iops;
        self.bandwidth += part.bandwidth;
        self.latency_sum += part.latency_sum;
        self.latencies += part.latencies;
        self.percentiles.clear();
        if self.bins.is_empty() || part.bins.is_empty() {
            self.bins.clear();
        } else {
            part.bins.iter().for_each(|(ns, n)| *self.bins.entry(*ns).or_default() += n);
        }
        self.windows.merge(&part.windows);
        self.parts += 1;
    }

    /// The value of a metric. `None` if the report does not contain it, or if it is 0.
    #[must_use]
    pub fn value(&self, metric: CompareMetric) -> Option<f64> {
        let value = match metric {
            CompareMetric::Iops => self.iops,
            CompareMetric::Bandwidth => self.bandwidth,
            CompareMetric::Mean => self.latency_sum / self.latencies,
            CompareMetric::Percentile(percent) => {
                let is = |(have, _): &&(f64, f64)| (have - percent.get()).abs() < 1e-9;
                let listed = self.percentiles.iter().find(is).map(|(_, ns)| *ns);
                listed
                    .or_else(|| self.of_bins(percent.share()))
                    .or_else(|| self.of_windows(percent.get()))?
            }
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }

    /// The first bucket at which the count of all I/Os so far reaches the share.
    fn of_bins(&self, share: f64) -> Option<f64> {
        let wanted = share * self.bins.values().map(|n| *n as f64).sum::<f64>();
        let mut seen = 0.0;
        let mut bins = self.bins.iter();
        let bin = bins.find(|(_, n)| {
            seen += **n as f64;
            seen >= wanted
        });
        bin.map(|(ns, _)| ns.as_f64())
    }

    fn of_windows(&self, percent: f64) -> Option<f64> {
        let mut all = WindowSample::default();
        self.samples().for_each(|(_, sample)| all.merge(&sample));
        all.latencies().percentile(percent).map(Nanos::as_f64)
    }

    /// The windows of the measured part, with their length in seconds.
    #[must_use]
    pub fn windows(&self) -> Vec<ComparedWindow> {
        self.samples().map(compared).collect()
    }

    fn samples(&self) -> impl Iterator<Item = (f64, WindowSample)> + '_ {
        let dirs: &[Dir] = match self.kind {
            DirKind::Read => &[Dir::Read],
            DirKind::Write => &[Dir::Write],
            DirKind::Trim => &[Dir::Trim],
            DirKind::Mixed => &Dir::ALL,
        };
        measured_samples(&self.windows, dirs)
    }
}

/// The windows of the measured part of a run: all jobs and directions together.
#[must_use]
pub fn windows_of_run(report: &Report) -> Vec<ComparedWindow> {
    let mut all = Samples::default();
    report.jobs.iter().for_each(|job| all.merge(&job.samples));
    measured_samples(&all, &Dir::ALL).map(compared).collect()
}

fn compared((seconds, sample): (f64, WindowSample)) -> ComparedWindow {
    ComparedWindow {
        ios: sample.ios() as f64,
        bytes: sample.bytes().as_f64(),
        seconds,
        latencies: sample.latencies().clone(),
    }
}

/// The windows of the measured part with their length in seconds; the sum of these directions.
fn measured_samples<'a>(
    samples: &'a Samples,
    dirs: &'a [Dir],
) -> impl Iterator<Item = (f64, WindowSample)> + 'a {
    let measured = samples.measured();
    let spans = samples.spans().enumerate();
    spans.filter(move |(_, (begin, _))| *begin >= measured).map(move |(i, (begin, end))| {
        let mut sum = WindowSample::default();
        let own = dirs.iter().filter_map(|dir| samples.dir(*dir).get(i));
        own.for_each(|sample| sum.merge(sample));
        ((end - begin).as_secs_f64(), sum)
    })
}

/// The completion latency, or the total one if the job measured only that.
fn latency(row: &DirReport) -> &LatencySummary {
    if row.clat.mean > 0.0 { &row.clat } else { &row.lat }
}
