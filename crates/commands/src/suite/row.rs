//! Reads the JSON of a step's run.

use serde_json::Value;

use fiord_types::Bytes;

use crate::axis::PointSettings;
use crate::runs::outcome::{self, OutcomeError, PointOutcome};
use crate::suite::definition::{StepKind, SuiteStep};

/// A rate counts as reached if the writers achieve this percentage of it.
pub const REACHED: u64 = 99;

/// A row of the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Values on the axes.
    pub settings: PointSettings,
    /// Results of the run.
    pub outcome: PointOutcome,
    /// Requested and achieved write rate, if the step has a rate.
    pub rate: Option<WriteRate>,
    /// File name of the run's JSON in the directory of the results.
    pub file: String,
}

/// Requested and achieved rate of the writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteRate {
    /// Requested rate per second.
    pub target: Bytes,
    /// Achieved rate per second.
    pub written: Bytes,
}

impl WriteRate {
    /// Whether the writers reached the rate. If not, the latencies are void.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        u128::from(self.written.0) * 100 >= u128::from(self.target.0) * u128::from(REACHED)
    }
}

impl Row {
    /// Whether the latencies are void because the writers missed their rate.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.rate.is_some_and(|rate| !rate.is_reached())
    }
}

/// Parses the JSON of a run.
///
/// # Errors
/// The text is not the report of a run, or a job failed.
pub fn read(step: &SuiteStep, file: &str, text: &str) -> Result<Row, OutcomeError> {
    let mut document = outcome::final_document(text)?;
    let written = |document: &Value| -> u64 {
        let jobs = document["jobs"].as_array().into_iter().flatten();
        jobs.filter_map(|job| job["write"]["bw_bytes"].as_u64()).sum()
    };
    let rate = step
        .target
        .map(|target| WriteRate { target: Bytes(target), written: Bytes(written(&document)) });
    // This also checks that no job failed.
    let whole = outcome::read_document(&document)?;
    let outcome = match step.kind {
        StepKind::MeasureReads => {
            let jobs = document["jobs"].as_array_mut().ok_or(OutcomeError::NoJobs)?;
            jobs.retain(|job| job["read"]["total_ios"].as_u64().unwrap_or(0) > 0);
            outcome::read_document(&document)?
        }
        StepKind::Measure | StepKind::Prepare => whole,
    };
    Ok(Row { settings: step.settings.clone(), outcome, rate, file: file.into() })
}
