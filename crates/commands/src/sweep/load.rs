//! `--rate`: measures latency at percentages of the highest rate found.

use crate::axis::PointSettings;
use crate::runs::outcome::PointOutcome;

/// Percentages of the highest rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loads(pub Vec<u32>);

/// Why `--rate` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--rate {text}: {cause}. To fix: write 10%..110% or 10%..110%:5%")]
pub struct RateError {
    pub text: String,
    /// What is wrong with it.
    pub cause: RateCause,
}

/// What is wrong with the text of `--rate`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateCause {
    /// A part is not a number.
    #[error("`{0}` is not a percentage")]
    NotAPercentage(String),
    /// There are no two dots.
    #[error("no range")]
    NoRange,
    /// The bounds or the step are out of range.
    #[error("a range must increase in steps between 1 % and 1000 %")]
    OutOfRange,
}

/// Parses `10%..110%` or `10%..110%:5%`. The default step is 10 %.
///
/// # Errors
/// The text is not a range of percentages.
pub fn read(text: &str) -> Result<Loads, RateError> {
    let wrong = |cause| RateError { text: text.to_owned(), cause };
    let percent = |part: &str| {
        let number = part.trim().strip_suffix('%').unwrap_or(part.trim());
        number.parse::<u32>().map_err(|_| wrong(RateCause::NotAPercentage(part.to_owned())))
    };
    let (range, step) = match text.split_once(':') {
        Some((range, step)) => (range, percent(step)?),
        None => (text, 10),
    };
    let (low, high) = range.split_once("..").ok_or_else(|| wrong(RateCause::NoRange))?;
    let (low, high) = (percent(low)?, percent(high)?);
    if low == 0 || step == 0 || low > high || high > 1000 {
        return Err(wrong(RateCause::OutOfRange));
    }
    Ok(Loads((low..=high).step_by(step as usize).collect()))
}

/// Returns `rate_iops` of each of `instances` jobs for a percentage of their total IOPS; `None` if
/// the directions are unknown or no I/O was done.
#[must_use]
pub fn rate(highest: &PointOutcome, instances: u64, percent: u32) -> Option<String> {
    let apart = highest.dirs?;
    let one = |iops: f64| {
        let share = iops * f64::from(percent) / 100.0 / instances.max(1) as f64;
        (share.round() as u64).max(1)
    };
    let used: Vec<f64> = apart.into_iter().filter(|iops| *iops > 0.0).collect();
    match used.as_slice() {
        [] => None,
        [only] => Some(one(*only).to_string()),
        // A direction without I/O needs no rate.
        _ => {
            let last = apart.iter().rposition(|iops| *iops > 0.0).unwrap_or(0);
            let rates: Vec<String> = apart[..=last].iter().map(|i| one(*i).to_string()).collect();
            Some(rates.join(","))
        }
    }
}

/// Returns `settings` with `rate_iops` set to `rate`.
#[must_use]
pub fn settings(at: &PointSettings, rate: String) -> PointSettings {
    let mut settings = at.clone();
    settings.push(("rate_iops".into(), rate));
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(dirs: [f64; 3]) -> PointOutcome {
        PointOutcome { dirs: Some(dirs), ..PointOutcome::default() }
    }

    #[test]
    fn loads_are_a_range_in_steps() {
        assert_eq!(read("10%..110%").unwrap().0, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]);
        assert_eq!(read("50..100:25").unwrap().0, [50, 75, 100]);
        for wrong in ["", "10%", "x..20%", "0%..50%", "90%..50%", "10%..20%:0", "10%..9999%"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_is_shared_by_instances_and_directions() {
        assert_eq!(rate(&outcome([80_000.0, 0.0, 0.0]), 4, 50).as_deref(), Some("10000"));
        assert_eq!(rate(&outcome([0.0, 9.0, 0.0]), 1, 110).as_deref(), Some("10"));
        assert_eq!(rate(&outcome([700.0, 300.0, 0.0]), 1, 10).as_deref(), Some("70,30"));
        assert_eq!(rate(&outcome([0.0; 3]), 1, 10), None);
        assert_eq!(rate(&PointOutcome::default(), 1, 10), None);
    }
}
