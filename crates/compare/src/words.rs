//! Numbers and names in tables.

use fiord_stat::report::DirKind;
use fiord_stat::units::{BINARY_RATE, COUNT, TIME, Units};

use crate::metric::CompareMetric;

/// The name of a direction.
#[must_use]
pub fn direction(kind: DirKind) -> &'static str {
    match kind {
        DirKind::Read => "read",
        DirKind::Write => "write",
        DirKind::Trim => "trim",
        DirKind::Mixed => "all",
    }
}

/// The heading of a metric.
#[must_use]
pub fn metric(metric: CompareMetric) -> String {
    match metric {
        CompareMetric::Iops => "IOPS".into(),
        CompareMetric::Bandwidth => "bandwidth".into(),
        CompareMetric::Mean => "mean latency".into(),
        CompareMetric::Percentile(percent) => format!("p{} latency", percent.get()),
    }
}

/// A value with four digits and its unit.
#[must_use]
pub fn value(metric: CompareMetric, value: f64) -> String {
    let units: Units = match metric {
        CompareMetric::Iops => COUNT,
        CompareMetric::Bandwidth => BINARY_RATE,
        CompareMetric::Mean | CompareMetric::Percentile(_) => TIME,
    };
    let scaled = units.of(value);
    scaled.joined(match scaled.value {
        v if v >= 999.95 => 0,
        v if v >= 99.995 => 1,
        _ => 2,
    })
}

/// A difference in per cent, with its sign.
#[must_use]
pub fn percent(percent: f64) -> String {
    match percent.abs() {
        change if change >= 999.5 => format!("{percent:+.0} %"),
        change if change >= 9.95 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.2} %"),
    }
}

/// An interval of differences in per cent.
#[must_use]
pub fn interval(interval: Option<(f64, f64)>) -> String {
    let short = |value: f64| match value.abs() {
        change if change >= 999.5 => format!("{value:+.0}"),
        change if change >= 9.95 => format!("{value:+.1}"),
        _ => format!("{value:+.2}"),
    };
    interval.map_or("unknown".into(), |(low, high)| format!("{} to {} %", short(low), short(high)))
}

/// A probability with two digits; a dash if it is unknown.
#[must_use]
pub fn probability(p: Option<f64>) -> String {
    let Some(p) = p else { return "-".into() };
    match p {
        p if p < 0.0001 => "<0.0001".into(),
        p if p < 0.001 => format!("{p:.4}"),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// A number of runs.
#[must_use]
pub fn runs(runs: usize) -> String {
    match runs {
        1 => "1 run".into(),
        1000.. => "more than 1000 runs".into(),
        runs => format!("{runs} runs"),
    }
}
