//! The Mann–Whitney test, and the confidence interval of a ratio that belongs to it.
//!
//! Mann and Whitney, "On a test of whether one of two random variables is stochastically larger than the other", 1947. The
//! distribution for small samples is exact, with ties, too: all assignments of the values to the two sides are equally
//! likely. Larger samples use the normal approximation with corrections for ties and continuity (Lehmann,
//! "Nonparametrics", 1975, section 1.2 and 1.4).
//!
//! The interval consists of the ratios at which the test would not reject: the ordered ratios of all pairs of values
//! (Hodges and Lehmann 1963; Hollander and Wolfe, "Nonparametric Statistical Methods", section 4.3, applied to logarithms).
//! If both sides have the same distribution except for a factor, that factor is the ratio of their medians.

use crate::distribution::{normal_tail, normal_upper};

/// Maximum number of values on a side for which the exact distribution is computed.
pub const MAX_EXACT: usize = 20;

/// Probabilities of a Mann–Whitney test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// Pairs in which the value of the second side is larger; ties count one half.
    pub u: f64,
    /// Probability of a `u` at least as large if both sides are equal.
    pub p_larger: f64,
    /// Probability of a `u` at least as small if both sides are equal.
    pub p_smaller: f64,
}

/// Tests whether the values of `b` tend to be larger, or smaller, than those of `a`. Neither may be empty.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> RankTest {
    let (doubled, ties) = doubled_ranks(a, b);
    let own: u64 = doubled[a.len()..].iter().sum();
    let least = (b.len() * (b.len() + 1)) as u64;
    let u = (own - least) as f64 / 2.0;
    if a.len().max(b.len()) <= MAX_EXACT {
        let counts = rank_sums(&doubled, b.len());
        let total: f64 = counts.iter().sum();
        let own = own as usize;
        let at_least: f64 = counts[own..].iter().sum();
        let at_most: f64 = counts[..=own].iter().sum();
        return RankTest { u, p_larger: at_least / total, p_smaller: at_most / total };
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let all = n + m;
    let mean = n * m / 2.0;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return RankTest { u, p_larger: 1.0, p_smaller: 1.0 };
    }
    let tail = |over: f64| normal_tail((over - 0.5) / variance.sqrt());
    RankTest { u, p_larger: tail(u - mean), p_smaller: tail(mean - u) }
}

/// Twice the ranks of the values, first those of `a`; values that are equal share the mean of their ranks. Also returns the
/// sum of t³ − t over all groups of t equal values.
fn doubled_ranks(a: &[f64], b: &[f64]) -> (Vec<u64>, f64) {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|x, y| all[*x].total_cmp(&all[*y]));
    let mut doubled = vec![0; all.len()];
    let mut ties = 0.0;
    let mut first = 0;
    for equal in order.chunk_by(|x, y| all[*x] == all[*y]) {
        let t = equal.len();
        // The ranks of the group are first + 1 to first + t.
        equal.iter().for_each(|at| doubled[*at] = (2 * first + t + 1) as u64);
        ties += (t * t * t - t) as f64;
        first += t;
    }
    (doubled, ties)
}

/// For each sum, the number of ways to choose `chosen` of the ranks that have it.
fn rank_sums(ranks: &[u64], chosen: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum::<u64>() as usize;
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for (i, rank) in ranks.iter().enumerate() {
        let rank = *rank as usize;
        for size in (1..=chosen.min(i + 1)).rev() {
            let (smaller, larger) = ways.split_at_mut(size);
            let (from, to) = (&smaller[size - 1], &mut larger[0]);
            for sum in rank..=most {
                to[sum] += from[sum - rank];
            }
        }
    }
    ways.swap_remove(chosen)
}

/// The two-sided probability of the most extreme outcome of the test without ties: all values of one side are larger.
#[must_use]
pub fn smallest_p(a: usize, b: usize) -> f64 {
    let ways = (1..=a).fold(1.0, |ways, i| ways * (b + i) as f64 / i as f64);
    (2.0 / ways).min(1.0)
}

/// The interval that contains the ratio of `b` to `a` with a probability of at least `confidence`. All values must be
/// positive. `None` if there are too few values for this confidence.
#[must_use]
pub fn ratio_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let mut ratios: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b / a)).collect();
    ratios.sort_by(f64::total_cmp);
    let cut = pairs_below((a.len(), b.len()), (1.0 - confidence) / 2.0)?;
    Some((ratios[cut], ratios[ratios.len() - 1 - cut]))
}

/// The number of ordered ratios to leave out at each end.
fn pairs_below((n, m): (usize, usize), tail: f64) -> Option<usize> {
    if n.max(m) > MAX_EXACT {
        let (n, m) = (n as f64, m as f64);
        let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let cut = n * m / 2.0 - 0.5 - normal_upper(tail) * spread;
        return (cut >= 0.0).then_some(cut as usize);
    }
    let ranks: Vec<u64> = (1..=(n + m) as u64).collect();
    let counts = rank_sums(&ranks, m);
    let total: f64 = counts.iter().sum();
    let least = m * (m + 1) / 2;
    let mut seen = 0.0;
    let below = counts[least..].iter().take_while(|ways| {
        seen += **ways;
        seen / total <= tail
    });
    below.count().checked_sub(1)
}

/// The median; the mean of the two middle ones for an even number. NaN without values.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (n, half) if n % 2 == 0 => (sorted[half - 1] + sorted[half]) / 2.0,
        (_, half) => sorted[half],
    }
}
