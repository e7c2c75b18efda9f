//! Closed forms of the skewed distributions, as cumulative shares of the first ranks. Used to build
//! a table, never on the path of an I/O.

use std::f64::consts::{PI, SQRT_2};

use fiord_plan::Law;

/// Number of ranks whose weights are added one by one. Beyond them a formula is exact to 1e-15.
const HEAD: usize = 1024;

/// Cumulative distribution over `n` ranks: the share of the first ranks together. For
/// [`Law::Normal`] the middle rank has the largest share.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    n: u64,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Cumulative sums of `k^-theta` over the first ranks.
    Zipf { theta: f64, head: Vec<f64>, total: f64 },
    /// Cumulative shares are this power of the rank.
    Power(f64),
    /// Cumulative shares are this power of the rank, counted from the last rank.
    Mirrored(f64),
    /// The bell, and its share below the first rank and on all ranks.
    Normal { bell: Bell, below: f64, inside: f64 },
}

impl Sums {
    /// Distribution over `n` ranks, at least 1. The mean of a normal distribution is their middle.
    pub(crate) fn new(law: Law, n: u64) -> Self {
        let n = n.max(1);
        let form = match law {
            Law::Zipf { theta } => zipf(theta, n),
            Law::Pareto { h } if h <= 0.5 => Form::Power((1.0 - h).ln() / h.ln()),
            Law::Pareto { h } => Form::Mirrored((1.0 - h).ln() / h.ln()),
            Law::Normal { widening } => {
                let bell = Bell::new(widening / 100.0 * n as f64, n as f64);
                let below = bell.below(0.0);
                let inside = bell.below(n as f64) - below;
                Form::Normal { bell, below, inside }
            }
        };
        Sums { n, form }
    }

    /// Share of the first `count` ranks.
    pub(crate) fn first(&self, count: u64) -> f64 {
        if count == 0 {
            return 0.0;
        }
        if count >= self.n {
            return 1.0;
        }
        let at = count as f64 / self.n as f64;
        match &self.form {
            Form::Zipf { theta, head, total } => zipf_sum(*theta, head, count) / total,
            Form::Power(a) => at.powf(*a),
            Form::Mirrored(a) => -(a * (-at).ln_1p()).exp_m1(),
            Form::Normal { bell, below, inside } => (bell.below(count as f64) - below) / inside,
        }
    }

    /// Ranks at which the weights change fast, in ascending order. A table must have a boundary at
    /// each of them.
    pub(crate) fn knots(&self) -> Vec<u64> {
        let mut knots = vec![0, self.n];
        let mut width = 1;
        while width < self.n {
            knots.push(width);
            width *= 2;
        }
        if let Form::Normal { bell, .. } = self.form {
            for edge in
                [bell.middle - bell.width / 2.0, bell.middle, bell.middle + bell.width / 2.0]
            {
                let knot = |step| (edge + bell.deviation * f64::from(step) / 4.0).max(0.0) as u64;
                knots.extend((-24..=24).map(knot));
            }
        }
        knots.retain(|k| *k <= self.n);
        knots.sort();
        knots.dedup();
        knots
    }
}

/// The sum of a normally distributed number and one that is evenly distributed over `width` around 0, in ranks.
#[derive(Debug, Clone, Copy)]
struct Bell {
    middle: f64,
    deviation: f64,
    width: f64,
}

impl Bell {
    /// The bell over `n` ranks. Its standard deviation, without `width`, is a twelfth of the range.
    fn new(width: f64, n: f64) -> Self {
        Bell { middle: n / 2.0, deviation: n / 12.0, width }
    }

    /// Share of the bell below `rank`.
    fn below(&self, rank: f64) -> f64 {
        let (from_middle, ratio) = (rank - self.middle, self.width / self.deviation);
        // A difference of two nearly equal numbers would be inexact. The error of one bell with the deviation of both
        // is less than 1e-11.
        if ratio < 0.01 {
            let deviation = self.deviation.hypot(self.width / 12f64.sqrt());
            return below(from_middle / deviation);
        }
        let x = from_middle / self.deviation;
        ((below_integral(x + ratio / 2.0) - below_integral(x - ratio / 2.0)) / ratio)
            .clamp(0.0, 1.0)
    }
}

/// Integral of [`below`] from minus infinity to `x`.
fn below_integral(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * PI).sqrt();
    x * below(x) + density
}

fn zipf(theta: f64, n: u64) -> Form {
    let mut sum = 0.0;
    let head = (1..=n.min(HEAD as u64)).map(|k| {
        sum += (k as f64).powf(-theta);
        sum
    });
    let head: Vec<f64> = head.collect();
    let total = zipf_sum(theta, &head, n);
    Form::Zipf { theta, head, total }
}

/// Sum of `k^-theta` over `1 ..= count`. Beyond the head it uses the Euler-Maclaurin formula.
fn zipf_sum(theta: f64, head: &[f64], count: u64) -> f64 {
    if let Some(sum) = count.checked_sub(1).and_then(|i| head.get(i as usize)) {
        return *sum;
    }
    let (m, k) = (HEAD as f64, count as f64);
    let power = |x: f64| x.powf(-theta);
    let integral = match theta {
        1.0 => (k / m).ln(),
        // m^(1-theta) * ((k/m)^(1-theta) - 1) / (1-theta), computed without cancellation.
        _ => m * power(m) * ((1.0 - theta) * (k / m).ln()).exp_m1() / (1.0 - theta),
    };
    let ends = (power(k) - power(m)) / 2.0;
    let slopes = theta * (power(m) / m - power(k) / k) / 12.0;
    head.last().copied().unwrap_or(0.0) + integral + ends + slopes
}

/// Share of a standard normal distribution below `x`.
fn below(x: f64) -> f64 {
    let tail = tail(x.abs());
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// Share of a standard normal distribution above `x`, which must not be negative. Uses the series
/// of the error function near 0, and its continued fraction further out (Abramowitz and Stegun
/// 7.1.6 and 7.1.14).
fn tail(x: f64) -> f64 {
    let z = x / SQRT_2;
    if z < 2.5 {
        let (mut term, mut sum, mut n) = (z, z, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * z * z / (2.0 * n + 1.0);
            sum += term;
        }
        return 0.5 - sum * (-z * z).exp() / PI.sqrt();
    }
    let fraction = (1..=60).rev().fold(z, |f, k| z + f64::from(k) / 2.0 / f);
    (-z * z).exp() / (2.0 * PI.sqrt() * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_sums_equal_sums_of_single_weights() {
        for theta in [0.0, 0.5, 0.99, 1.2, 2.0, 5.0] {
            let n = 100_000;
            let sums = Sums::new(Law::Zipf { theta }, n);
            let total: f64 = (1..=n).rev().map(|k| (k as f64).powf(-theta)).sum();
            let mut sum = 0.0;
            for k in 1..=n {
                sum += (k as f64).powf(-theta);
                let off = (sums.first(k) - sum / total).abs();
                assert!(off < 1e-11, "theta {theta}, {k}: off by {off}");
            }
        }
    }

    /// 80 % to 20 %, and its mirror image.
    #[test]
    fn pareto_shares_agree_with_the_definition() {
        for (h, data, share) in [(0.2, 0.2, 0.8), (0.1, 0.1, 0.9), (0.8, 0.2, 0.8), (0.5, 0.3, 0.3)]
        {
            let sums = Sums::new(Law::Pareto { h }, 1_000_000);
            let got = sums.first((data * 1e6) as u64);
            assert!((got - share).abs() < 1e-9, "{h}: {got}");
        }
    }

    /// Values from tables of the normal distribution.
    #[test]
    fn the_normal_distribution_agrees_with_tables() {
        for (x, share) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
            (2.0, 0.977_249_868_051_820_8),
            (3.0, 0.998_650_101_968_369_9),
            (3.6, 0.999_840_891_409_842_4),
            (5.0, 0.999_999_713_348_428_1),
        ] {
            assert!((below(x) - share).abs() < 1e-14, "{x}: {}", below(x));
            assert!((below(-x) - (1.0 - share)).abs() < 1e-14, "-{x}");
        }
    }
}
