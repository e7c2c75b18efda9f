//! How well a job followed the trace that it replayed (`read_iolog`).

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::summary::Summary;

/// How a job replayed its trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayResults {
    /// I/Os were issued at their recorded times (not with `replay_no_stall`).
    pub timed: bool,
    /// Number of I/Os and flushes that were issued.
    pub issued: u64,
    /// How much later than recorded each of them was issued. Empty without recorded times.
    pub lateness: Histogram,
    /// Extremes and mean of the lateness.
    pub lateness_summary: Summary,
    /// Time from the first to the last I/O that was issued, as recorded.
    #[serde(rename = "recorded_ns")]
    pub recorded: Nanos,
    /// Time from the first to the last I/O that was issued.
    #[serde(rename = "took_ns")]
    pub took: Nanos,
    /// Largest number of I/Os in flight in the trace; `None` if it does not say.
    pub trace_depth: Option<u32>,
    /// Largest number of I/Os in flight in the replay.
    pub depth: u32,
    /// I/Os that the job found all slots in use for, so that they waited.
    pub blocked: u64,
    /// Times that the job waited for the thread that reads the trace.
    pub starved: u64,
    /// I/Os of the trace that the options skip (`replay_skip`, `replay_map`), and empty ones.
    pub skipped: u64,
    /// Invalid lines that were skipped (`replay_invalid=skip`).
    pub invalid: u64,
    /// The first of these lines: number, text and problem.
    pub first_invalid: Option<String>,
    /// Events with a timestamp before that of an earlier event.
    pub backwards: u64,
}

impl ReplayResults {
    /// Percentiles of the lateness: percentage and time.
    #[must_use]
    pub fn percentiles(&self, list: &[f64]) -> Vec<(f64, Nanos)> {
        self.lateness.percentiles(list)
    }

    /// Adds the replay of another job of the same entry.
    pub fn merge(&mut self, other: &ReplayResults) {
        self.timed |= other.timed;
        self.lateness.merge(&other.lateness);
        self.lateness_summary.merge(&other.lateness_summary);
        self.recorded = self.recorded.max(other.recorded);
        self.took = self.took.max(other.took);
        self.trace_depth = self.trace_depth.max(other.trace_depth);
        self.depth = self.depth.max(other.depth);
        for (mine, theirs) in [
            (&mut self.issued, other.issued),
            (&mut self.blocked, other.blocked),
            (&mut self.starved, other.starved),
            (&mut self.skipped, other.skipped),
            (&mut self.invalid, other.invalid),
            (&mut self.backwards, other.backwards),
        ] {
            *mine = mine.saturating_add(theirs);
        }
        if self.first_invalid.is_none() {
            self.first_invalid.clone_from(&other.first_invalid);
        }
    }
}

/// Percentages of [`ReplaySummary::percentiles`].
pub const LATENESS_PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// How a job replayed its trace, for the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplaySummary {
    /// I/Os were issued at their recorded times.
    pub timed: bool,
    /// Number of I/Os and flushes that were issued.
    pub issued: u64,
    /// Mean lateness.
    pub mean: Nanos,
    /// Largest lateness.
    pub max: Nanos,
    /// Percentage and lateness for each of [`LATENESS_PERCENTILES`]; empty without recorded times.
    pub percentiles: Vec<(f64, Nanos)>,
    /// Values and counts of the buckets of the histogram of lateness that are not empty.
    pub bins: Vec<(Nanos, u64)>,
    /// Time from the first to the last I/O that was issued, as recorded.
    pub recorded: Nanos,
    /// Time from the first to the last I/O that was issued.
    pub took: Nanos,
    /// Largest number of I/Os in flight in the trace; `None` if it does not say.
    pub trace_depth: Option<u32>,
    /// Largest number of I/Os in flight in the replay.
    pub depth: u32,
    /// I/Os that waited because all slots were in use.
    pub blocked: u64,
    /// Times that the job waited for the thread that reads the trace.
    pub starved: u64,
    /// I/Os of the trace that the options skip, and empty ones.
    pub skipped: u64,
    /// Invalid lines that were skipped.
    pub invalid: u64,
    /// The first of these lines: number, text and problem.
    pub first_invalid: Option<String>,
    /// Events with a timestamp before that of an earlier event.
    pub backwards: u64,
}

impl ReplaySummary {
    /// The summary of a replay.
    #[must_use]
    pub fn of(results: &ReplayResults) -> Self {
        ReplaySummary {
            timed: results.timed,
            issued: results.issued,
            mean: Nanos(results.lateness_summary.mean() as u64),
            max: Nanos(results.lateness_summary.max()),
            percentiles: results.percentiles(&LATENESS_PERCENTILES),
            bins: results.lateness.bins(),
            recorded: results.recorded,
            took: results.took,
            trace_depth: results.trace_depth,
            depth: results.depth,
            blocked: results.blocked,
            starved: results.starved,
            skipped: results.skipped,
            invalid: results.invalid,
            first_invalid: results.first_invalid.clone(),
            backwards: results.backwards,
        }
    }

    /// The lateness that this share of I/Os (in per cent) does not exceed.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        let found = self.percentiles.iter().find(|(listed, _)| (listed - percent).abs() < 1e-9);
        found.map(|(_, lateness)| *lateness)
    }
}
