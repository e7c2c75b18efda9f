//! How well a job followed the trace that it replayed (`read_iolog`).

use fiord_types::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::histogram::Histogram;
use crate::maps::{by_percent, by_time};
use crate::named::{ByName, count_names};
use crate::summary::Summary;

count_names! {
    /// What is counted about a replay.
    ReplayCount {
        /// I/Os and flushes that were issued.
        Issued = "ios",
        /// Largest number of I/Os in flight.
        Depth = "depth",
        /// I/Os that waited because all slots were in use.
        Blocked = "blocked",
        /// Times that the job waited for the thread that reads the trace.
        Starved = "starved",
        /// I/Os of the trace that the options skip (`replay_skip`, `replay_map`), and empty ones.
        Skipped = "skipped_ios",
        /// Invalid lines that were skipped (`replay_invalid=skip`).
        Invalid = "invalid_lines",
        /// Events with a timestamp before that of an earlier event.
        Backwards = "backward_times",
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

/// Percentages of the latenesses in a [`ReplaySummary`].
pub const LATENESS_PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// How a job replayed its trace, for the report. Its keys are those in JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplaySummary {
    /// I/Os were issued at their recorded times.
    pub timed: bool,
    /// Time from the first to the last I/O that was issued.
    #[serde(rename = "took_ns")]
    pub took: Nanos,
    /// Time from the first to the last I/O that was issued, as recorded.
    #[serde(rename = "recorded_ns")]
    pub recorded: Nanos,
    /// How much later than recorded I/Os were issued; `None` without recorded times.
    #[serde(rename = "lateness_ns", skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// Largest number of I/Os in flight in the trace; `None` if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_depth: Option<u32>,
    #[serde(flatten, with = "by_name")]
    pub counts: ReplayCounts,
    /// The first invalid line that was skipped: number, problem and text.
    #[serde(rename = "first_invalid_line", skip_serializing_if = "Option::is_none")]
    pub first_invalid: Option<String>,
}

/// How much later than recorded the I/Os of a trace were issued.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lateness {
    pub mean: Nanos,
    /// Largest lateness.
    pub max: Nanos,
    /// Percentage and lateness for each of [`LATENESS_PERCENTILES`].
    #[serde(rename = "percentile", with = "by_percent")]
    pub percentiles: Vec<(f64, Nanos)>,
    /// Values and counts of the buckets of the histogram that are not empty.
    #[serde(with = "by_time")]
    pub bins: Vec<(Nanos, u64)>,
}

/// Counts as an object with a key for each of them.
mod by_name {
    use super::*;

    pub(super) fn serialize<S: Serializer>(
        counts: &ReplayCounts,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        ByName::<ReplayCount>::serialize(&counts.0, to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<ReplayCounts, D::Error> {
        ByName::<ReplayCount>::deserialize(from).map(ReplayCounts)
    }
}

impl ReplaySummary {
    #[must_use]
    pub fn of(results: &ReplayResults) -> Self {
        let lateness = || Lateness {
            mean: Nanos(results.lateness_summary.mean() as u64),
            max: Nanos(results.lateness_summary.max()),
            percentiles: results.lateness.percentiles(&LATENESS_PERCENTILES),
            bins: results.lateness.bins(),
        };
        ReplaySummary {
            timed: results.timed,
            took: results.took,
            recorded: results.recorded,
            lateness: results.timed.then(lateness),
            trace_depth: results.trace_depth,
            counts: results.counts,
            first_invalid: results.first_invalid.clone(),
        }
    }

    /// The lateness that this share of I/Os (in per cent) does not exceed.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        let mut listed = self.lateness.as_ref()?.percentiles.iter();
        let found = listed.find(|(listed, _)| (listed - percent).abs() < 1e-9);
        found.map(|(_, lateness)| *lateness)
    }
}
