//! Reads the JSON of a step's run.

use fiord_stat::report::{DirKind, DirReport, JobReport};
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
    let mut report = fiord_report::read(text)?;
    let writes = report.jobs.iter().filter_map(|job| direction(job, DirKind::Write));
    let written = writes.map(|row| row.bw).sum();
    let rate = step.target.map(|target| WriteRate { target: Bytes(target), written });
    // This also checks that no job failed.
    let whole = outcome::of_report(&report)?;
    let outcome = match step.kind {
        StepKind::MeasureReads => {
            let reads = |job: &JobReport| direction(job, DirKind::Read).map(|row| row.total_ios);
            report.jobs.retain(|job| reads(job) > Some(0));
            outcome::of_report(&report)?
        }
        StepKind::Measure | StepKind::Prepare => whole,
    };
    Ok(Row { settings: step.settings.clone(), outcome, rate, file: file.into() })
}

fn direction(job: &JobReport, kind: DirKind) -> Option<&DirReport> {
    job.dirs.iter().find(|row| row.kind == kind)
}
