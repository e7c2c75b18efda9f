//! Mean, deviation, range and least squares line of a few equidistant values.

/// The mean; 0 without values.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The largest distance of a value from the mean.
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).abs()).fold(0.0, f64::max)
}

/// The largest minus the smallest value; 0 without values.
pub fn range(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    if values.is_empty() { 0.0 } else { largest - smallest }
}

/// The slope of the least squares line, per interval; 0 for fewer than two values.
#[must_use]
pub fn slope(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let middle = (values.len() - 1) as f64 / 2.0;
    let mean = mean(values);
    let (mut above, mut below) = (0.0, 0.0);
    for (i, v) in values.iter().enumerate() {
        let x = i as f64 - middle;
        above += x * (v - mean);
        below += x * x;
    }
    above / below
}

/// `part` as a percentage of `whole`; 0 if `whole` is 0.
#[must_use]
pub fn percent(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part * 100.0 / whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_noise_around_it_does_not_change_it() {
        for known in [-3.5, 0.0, 0.25, 1e6] {
            let line: Vec<f64> = (0..9).map(|i| 1000.0 + known * f64::from(i)).collect();
            assert!((slope(&line) - known).abs() < 1e-9, "{known}");
            assert!((range(&line) - known.abs() * 8.0).abs() < 1e-9);
            assert!((deviation(&line) - known.abs() * 4.0).abs() < 1e-9);
            // Noise that is symmetric about the middle does not change the fit.
            let noise = [5.0, -2.0, 7.0, 0.0, -9.0, 0.0, 7.0, -2.0, 5.0];
            let noisy: Vec<f64> = line.iter().zip(noise).map(|(a, b)| a + b).collect();
            assert!((slope(&noisy) - known).abs() < 1e-9, "{known}");
        }
    }

    #[test]
    fn few_values_are_no_reason_to_divide_by_nothing() {
        assert_eq!((mean(&[]), deviation(&[]), range(&[]), slope(&[])), (0.0, 0.0, 0.0, 0.0));
        assert_eq!(
            (mean(&[7.0]), deviation(&[7.0]), range(&[7.0]), slope(&[7.0])),
            (7.0, 0.0, 0.0, 0.0)
        );
        assert_eq!(percent(1.0, 0.0), 0.0);
    }
}
