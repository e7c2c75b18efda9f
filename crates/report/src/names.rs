//! Names of distribution buckets, which all formats share.

/// Upper bounds of the nanosecond and microsecond buckets.
pub(crate) const LATENCIES: [&str; 10] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
/// Upper bounds of the millisecond buckets.
pub(crate) const MSEC: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
/// Lower bounds of the levels of I/O depths.
pub(crate) const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Lower bounds of the levels of batch sizes.
pub(crate) const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
