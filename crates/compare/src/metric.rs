//! What is compared.

use std::fmt;

/// A percentage of a percentile, above 0 and at most 100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percent(f64);

impl Percent {
    /// A percentage. `None` if it is not above 0 and at most 100.
    #[must_use]
    pub fn new(percent: f64) -> Option<Self> {
        (percent > 0.0 && percent <= 100.0).then_some(Percent(percent))
    }
    /// The percentage: 99 for the 99th percentile.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
    /// The share: 0.99 for the 99th percentile.
    #[must_use]
    pub fn share(self) -> f64 {
        self.0 / 100.0
    }
}

/// A quantity that is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CompareMetric {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Mean,
    /// A percentile of the latency.
    Percentile(Percent),
}

/// The metrics that are compared by default. Few, because each one makes it harder to tell a difference: five runs per side
/// suffice for six results.
pub const DEFAULT_METRICS: [CompareMetric; 3] =
    [CompareMetric::Iops, CompareMetric::Mean, CompareMetric::Percentile(Percent(99.0))];

/// A text that names no metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a metric. To fix: use iops, bw, mean or a percentile such as p99 or p99.9")]
pub struct UnknownMetric(pub String);

impl CompareMetric {
    /// Parses `iops`, `bw`, `mean` or a percentile such as `p99.9`. `lat` is another word for `mean`.
    ///
    /// # Errors
    /// The text is none of these.
    pub fn parse(text: &str) -> Result<Self, UnknownMetric> {
        let unknown = || UnknownMetric(text.to_owned());
        match text.to_ascii_lowercase().as_str() {
            "iops" => Ok(CompareMetric::Iops),
            "bw" | "bandwidth" => Ok(CompareMetric::Bandwidth),
            "mean" | "lat" | "latency" => Ok(CompareMetric::Mean),
            "median" => CompareMetric::parse("p50"),
            other => {
                let number = other.strip_prefix('p').and_then(|number| number.parse().ok());
                let percent = number.and_then(Percent::new).ok_or_else(unknown)?;
                Ok(CompareMetric::Percentile(percent))
            }
        }
    }

    /// Whether more is better: of rates, not of latencies.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, CompareMetric::Iops | CompareMetric::Bandwidth)
    }

    /// The unit of values: `1/s`, `bytes/s` or `ns`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            CompareMetric::Iops => "1/s",
            CompareMetric::Bandwidth => "bytes/s",
            CompareMetric::Mean | CompareMetric::Percentile(_) => "ns",
        }
    }

    /// The relative error of a value, as a standard deviation, because percentiles are read from buckets of a histogram, which
    /// are up to 1/64 wide.
    #[must_use]
    pub fn resolution(self) -> f64 {
        match self {
            CompareMetric::Percentile(_) => 1.0 / 64.0 / 12f64.sqrt(),
            _ => 0.0,
        }
    }
}

impl fmt::Display for CompareMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompareMetric::Iops => f.write_str("iops"),
            CompareMetric::Bandwidth => f.write_str("bw"),
            CompareMetric::Mean => f.write_str("mean"),
            CompareMetric::Percentile(percent) => write!(f, "p{}", percent.get()),
        }
    }
}
