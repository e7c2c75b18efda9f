//! What two to four runs per side say.
//!
//! So few runs say nothing without an assumption: the best outcome of a rank test of three runs per side has a probability
//! of 10 %. Here the logarithms of the results are assumed to vary like a normal distribution. Welch's test (Welch, "The
//! generalization of Student's problem when several different population variances are involved", 1947) does
//! not assume that both sides vary equally. If a side has only one run, it is assumed to vary as much as the other side.

use crate::distribution::{student_tail, student_upper};

/// The difference of the means of logarithms, and how certain it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanShift {
    /// Mean of the logarithms of `b` less that of `a`.
    pub shift: f64,
    /// Standard error of the shift.
    pub error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// Compares the logarithms of positive values. `resolution`: the relative error of each value because of the histogram or the
/// digits that it was read from, as a standard deviation. `None` if no side has two values.
#[must_use]
pub fn mean_shift(a: &[f64], b: &[f64], resolution: f64) -> Option<MeanShift> {
    let ((mean_a, a_var), (mean_b, b_var)) = (moments(a), moments(b));
    let (n, m) = (a.len() as f64, b.len() as f64);
    let floor = resolution * resolution;
    let (va, vb, freedom) = match (a_var, b_var) {
        (Some(va), Some(vb)) => {
            let (va, vb) = ((va + floor) / n, (vb + floor) / m);
            let freedom = (va + vb).powi(2) / (va * va / (n - 1.0) + vb * vb / (m - 1.0));
            // Both variances are 0.
            (va, vb, if freedom.is_nan() { n + m - 2.0 } else { freedom })
        }
        (Some(v), None) => ((v + floor) / n, v + floor, n - 1.0),
        (None, Some(v)) => (v + floor, (v + floor) / m, m - 1.0),
        (None, None) => return None,
    };
    Some(MeanShift { shift: mean_b - mean_a, error: (va + vb).sqrt(), freedom })
}

impl MeanShift {
    /// The interval of the ratio that contains the true one with probability `confidence`.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let half = student_upper((1.0 - confidence) / 2.0, self.freedom) * self.error;
        ((self.shift - half).exp(), (self.shift + half).exp())
    }

    /// The probability of a shift that is at least as much above `limit` if the true one is `limit`.
    #[must_use]
    pub fn p_above(&self, limit: f64) -> f64 {
        match self.shift - limit {
            over if self.error > 0.0 => student_tail(over / self.error, self.freedom),
            over if over > 0.0 => 0.0,
            _ => 1.0,
        }
    }

    /// The probability of a shift that is at least as much below `limit` if the true one is `limit`.
    #[must_use]
    pub fn p_below(&self, limit: f64) -> f64 {
        MeanShift { shift: -self.shift, ..*self }.p_above(-limit)
    }
}

/// Mean of the logarithms, and their variance if there are several.
fn moments(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().map(|value| value.ln()).sum::<f64>() / n;
    let squares = values.iter().map(|value| (value.ln() - mean).powi(2)).sum::<f64>();
    (mean, (values.len() > 1).then(|| squares / (n - 1.0)))
}

/// The standard deviation of the logarithms, of all sides with several values together. `None` if no side has several.
#[must_use]
pub fn pooled_deviation(sides: &[&[f64]]) -> Option<f64> {
    let one = |side: &&[f64]| {
        let (_, variance) = moments(side);
        variance.map(|variance| (variance * (side.len() - 1) as f64, side.len() - 1))
    };
    let (squares, freedom) = sides
        .iter()
        .filter_map(one)
        .fold((0.0, 0), |(squares, freedom), (s, f)| (squares + s, freedom + f));
    (freedom > 0).then(|| (squares / freedom as f64).sqrt())
}
