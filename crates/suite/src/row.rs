//! What a run's JSON says of a step.

use fiord_sweep::axis::Settings;
use fiord_sweep::outcome::{self, Outcome};
use serde_json::Value;

use crate::definition::{Kind, Step};

/// A rate counts as reached from this share of it on, in per cent.
pub const REACHED: u64 = 99;

/// A row of the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its place on the axes.
    pub settings: Settings,
    /// What was measured.
    pub outcome: Outcome,
    /// Bytes a second that were to be written and were, where there is a rate.
    pub rate: Option<Rate>,
    /// The run's JSON, in the directory of the results.
    pub file: String,
}

/// A rate that writers were to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bytes a second.
    pub target: u64,
    /// What there was.
    pub written: u64,
}

impl Rate {
    /// Whether it was reached; if not, latencies beside it are void.
    pub fn is_reached(&self) -> bool {
        u128::from(self.written) * 100 >= u128::from(self.target) * u128::from(REACHED)
    }
}

impl Row {
    /// Whether the latencies mean what the row says.
    pub fn is_void(&self) -> bool {
        self.rate.is_some_and(|rate| !rate.is_reached())
    }
}

/// Reads a run's JSON.
///
/// # Errors
/// What is missing.
pub fn read(step: &Step, file: &str, text: &str) -> Result<Row, String> {
    let mut document = outcome::final_document(text)?;
    let written = |document: &Value| -> u64 {
        let jobs = document["jobs"].as_array().into_iter().flatten();
        jobs.filter_map(|job| job["write"]["bw_bytes"].as_u64()).sum()
    };
    let rate = step.target.map(|target| Rate { target, written: written(&document) });
    // Checks that no job failed.
    let whole = outcome::read_document(&document)?;
    let outcome = match step.kind {
        Kind::MeasureReads => {
            let jobs = document["jobs"].as_array_mut().ok_or("no jobs in it")?;
            jobs.retain(|job| job["read"]["total_ios"].as_u64().unwrap_or(0) > 0);
            outcome::read_document(&document)?
        }
        Kind::Measure | Kind::Prepare => whole,
    };
    Ok(Row { settings: step.settings.clone(), outcome, rate, file: file.into() })
}
