//! What a trace contains.

use fiord_formats::trace::{TraceFormat, TraceName, TraceNotes};
use fiord_types::Bytes;

use super::profile::{IoCount, TraceProfile};

/// Caches whose hits are shown, as shares of the working set.
pub(super) const CACHES: [f64; 4] = [1.0 / 64.0, 1.0 / 16.0, 0.25, 0.5];
/// Shares of the blocks whose I/O is shown.
pub(super) const HOTTEST: [f64; 4] = [0.001, 0.01, 0.1, 0.2];
/// What a trace contains.
#[derive(Debug)]
pub struct TraceSummary {
    pub format: TraceFormat,
    /// Properties of all I/Os.
    pub profile: TraceProfile,
    /// Files and devices of the trace.
    pub targets: Vec<TargetSummary>,
    /// What the reader noticed.
    pub notes: TraceNotes,
}

/// A file or device of a trace.
#[derive(Debug, Clone)]
pub struct TargetSummary {
    /// What the trace calls it.
    pub name: TraceName,
    /// I/Os of the file or device.
    pub count: IoCount,
    /// The highest end of an I/O.
    pub end: Bytes,
}

/// Twice the standard error of a share that the sample of blocks states, in per cent.
pub(super) fn sample_error(profile: &TraceProfile) -> f64 {
    let sample = profile.sample();
    if sample.rate() < 1.0 { 100.0 / (sample.blocks().max(1) as f64).sqrt() } else { 0.0 }
}
