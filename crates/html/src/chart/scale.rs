//! Scales of axes: where a value lies, and which values have a label.

use crate::quantity::Quantity;

/// How an axis maps values to places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleKind {
    /// Equal distances for equal differences.
    Linear,
    /// Equal distances for equal ratios.
    Log,
    /// Percentages, each further nine at an equal distance: 90, 99, 99.9 …
    Nines,
}

impl ScaleKind {
    /// The word for the script of the page.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ScaleKind::Linear => "linear",
            ScaleKind::Log => "log",
            ScaleKind::Nines => "nines",
        }
    }
}

/// An axis with its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) kind: ScaleKind,
    pub(crate) quantity: Quantity,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Minimum number of labels of an axis, except on one with less than two powers of ten.
const MIN_LABELS: f64 = 4.0;

impl Scale {
    /// A linear scale from 0 to a round number at or above `high`.
    pub(crate) fn from_zero(quantity: Quantity, high: f64) -> Scale {
        let high = if high > 0.0 && high.is_finite() { high } else { 1.0 };
        let step = step(quantity, high);
        let high = (high / step - 1e-9).ceil() * step;
        Scale { kind: ScaleKind::Linear, quantity, low: 0.0, high }
    }

    /// A linear scale over exactly this range.
    pub(crate) fn exact(quantity: Quantity, low: f64, high: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale { kind: ScaleKind::Linear, quantity, low, high }
    }

    /// A logarithmic scale with round ends around the range.
    pub(crate) fn log(quantity: Quantity, low: f64, high: f64) -> Scale {
        let low = if low > 0.0 && low.is_finite() { low } else { 1.0 };
        let high = if high > low { high } else { low };
        // The lowest curve does not lie on the axis.
        let low = low * 0.95;
        let below = [5.0, 2.0, 1.0].map(|n| n * 10f64.powf(low.log10().floor()));
        let low = below.into_iter().find(|edge| *edge <= low * (1.0 + 1e-9)).unwrap_or(low);
        let above = [1.0, 2.0, 5.0, 10.0].map(|n| n * 10f64.powf(high.log10().floor()));
        let round = above.into_iter().find(|edge| *edge >= high * (1.0 - 1e-9)).unwrap_or(high);
        let high = if round > low { round } else { low * 10.0 };
        Scale { kind: ScaleKind::Log, quantity, low, high }
    }

    /// A scale of percentages from 0 to the last one that `samples` values can resolve.
    pub(crate) fn nines(samples: f64) -> Scale {
        let nines = samples.max(10.0).log10().clamp(1.0, 9.0);
        let high = 100.0 - 100.0 / 10f64.powf(nines) / 2.0;
        Scale { kind: ScaleKind::Nines, quantity: Quantity::Percent, low: 0.0, high }
    }

    /// Where the value lies: 0 at the low end, 1 at the high end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (from, to) = (self.flat(self.low), self.flat(self.high));
        ((self.flat(value) - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// The value in a unit in which the scale is linear.
    fn flat(&self, value: f64) -> f64 {
        match self.kind {
            ScaleKind::Linear => value,
            ScaleKind::Log => value.max(self.low).log10(),
            ScaleKind::Nines => -(1.0 - value.min(99.999_999_999) / 100.0).log10(),
        }
    }

    /// The values with labels, ascending.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.kind {
            ScaleKind::Linear => self.linear_ticks(),
            ScaleKind::Log => self.log_ticks(),
            ScaleKind::Nines => {
                let nines = (1..=9).map(|n| 100.0 - 10f64.powi(2 - n));
                let all = [0.0, 50.0].into_iter().chain(nines);
                all.filter(|tick| *tick <= self.high * (1.0 + 1e-12)).collect()
            }
        }
    }

    pub(crate) fn label(&self, tick: f64) -> String {
        match self.kind {
            ScaleKind::Nines => {
                let decimals = (-(1.0 - tick / 100.0).log10()).round() as usize;
                format!("p{tick:.*}", decimals.saturating_sub(2))
            }
            _ => self.quantity.tick(tick),
        }
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let step = step(self.quantity, self.high - self.low);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let (from, to) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = match decades {
            d if d <= 2.5 => &[1.0, 2.0, 5.0],
            d if d <= 4.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let inside = |tick: &f64| *tick >= self.low * 0.999 && *tick <= self.high * 1.001;
        let all = (from..=to).flat_map(|e| steps.iter().map(move |n| n * 10f64.powi(e)));
        all.filter(inside).collect()
    }
}

/// The distance of labels on a linear axis of this length.
fn step(quantity: Quantity, length: f64) -> f64 {
    let rough = length / MIN_LABELS;
    if quantity == Quantity::Clock && rough >= 1.0 {
        let times = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0];
        let hours = [1.0, 2.0, 3.0, 6.0, 12.0, 24.0].map(|hours| hours * 3600.0);
        let fits = |step: &f64| *step <= rough * 1.001;
        let longest = times.into_iter().chain(hours).rfind(fits).unwrap_or(1.0);
        let days = (rough / 86_400.0).floor();
        return if days >= 2.0 { days * 86_400.0 } else { longest };
    }
    match quantity.base() {
        1024.0 => binary_step(rough),
        _ => {
            let power = 10f64.powf(rough.log10().floor());
            let fits = |n: &f64| n * power <= rough * 1.001;
            [5.0, 2.0, 1.0].into_iter().find(fits).unwrap_or(1.0) * power
        }
    }
}

/// The largest round number of bytes up to `rough`. Its multiples are round in every unit.
fn binary_step(rough: f64) -> f64 {
    const ROUND: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 128.0, 256.0, 512.0];
    let units = (0..7).map(|power| 1024f64.powi(power));
    let all = units.flat_map(|unit| ROUND.map(|n| n * unit));
    all.take_while(|step| *step <= rough * 1.001).last().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks().iter().map(|t| scale.label(*t).replace('\u{202f}', " ")).collect()
    }

    #[test]
    fn labels_are_round_numbers() {
        assert_eq!(
            labels(Scale::from_zero(Quantity::OpRate, 42_900.0)),
            ["0", "10k", "20k", "30k", "40k", "50k"]
        );
        let rate = Scale::from_zero(Quantity::ByteRate, 900.0 * 1024.0 * 1024.0);
        assert_eq!(labels(rate)[1], "256 MiB/s");
        let rate = Scale::from_zero(Quantity::ByteRate, 3.4 * 1024.0 * 1024.0);
        assert_eq!(labels(rate)[1..3], ["512 KiB/s", "1 MiB/s"]);
        let rate = Scale::from_zero(Quantity::ByteRate, 1.3 * 1024.0 * 1024.0 * 1024.0);
        assert_eq!(labels(rate)[3..5], ["768 MiB/s", "1 GiB/s"]);
        assert_eq!(
            labels(Scale::exact(Quantity::Clock, 0.0, 86_400.0)),
            ["0 s", "6 h", "12 h", "18 h", "24 h"]
        );
        assert_eq!(
            labels(Scale::log(Quantity::Latency, 60_000.0, 1e6)),
            ["50 µs", "100 µs", "200 µs", "500 µs", "1 ms"]
        );
    }

    #[test]
    fn nines_are_equally_far_apart() {
        let scale = Scale::nines(1e6);
        assert_eq!(
            labels(scale),
            ["p0", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999"]
        );
        let place = |p| scale.place(p);
        assert!((place(99.0) - 2.0 * place(90.0)).abs() < 1e-9);
        assert!((place(99.999) - 5.0 * place(90.0)).abs() < 1e-6);
        assert_eq!(scale.place(100.0), 1.0);
    }

    #[test]
    fn empty_and_odd_ranges_have_an_axis() {
        for high in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Scale::from_zero(Quantity::Count, high).high.is_finite());
        }
        for (low, high) in [(0.0, 0.0), (5.0, 5.0), (9.0, 1.0), (f64::NAN, f64::NAN)] {
            let scale = Scale::log(Quantity::Latency, low, high);
            assert!(scale.high > scale.low && !scale.ticks().is_empty(), "{scale:?}");
        }
    }
}
