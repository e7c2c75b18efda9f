//! Distributions that the tests need: normal and Student's t.

/// The probability that a standard normal variable is at least `z`. The error is below 1e-7 of the result for
/// |z| below 8.
///
/// For |z| below 2.5 by the series of the distribution function (Abramowitz and Stegun 26.2.10), beyond it by its continued
/// fraction (26.2.14).
#[must_use]
pub fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 2.5 {
        let fraction = (1..=60).rev().fold(z, |below, k| z + f64::from(k) / below);
        return density / fraction;
    }
    let (mut term, mut sum) = (z, z);
    for k in 1..=60 {
        term *= z * z / f64::from(2 * k + 1);
        sum += term;
    }
    0.5 - density * sum
}

/// The value that a standard normal variable exceeds with probability `p`, between 0 and 1.
#[must_use]
pub fn normal_upper(p: f64) -> f64 {
    solve(p, normal_tail)
}

/// The probability that a variable with Student's t distribution with `df` degrees of freedom is at least `t`.
///
/// By the regularized incomplete beta function (Abramowitz and Stegun 26.7.1).
#[must_use]
pub fn student_tail(t: f64, df: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - student_tail(-t, df);
    }
    if !t.is_finite() {
        return 0.0;
    }
    0.5 * regularized_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The value that a variable with Student's t distribution with `df` degrees of freedom exceeds with probability `p`.
#[must_use]
pub fn student_upper(p: f64, df: f64) -> f64 {
    solve(p, |t| student_tail(t, df))
}

/// Solves `tail(x) = p` for a decreasing function that is symmetric around 0.
fn solve(p: f64, tail: impl Fn(f64) -> f64) -> f64 {
    if p > 0.5 {
        return -solve(1.0 - p, tail);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if tail(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The regularized incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8).
fn regularized_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - regularized_beta(1.0 - x, b, a);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    let mut fraction = 1.0;
    for m in (1..=300).rev().map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        fraction = 1.0 + even / (1.0 + odd / fraction);
    }
    let first = -(a + b) * x / (a + 1.0);
    front.exp() / a / (1.0 + first / fraction)
}

/// The logarithm of the gamma function for positive arguments: Stirling's series (Abramowitz and Stegun 6.1.41) beyond 10,
/// where it is exact to 1e-13, and the recurrence below.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let inverse = 1.0 / (x * x);
    let series = 1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series / x
}
