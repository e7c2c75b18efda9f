//! Reads the report of a run and sums up the numbers of all its jobs.

use std::collections::BTreeMap;

use fiord_compare::rank;
use fiord_report::ReadError;
use fiord_stat::finding::Finding;
use fiord_stat::report::{DirKind, JobReport, LatencySummary, Report};
use fiord_types::{Bytes, Errno, Nanos};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Why the output of a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeError {
    /// The text is not a report.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The report lists no jobs.
    #[error("the report has no jobs")]
    NoJobs,
    /// A job failed although the exit status of its run is 0.
    #[error("job {job:?} failed with error {}", .error.map_or(0, Errno::raw))]
    JobFailed { job: String, error: Option<Errno> },
}

/// Percentiles in the table.
pub const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// Results of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PointOutcome {
    /// IOPS of all jobs and directions.
    pub iops: f64,
    /// Bandwidth per second.
    pub bw_bytes: Bytes,
    /// Mean completion latency in nanoseconds; `None` if not measured.
    pub mean_ns: Option<f64>,
    /// Latencies at [`PERCENTILES`], from the merged histograms of all jobs; empty without
    /// histograms.
    pub percentiles: Vec<Nanos>,
    /// Latencies from the intended start of each I/O; `None` without a rate.
    pub due: Option<Due>,
    /// IOPS by direction; `None` if the report mixes directions.
    pub dirs: Option<[f64; 3]>,
    /// CPU time as a percentage of one CPU.
    pub cpu_percent: f64,
    /// Run time, in whole milliseconds.
    pub runtime: Nanos,
    /// Findings of the run.
    pub findings: Vec<Finding>,
}

/// Latencies from the intended start of each I/O.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Due {
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// Latencies at [`PERCENTILES`].
    pub percentiles: Vec<Nanos>,
}

impl PointOutcome {
    /// Returns mean and percentiles for JSON.
    #[must_use]
    pub fn latency(&self) -> Map<String, Value> {
        latency(self.mean_ns, &self.percentiles)
    }
}

impl Due {
    /// Returns mean and percentiles for JSON.
    #[must_use]
    pub fn latency(&self) -> Map<String, Value> {
        latency(Some(self.mean_ns), &self.percentiles)
    }
}

fn latency(mean: Option<f64>, percentiles: &[Nanos]) -> Map<String, Value> {
    let mut latency = Map::new();
    latency.insert("mean".into(), json!(mean));
    for (p, time) in PERCENTILES.iter().zip(percentiles) {
        latency.insert(format!("p{p}"), json!(time));
    }
    latency
}

/// Reads the output of a run: JSON with histograms (`json+`).
///
/// # Errors
/// The text is not the report of a run, or a job failed.
pub fn read(text: &str) -> Result<PointOutcome, OutcomeError> {
    of_report(&fiord_report::read(text)?)
}

/// Sums up the jobs of a report.
///
/// # Errors
/// The report has no jobs, or a job failed.
pub fn of_report(report: &Report) -> Result<PointOutcome, OutcomeError> {
    if report.jobs.is_empty() {
        return Err(OutcomeError::NoJobs);
    }
    if let Some(failed) = report.jobs.iter().find(|job| job.failed) {
        return Err(OutcomeError::JobFailed { job: failed.name.clone(), error: failed.error });
    }
    let mut sums = Sums::default();
    report.jobs.iter().for_each(|job| sums.add(job));
    if report.extras.of_hosts {
        sums.rates_of_totals();
    }
    Ok(PointOutcome { findings: report.extras.findings.clone(), ..sums.outcome() })
}

/// The median of each number of several runs of a point, and all of their findings.
#[must_use]
pub fn median_of(runs: &[PointOutcome]) -> PointOutcome {
    if let [only] = runs {
        return only.clone();
    }
    let number =
        |of: &dyn Fn(&PointOutcome) -> f64| rank::median(&runs.iter().map(of).collect::<Vec<_>>());
    let optional = |of: &dyn Fn(&PointOutcome) -> Option<f64>| {
        let values: Option<Vec<f64>> = runs.iter().map(of).collect();
        values.filter(|values| !values.is_empty()).map(|values| rank::median(&values))
    };
    let times = |of: &dyn Fn(&PointOutcome, usize) -> Option<Nanos>| -> Vec<Nanos> {
        let one = |i| optional(&|run| of(run, i).map(Nanos::as_f64)).map(|ns| Nanos(ns as u64));
        (0..PERCENTILES.len()).map_while(one).collect()
    };
    let due = optional(&|run| run.due.as_ref().map(|due| due.mean_ns));
    let dir = |dir: usize| optional(&|run| run.dirs.map(|dirs| dirs[dir]));
    let dirs = [dir(0), dir(1), dir(2)];
    let mut findings: Vec<Finding> = Vec::new();
    for finding in runs.iter().flat_map(|run| &run.findings) {
        if !findings.iter().any(|have| (&have.id, &have.job) == (&finding.id, &finding.job)) {
            findings.push(finding.clone());
        }
    }
    PointOutcome {
        iops: number(&|run| run.iops),
        bw_bytes: Bytes(number(&|run| run.bw_bytes.as_f64()) as u64),
        mean_ns: optional(&|run| run.mean_ns),
        percentiles: times(&|run, i| run.percentiles.get(i).copied()),
        due: due.map(|mean_ns| Due {
            mean_ns,
            percentiles: times(&|run, i| run.due.as_ref()?.percentiles.get(i).copied()),
        }),
        dirs: match dirs {
            [Some(read), Some(write), Some(trim)] => Some([read, write, trim]),
            _ => None,
        },
        cpu_percent: number(&|run| run.cpu_percent),
        runtime: Nanos(number(&|run| run.runtime.as_f64()) as u64),
        findings,
    }
}

/// Sum of the latencies of one kind over all jobs.
#[derive(Default)]
struct Latencies {
    sum: f64,
    n: u64,
    bins: BTreeMap<Nanos, u64>,
}

impl Latencies {
    fn add(&mut self, latency: &LatencySummary) {
        self.sum += latency.mean * latency.n as f64;
        self.n += latency.n;
        self.add_bins(latency);
    }
    fn add_bins(&mut self, latency: &LatencySummary) {
        for (time, n) in &latency.bins {
            *self.bins.entry(*time).or_default() += n;
        }
    }
    fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }
}

#[derive(Default)]
struct Sums {
    iops: f64,
    dirs: [f64; 3],
    mixed: bool,
    bw: Bytes,
    /// I/Os, bytes and longest run time of each direction.
    totals: [(u64, Bytes, Nanos); 3],
    clat: Latencies,
    due: Latencies,
    /// CPU time, ns.
    cpu: f64,
    runtime: Nanos,
}

impl Sums {
    fn add(&mut self, job: &JobReport) {
        // With unified_rw_reporting=both, `mixed` is the sum of the other directions.
        let mixed = job.dirs.iter().all(|row| row.kind == DirKind::Mixed);
        self.mixed |= mixed;
        let counts = |kind: DirKind| mixed || kind != DirKind::Mixed;
        for row in job.dirs.iter().filter(|row| counts(row.kind)) {
            self.iops += row.iops;
            let dir = row.kind as usize % 3;
            self.dirs[dir] += row.iops;
            let (ios, bytes, runtime) = &mut self.totals[dir];
            *ios += row.total_ios;
            *bytes += row.io_bytes;
            *runtime = row.runtime.max(*runtime);
            self.bw += row.bw;
            self.runtime = self.runtime.max(row.runtime);
            match row.clat.n {
                0 => self.clat.add(&row.lat),
                _ => {
                    self.clat.add(&row.clat);
                    // With lat_percentiles, only the total latency has a histogram.
                    if row.clat.bins.is_empty() {
                        self.clat.add_bins(&row.lat);
                    }
                }
            }
        }
        let due = job.intended.iter().filter(|(kind, _)| counts(*kind));
        due.for_each(|(_, latency)| self.due.add(latency));
        // The run time is the sum over the jobs of a group, so this is their total CPU time.
        self.cpu += (job.usr_cpu + job.sys_cpu) / 100.0 * job.runtime.as_f64();
    }

    /// Replaces the sums of all rates by all I/Os over the longest run time, as the entry `All clients` has them: hosts
    /// that do not run at one time have never had the sum of their rates.
    fn rates_of_totals(&mut self) {
        (self.iops, self.bw) = (0.0, Bytes::ZERO);
        for (dir, (ios, bytes, runtime)) in self.totals.into_iter().enumerate() {
            let seconds = runtime.as_f64() / 1e9;
            let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
            self.dirs[dir] = per_second(ios as f64);
            self.iops += self.dirs[dir];
            self.bw += Bytes(per_second(bytes.0 as f64) as u64);
        }
    }

    fn outcome(self) -> PointOutcome {
        let due = |mean_ns| Due { mean_ns, percentiles: percentiles(&self.due.bins) };
        PointOutcome {
            iops: self.iops,
            bw_bytes: self.bw,
            mean_ns: self.clat.mean(),
            percentiles: percentiles(&self.clat.bins),
            due: self.due.mean().map(due),
            dirs: (!self.mixed).then_some(self.dirs),
            cpu_percent: match self.runtime {
                Nanos::ZERO => 0.0,
                time => self.cpu * 100.0 / time.as_f64(),
            },
            runtime: self.runtime,
            findings: Vec::new(),
        }
    }
}

/// Computes percentiles as the report does: the first bucket at which the cumulative count reaches
/// the share of the total.
fn percentiles(bins: &BTreeMap<Nanos, u64>) -> Vec<Nanos> {
    let total: u64 = bins.values().sum();
    if total == 0 {
        return Vec::new();
    }
    let at = |p: f64| {
        let mut seen = 0;
        let reached = |(_, n): &(&Nanos, &u64)| {
            seen += **n;
            seen as f64 >= p / 100.0 * total as f64
        };
        let bin = bins.iter().find(reached).or(bins.iter().next_back());
        bin.map_or(Nanos::ZERO, |(time, _)| *time)
    };
    PERCENTILES.map(at).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_directions_are_summed_up() {
        let dir = |iops: u32, mean: u32, bins: &str| {
            format!(
                "{{\"iops\":{iops}.5,\"bw_bytes\":{},\"runtime\":2000,\"clat_ns\":{{\"N\":{iops},\
                 \"mean\":{mean}.0,\"bins\":{{{bins}}}}}}}",
                iops * 4096
            )
        };
        let job = |error: u32| {
            format!(
                "{{\"jobname\":\"a\",\"error\":{error},\"usr_cpu\":25.0,\"sys_cpu\":50.0,\
                 \"job_runtime\":2000,\"read\":{},\"write\":{},\"trim\":{{}}}}",
                dir(10, 100, "\"90\":5,\"110\":5"),
                dir(30, 200, "\"200\":30")
            )
        };
        let outcome = read(&format!("{{\"jobs\":[{},{}]}}", job(0), job(0))).unwrap();
        assert_eq!((outcome.iops, outcome.bw_bytes), (82.0, Bytes(80 * 4096)));
        assert_eq!(outcome.mean_ns, Some(175.0));
        assert_eq!(outcome.percentiles, [Nanos(200); 3]);
        assert_eq!((outcome.cpu_percent, outcome.runtime), (150.0, Nanos::from_secs(2)));
        let failed = read(&format!("{{\"jobs\":[{}]}}", job(5))).unwrap_err();
        assert_eq!(failed.to_string(), "job \"a\" failed with error 5");
        assert!(read("{}").is_err() && read("{\"jobs\":[").is_err() && read("").is_err());
        assert!(matches!(read("{\"jobs\":[]}"), Err(OutcomeError::NoJobs)));
    }

    #[test]
    fn the_rate_of_hosts_is_that_of_all_ios_over_the_longest_time() {
        let job = |host: &str, ms: u32| {
            format!(
                "{{\"jobname\":\"{host}\",\"error\":0,\"read\":{{\"iops\":{}.0,\"total_ios\":600,\
                 \"io_bytes\":6000,\"bw_bytes\":1,\"runtime\":{ms}}}}}",
                600_000 / ms
            )
        };
        let all = [job("n1", 1000), job("n2", 3000), job("All clients", 3000)].join(",");
        let outcome = read(&format!("{{\"client_stats\":[{all}]}}")).unwrap();
        assert_eq!((outcome.iops, outcome.bw_bytes), (400.0, Bytes(4000)));
        assert_eq!(outcome.dirs, Some([400.0, 0.0, 0.0]));
    }

    #[test]
    fn a_row_for_all_directions_counts_only_without_other_rows() {
        let row = |name: &str, iops: u32| {
            format!("\"{name}\":{{\"iops\":{iops}.0,\"clat_ns\":{{\"N\":2,\"mean\":{iops}.0}}}}")
        };
        let read = |rows: &[String]| {
            let due = "\"fiord\":{\"intended_lat_ns\":{\"mixed\":{\"N\":1,\"mean\":7.0}}}";
            let text = format!("{{\"jobs\":[{{\"error\":0,{},{due}}}]}}", rows.join(","));
            read(&text).unwrap()
        };
        let both = read(&[row("read", 10), row("write", 20), row("mixed", 30)]);
        assert_eq!(
            (both.iops, both.dirs, both.mean_ns),
            (30.0, Some([10.0, 20.0, 0.0]), Some(15.0))
        );
        assert_eq!(both.due, None);
        let mixed = read(&[row("mixed", 30)]);
        assert_eq!((mixed.iops, mixed.dirs, mixed.mean_ns), (30.0, None, Some(30.0)));
        assert_eq!(mixed.due.map(|due| due.mean_ns), Some(7.0));
    }

    #[test]
    fn interim_documents_and_survived_errors_are_not_failures() {
        let job = |iops: u32, rest: &str| {
            format!("{{\"jobs\":[{{\"jobname\":\"a\",{rest},\"read\":{{\"iops\":{iops}.5}}}}]}}\n")
        };
        let text = job(10, "\"error\":0") + &job(20, "\"error\":0");
        assert_eq!(read(&text).unwrap().iops, 20.5);
        assert!(read(&(text + "{\"jobs\"")).is_err());
        let survived = job(5, "\"error\":5,\"total_err\":3,\"first_error\":5");
        assert_eq!(read(&survived).unwrap().iops, 5.5);
        assert!(read(&job(5, "\"error\":28,\"total_err\":0,\"first_error\":0")).is_err());
    }
}
