//! Reads the JSON of a run and sums up the numbers of all its jobs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use fiord_types::Bytes;

use crate::runs::findings;

/// Why the JSON of a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeError {
    /// The run wrote nothing.
    #[error("invalid JSON: the output is empty")]
    Empty,
    /// The text is not a sequence of JSON documents.
    #[error("invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The report lists no jobs.
    #[error("the report has no jobs")]
    NoJobs,
    /// A job failed although the exit status of its run is 0.
    #[error("job {job:?} failed with error {}", .error.map_or("unknown".into(), |e| e.to_string()))]
    JobFailed {
        /// Name of the job.
        job: String,
        /// Its errno; `None` if the report lacks it.
        error: Option<i64>,
    },
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
    /// Latencies at [`PERCENTILES`] in nanoseconds, from the merged histograms of all jobs; empty
    /// without histograms.
    pub percentiles_ns: Vec<u64>,
    /// Latencies from the intended start of each I/O; `None` without a rate.
    pub due: Option<Due>,
    /// IOPS by direction; `None` if the report mixes directions.
    pub dirs: Option<[f64; 3]>,
    /// CPU time as a percentage of one CPU.
    pub cpu_percent: f64,
    /// Run time in milliseconds.
    pub runtime_ms: u64,
    /// Findings of the run, as in its JSON.
    pub findings: Vec<Value>,
}

/// Latencies from the intended start of each I/O.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Due {
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// Latencies at [`PERCENTILES`] in nanoseconds.
    pub percentiles_ns: Vec<u64>,
}

impl PointOutcome {
    /// Returns mean and percentiles for JSON.
    #[must_use]
    pub fn latency(&self) -> Map<String, Value> {
        latency(self.mean_ns, &self.percentiles_ns)
    }
}

impl Due {
    /// Returns mean and percentiles for JSON.
    #[must_use]
    pub fn latency(&self) -> Map<String, Value> {
        latency(Some(self.mean_ns), &self.percentiles_ns)
    }
}

fn latency(mean: Option<f64>, percentiles: &[u64]) -> Map<String, Value> {
    let mut latency = Map::new();
    latency.insert("mean".into(), json!(mean));
    for (p, ns) in PERCENTILES.iter().zip(percentiles) {
        latency.insert(format!("p{p}"), json!(ns));
    }
    latency
}

/// Returns the final report of a run. A run that receives `SIGUSR1` writes an interim document for
/// each signal before it.
///
/// # Errors
/// The text is not a sequence of JSON documents, or is empty.
pub fn final_document(text: &str) -> Result<Value, OutcomeError> {
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    Ok(documents.last().ok_or(OutcomeError::Empty)??)
}

/// Parses the `json+` output of a run.
///
/// # Errors
/// The text is not the report of a run, or a job failed.
pub fn read(text: &str) -> Result<PointOutcome, OutcomeError> {
    read_document(&final_document(text)?)
}

/// Reads the report of a run.
///
/// # Errors
/// The report has no jobs, or a job failed.
pub fn read_document(document: &Value) -> Result<PointOutcome, OutcomeError> {
    let jobs = document["jobs"].as_array().filter(|j| !j.is_empty()).ok_or(OutcomeError::NoJobs)?;
    if let Some(failed) = jobs.iter().find(|j| has_failed(j)) {
        let job = failed["jobname"].as_str().unwrap_or_default().to_owned();
        return Err(OutcomeError::JobFailed { job, error: failed["error"].as_i64() });
    }
    let mut sums = Sums::default();
    jobs.iter().for_each(|job| sums.add(job));
    Ok(PointOutcome { findings: findings::read(document), ..sums.outcome() })
}

/// Whether a job failed although the exit status of its run is 0. With `continue_on_error`, `error`
/// can also be the first error that the job survived.
fn has_failed(job: &Value) -> bool {
    let survived = job["total_err"].as_u64().is_some_and(|total| total > 0);
    job["error"].as_i64() != Some(0) && !survived
}

/// Sum of the latencies of one kind over all jobs.
#[derive(Default)]
struct Latencies {
    sum: f64,
    n: u64,
    bins: BTreeMap<u64, u64>,
}

impl Latencies {
    fn add(&mut self, v: &Value) {
        let n = whole(&v["N"]);
        self.sum += v["mean"].as_f64().unwrap_or(0.0) * n as f64;
        self.n += n;
        self.add_bins(v);
    }
    fn add_bins(&mut self, v: &Value) {
        for (ns, n) in v["bins"].as_object().into_iter().flatten() {
            *self.bins.entry(ns.parse().unwrap_or(0)).or_default() += whole(n);
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
    bw: u64,
    clat: Latencies,
    due: Latencies,
    cpu_ms: f64,
    runtime_ms: u64,
}

fn whole(v: &Value) -> u64 {
    v.as_u64().unwrap_or(0)
}

impl Sums {
    fn add(&mut self, job: &Value) {
        // With unified_rw_reporting=both, `mixed` is the sum of the other directions.
        let apart = ["read", "write", "trim"];
        self.mixed |= job.get("read").is_none();
        let names: &[&str] = if job.get("read").is_some() { &apart } else { &["mixed"] };
        for (i, name) in names.iter().enumerate() {
            let dir = &job[*name];
            let iops = dir["iops"].as_f64().unwrap_or(0.0);
            self.iops += iops;
            self.dirs[i] += iops;
            self.bw += whole(&dir["bw_bytes"]);
            self.runtime_ms = self.runtime_ms.max(whole(&dir["runtime"]));
            match whole(&dir["clat_ns"]["N"]) {
                0 => self.clat.add(&dir["lat_ns"]),
                _ => {
                    self.clat.add(&dir["clat_ns"]);
                    // With lat_percentiles, only the total latency has a histogram.
                    if dir["clat_ns"].get("bins").is_none() {
                        self.clat.add_bins(&dir["lat_ns"]);
                    }
                }
            }
            self.due.add(&job["fiord"]["intended_lat_ns"][*name]);
        }
        let cpu = job["usr_cpu"].as_f64().unwrap_or(0.0) + job["sys_cpu"].as_f64().unwrap_or(0.0);
        // job_runtime is the sum over the jobs of a group, so this is their total CPU time.
        self.cpu_ms += cpu / 100.0 * whole(&job["job_runtime"]) as f64;
    }

    fn outcome(self) -> PointOutcome {
        PointOutcome {
            iops: self.iops,
            bw_bytes: Bytes(self.bw),
            mean_ns: self.clat.mean(),
            percentiles_ns: percentiles(&self.clat.bins),
            due: self
                .due
                .mean()
                .map(|mean_ns| Due { mean_ns, percentiles_ns: percentiles(&self.due.bins) }),
            dirs: (!self.mixed).then_some(self.dirs),
            cpu_percent: match self.runtime_ms {
                0 => 0.0,
                ms => self.cpu_ms * 100.0 / ms as f64,
            },
            runtime_ms: self.runtime_ms,
            findings: Vec::new(),
        }
    }
}

/// Computes percentiles as the report does: the first bucket at which the cumulative count reaches
/// the share of the total.
fn percentiles(bins: &BTreeMap<u64, u64>) -> Vec<u64> {
    let total: u64 = bins.values().sum();
    if total == 0 {
        return Vec::new();
    }
    let at = |p: f64| {
        let mut seen = 0;
        let reached = |(_, n): &(&u64, &u64)| {
            seen += **n;
            seen as f64 >= p / 100.0 * total as f64
        };
        bins.iter().find(reached).or(bins.iter().next_back()).map_or(0, |(ns, _)| *ns)
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
        assert_eq!(outcome.percentiles_ns, [200, 200, 200]);
        assert_eq!((outcome.cpu_percent, outcome.runtime_ms), (150.0, 2000));
        let failed = read(&format!("{{\"jobs\":[{}]}}", job(5))).unwrap_err();
        assert_eq!(failed.to_string(), "job \"a\" failed with error 5");
        assert!(read("{}").is_err() && read("{\"jobs\":[").is_err() && read("").is_err());
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
