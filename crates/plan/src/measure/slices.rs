//! `latency_limits` and related options: the share of I/Os in each slice of time that may exceed a
//! latency.

use fiord_job::option::parse;
use fiord_job::option::table::{LATENCY_LIMITS, LATENCY_SLICE, LATENCY_TEST};
use fiord_job::option::value::{Bases, Value, ValueError};
use fiord_types::Nanos;

use crate::model::LatencySlices;
use crate::options::reading::Reading;

/// Maximum number of limits of a job.
pub(crate) const MAX_LIMITS: usize = 8;
/// Minimum length of a slice.
const MIN_SLICE: Nanos = Nanos::from_millis(10);

/// Reads the latency limits of a job. `None`: it has none.
pub(crate) fn latency_slices(job: Reading) -> Option<LatencySlices> {
    let text = job.get(LATENCY_LIMITS)?;
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let mut limits = Vec::new();
    for part in parts {
        match limit(part) {
            Some(limit) => limits.push(limit),
            None => job.report(
                job.error(LATENCY_LIMITS, format!("`{part}` is not a latency limit")).help(
                    "To fix: write a time and a percentage: latency_limits=1ms:5,8ms:1,64ms:0.1",
                ),
            ),
        }
    }
    limits.sort_by_key(|limit: &(Nanos, f64)| limit.0);
    if limits.len() > MAX_LIMITS {
        let what = ValueError::list_too_long("limits", MAX_LIMITS).what;
        job.report(job.error(LATENCY_LIMITS, what).help("To fix: leave some of them out"));
    }
    let length = job.get(LATENCY_SLICE);
    if length < MIN_SLICE {
        let what = "a slice must be at least 10 ms long";
        job.report(job.error(LATENCY_SLICE, what).help("To fix: write `latency_slice=1h`"));
    }
    if limits.is_empty() {
        return None;
    }
    let name = job.get(LATENCY_TEST);
    Some(LatencySlices { name, length: length.max(MIN_SLICE), limits })
}

/// Parses `8ms:1` or `8ms:1%`: a latency and a share in per cent, above 0.
fn limit(text: &str) -> Option<(Nanos, f64)> {
    let (time, share) = text.split_once(':')?;
    // A number without a unit would mean seconds, which is never intended here.
    let ns = match parse::value(LATENCY_SLICE.def(), Some(time.trim()), &Bases::default()).ok()? {
        Value::Time(ns) if time.trim().ends_with(|c: char| c.is_ascii_alphabetic()) => ns,
        _ => return None,
    };
    let percent: f64 = share.trim().trim_end_matches('%').parse().ok()?;
    (percent > 0.0 && percent <= 100.0 && ns > 0).then_some((Nanos(ns), percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_times_and_shares() {
        assert_eq!(limit("8ms:1"), Some((Nanos(8_000_000), 1.0)));
        assert_eq!(limit("500us : 0.1%"), Some((Nanos(500_000), 0.1)));
        assert_eq!(limit("1s:100"), Some((Nanos(1_000_000_000), 100.0)));
        for bad in
            ["", "8ms", "8:1", "8ms:", "8ms:0", "8ms:101", "8ms:-1", "0ms:1", "x:1", "8ms:NaN"]
        {
            assert_eq!(limit(bad), None, "{bad}");
        }
    }
}
