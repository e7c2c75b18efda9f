//! The criterion of `steadystate`: when the results of a job count as steady.

/// The quantity that `steadystate` checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SteadyMeasure {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// The mean completion latency.
    Latency,
}

/// The rule by which `steadystate` decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SteadyRule {
    /// No sample in the window deviates from the mean by more than the limit.
    Deviation(SteadyLimit),
    /// The least squares line through the window rises or falls by less than the limit per sample.
    Slope(SteadyLimit),
    /// `pts`: steady state as in the SNIA Solid State Storage Performance Test Specification: over the window, the
    /// range is within 20 % of the mean, and the least squares line rises or falls by at most 10 % of the mean
    /// from the first to the last sample.
    Pts,
}

/// A limit for steady state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyLimit {
    /// The value.
    pub value: f64,
    /// True: `value` is a percentage of the mean. False: it is in the unit of the measure: I/Os per second, bytes
    /// per second, nanoseconds.
    pub percent: bool,
}
