//! Results that a page can show, and how they are read.

mod precondition;

use fiord_report::ReadError;
use fiord_report::embedded::{self, EmbeddedError};
use fiord_stat::finding::Finding;
use fiord_stat::hosts::HostsReport;
use fiord_stat::report::Report;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use precondition::{
    FilledPass, FilledState, FilledTarget, PreconditionDocument, RandomWrites, SteadyRounds,
    WriteStep,
};

#[derive(Debug, Clone)]
pub struct NamedResult {
    /// The name: usually the file that it was read from. Empty for a run that just ended.
    pub name: String,
    pub content: PageResult,
}

#[derive(Debug, Clone)]
pub enum PageResult {
    /// A run on one machine.
    Run(Box<Report>),
    /// A run on many hosts.
    Hosts(Box<HostsReport>),
    Sweep(Box<SweepDocument>),
    Suite(Box<SuiteDocument>),
    /// Devices that were filled before a measurement.
    Precondition(Box<PreconditionDocument>),
}

/// The JSON of a sweep (`fiord sweep --format=json`).
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SweepDocument {
    #[serde(default)]
    pub job: String,
    pub points: Vec<PointDocument>,
    /// The knees, one for each line of points.
    #[serde(default)]
    pub knees: Vec<KneeDocument>,
    /// The runs at a share of the highest rate.
    #[serde(default)]
    pub loads: Vec<PointDocument>,
    /// Percentage of the highest rate at the knee, if it is certain.
    #[serde(default)]
    pub load_knee_percent: Option<f64>,
    /// The knee of these runs. Sweeps of earlier versions have only its percentage.
    #[serde(default)]
    pub load_knee: Option<KneeDocument>,
    /// All points are done.
    #[serde(default)]
    pub complete: bool,
    /// The document itself, for the data of the page.
    #[serde(skip)]
    pub json: String,
}

/// A point of a sweep or a row of a suite.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct PointDocument {
    /// Options and their values.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Percentage of the highest rate, for a run at such a rate.
    #[serde(default)]
    pub load_percent: Option<f64>,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    #[serde(default)]
    pub bw_bytes: f64,
    /// Mean and percentiles of the completion latency, ns: `mean`, `p50`, `p99` … `null` if the latency does not count.
    #[serde(default)]
    pub clat_ns: Option<Map<String, Value>>,
    /// Mean and percentiles of the latency from the intended start, ns.
    #[serde(default)]
    pub intended_lat_ns: Option<Map<String, Value>>,
    /// CPU time, percent of the run time.
    #[serde(default)]
    pub cpu_percent: Option<f64>,
    /// The findings of the run.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct KneeDocument {
    /// The option that varies.
    pub along: String,
    /// The values of the other options.
    #[serde(default)]
    pub with: Map<String, Value>,
    /// The value at the knee, if it is certain. `None` without candidates: every step pays off.
    #[serde(default)]
    pub at: Option<String>,
    /// The values at which the knee can be. Sweeps of earlier versions have none.
    #[serde(default)]
    pub candidates: Vec<String>,
    /// There can be no knee.
    #[serde(default)]
    pub none_possible: bool,
    /// The value at which the knee is as measured.
    #[serde(default)]
    pub measured_at: Option<String>,
    /// The confidence of the answer, as a share.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// What the answer is based on: `runs`, `block-bootstrap` or `single-values`. Empty: one measurement of each point.
    #[serde(default)]
    pub method: String,
    /// Runs of each point.
    #[serde(default)]
    pub runs: Option<f64>,
}

/// The JSON of a suite (`fiord suite --format=json`).
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SuiteDocument {
    pub suite: String,
    /// What the device is: names and values.
    #[serde(default)]
    pub device: Map<String, Value>,
    pub rows: Vec<PointDocument>,
    /// Points that the device does not support, with the reason.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// All steps are done.
    #[serde(default)]
    pub complete: bool,
    /// The document itself, for the data of the page.
    #[serde(skip)]
    pub json: String,
}

/// Why a text is not a result.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The text is not a report.
    #[error(transparent)]
    Report(#[from] ReadError),
    /// The data of the page cannot be read.
    #[error(transparent)]
    Page(#[from] EmbeddedError),
    /// The results of a sweep or a suite lack something.
    #[error("the results of {what} are incomplete: {source}")]
    Table {
        /// `a sweep`, `a suite` or `preconditioning`.
        what: &'static str,
        source: serde_json::Error,
    },
    /// A later version of fiord wrote the result.
    #[error("a later version of fiord wrote these results ({0})\nTo fix: use that version")]
    TooNew(String),
}

/// Reads the results in a text: the JSON of a run (fiord's or fio's), of a run on many hosts, of a sweep, of a suite or of
/// preconditioning, or a page that contains such results. Of several reports of one run (`--status-interval`), the last one counts.
///
/// # Errors
/// The text is none of these.
pub fn read(name: &str, text: &str) -> Result<Vec<NamedResult>, ResultError> {
    if embedded::is_page(text) {
        let stored = embedded::embedded(text)?;
        let one = |result: &embedded::EmbeddedResult| {
            let name = if result.name.is_empty() { name } else { &result.name };
            named(name, &result.json)
        };
        return stored.iter().map(one).collect();
    }
    Ok(vec![named(name, text)?])
}

fn named(name: &str, text: &str) -> Result<NamedResult, ResultError> {
    Ok(NamedResult { name: name.to_owned(), content: content(text)? })
}

fn content(text: &str) -> Result<PageResult, ResultError> {
    let table = serde_json::from_str::<Map<String, Value>>(text).ok();
    let has = |key: &str| table.as_ref().is_some_and(|table| table.contains_key(key));
    if has("points") && !has("jobs") {
        let failed = |source| ResultError::Table { what: "a sweep", source };
        let mut sweep: SweepDocument = serde_json::from_str(text).map_err(failed)?;
        text.clone_into(&mut sweep.json);
        return Ok(PageResult::Sweep(Box::new(sweep)));
    }
    if has("suite") && has("rows") {
        let failed = |source| ResultError::Table { what: "a suite", source };
        let mut suite: SuiteDocument = serde_json::from_str(text).map_err(failed)?;
        text.clone_into(&mut suite.json);
        return Ok(PageResult::Suite(Box::new(suite)));
    }
    if has("precondition") && has("targets") {
        let failed = |source| ResultError::Table { what: "preconditioning", source };
        let mut filled: PreconditionDocument = serde_json::from_str(text).map_err(failed)?;
        if filled.is_too_new() {
            return Err(ResultError::TooNew(filled.version));
        }
        text.clone_into(&mut filled.json);
        return Ok(PageResult::Precondition(Box::new(filled)));
    }
    if has("client_stats") {
        return Ok(PageResult::Hosts(Box::new(fiord_report::read_hosts(text)?)));
    }
    Ok(PageResult::Run(Box::new(fiord_report::read(text)?)))
}
