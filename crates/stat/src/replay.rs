//! How well a job followed the trace that it replayed (`read_iolog`).

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::summary::Summary;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayCount {
    /// I/Os and flushes that were issued.
    Issued,
    /// Largest number of I/Os in flight.
    Depth,
    /// I/Os that waited because all slots were in use.
    Blocked,
    /// Times that the job waited for the thread that reads the trace.
    Starved,
    /// I/Os of the trace that the options skip (`replay_skip`, `replay_map`), and empty ones.
    Skipped,
    /// Invalid lines that were skipped (`replay_invalid=skip`).
    Invalid,
    /// Events with a timestamp before that of an earlier event.
    Backwards,
}

impl ReplayCount {
    pub const ALL: [ReplayCount; 7] = [
        ReplayCount::Issued,
        ReplayCount::Depth,
        ReplayCount::Blocked,
        ReplayCount::Starved,
        ReplayCount::Skipped,
        ReplayCount::Invalid,
        ReplayCount::Backwards,
    ];

    /// The key in JSON reports.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            ReplayCount::Issued => "ios",
            ReplayCount::Depth => "depth",
            ReplayCount::Blocked => "blocked",
            ReplayCount::Starved => "starved",
            ReplayCount::Skipped => "skipped_ios",
            ReplayCount::Invalid => "invalid_lines",
            ReplayCount::Backwards => "backward_times",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayCounts([u64; ReplayCount::ALL.len()]);

impl ReplayCounts {
    #[inline]
    #[must_use]
    pub fn get(&self, which: ReplayCount) -> u64 {
        self.0[which as usize]
    }

    #[inline]
    pub fn add(&mut self, which: ReplayCount, more: u64) {
        let count = &mut self.0[which as usize];
        *count = count.saturating_add(more);
    }

    /// Raises a count to at least `least`.
    #[inline]
    pub fn raise(&mut self, which: ReplayCount, least: u64) {
        let count = &mut self.0[which as usize];
        *count = least.max(*count);
    }

    /// Adds the counts of another job. Depths do not add up.
    pub fn merge(&mut self, other: &ReplayCounts) {
        for which in ReplayCount::ALL {
            match which {
                ReplayCount::Depth => self.raise(which, other.get(which)),
                _ => self.add(which, other.get(which)),
            }
        }
    }
}

/// How a job replayed its trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayResults {
    /// I/Os were issued at their recorded times (not with `replay_no_stall`).
    pub timed: bool,
    /// How much later than recorded each I/O and flush was issued. Empty without recorded times.
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
    pub counts: ReplayCounts,
    /// The first invalid line that was skipped: number, problem and text.
    pub first_invalid: Option<String>,
}

impl ReplayResults {
    /// Adds the replay of another job of the same entry.
    pub fn merge(&mut self, other: &ReplayResults) {
        self.timed |= other.timed;
        self.lateness.merge(&other.lateness);
        self.lateness_summary.merge(&other.lateness_summary);
        self.recorded = self.recorded.max(other.recorded);
        self.took = self.took.max(other.took);
        self.trace_depth = self.trace_depth.max(other.trace_depth);
        self.counts.merge(&other.counts);
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
    pub counts: ReplayCounts,
    /// The first invalid line that was skipped: number, problem and text.
    pub first_invalid: Option<String>,
}

impl ReplaySummary {
    #[must_use]
    pub fn of(results: &ReplayResults) -> Self {
        ReplaySummary {
            timed: results.timed,
            mean: Nanos(results.lateness_summary.mean() as u64),
            max: Nanos(results.lateness_summary.max()),
            percentiles: results.lateness.percentiles(&LATENESS_PERCENTILES),
            bins: results.lateness.bins(),
            recorded: results.recorded,
            took: results.took,
            trace_depth: results.trace_depth,
            counts: results.counts,
            first_invalid: results.first_invalid.clone(),
        }
    }

    /// The lateness that this share of I/Os (in per cent) does not exceed.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        let found = self.percentiles.iter().find(|(listed, _)| (listed - percent).abs() < 1e-9);
        found.map(|(_, lateness)| *lateness)
    }
}
