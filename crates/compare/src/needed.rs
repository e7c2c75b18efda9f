//! How many runs a verdict needs.

use crate::distribution::normal_upper;
use crate::rank::smallest_p;

/// The probability with which the difference would be recognized.
pub const POWER: f64 = 0.8;

/// The fewest runs per side with which a rank test can reach the level `alpha` in a comparison of `results` results; at
/// least the five that the test of runs needs.
#[must_use]
pub fn fewest_runs(alpha: f64, results: usize) -> usize {
    let level = alpha / results.max(1) as f64;
    (5..1000).find(|n| smallest_p(*n, *n) <= level).unwrap_or(1000)
}

/// Runs per side that recognize a difference with a probability of 80 %. `difference`: that of logarithms beyond the
/// threshold. `deviation`: standard deviation of the logarithms of runs. `None` if the difference is 0.
///
/// The number for the t test, divided by 3/π, the relative efficiency of the rank test for normal
/// distributions (Lehmann, "Nonparametrics", section 2.4).
#[must_use]
pub fn runs_needed(difference: f64, deviation: f64, alpha: f64, results: usize) -> Option<usize> {
    if !difference.is_finite() || difference.abs() < 1e-9 {
        return None;
    }
    let level = alpha / results.max(1) as f64;
    let z = normal_upper(level / 2.0) + normal_upper(1.0 - POWER);
    let n = 2.0 * (z * deviation / difference).powi(2) * std::f64::consts::PI / 3.0;
    // The cast saturates.
    Some((n.ceil() as usize).max(fewest_runs(alpha, results)))
}
