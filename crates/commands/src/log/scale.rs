//! Axes: where a value lies between the ends of an axis, and which values are labelled.

/// An axis from one value to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlotAxis {
    from: f64,
    to: f64,
    logarithmic: bool,
    /// Distance of labels; chosen if `None`.
    step: Option<f64>,
}

impl PlotAxis {
    /// An axis from 0 to at least `most`, which ends at a round number in units of a power of `base`.
    pub(super) fn linear(most: f64, base: f64) -> PlotAxis {
        let most = most.max(1e-9);
        let unit = base.powf(most.max(1.0).log(base).floor());
        let step = round_step(most / unit / 4.0) * unit;
        PlotAxis {
            from: 0.0,
            to: (most / step).ceil() * step,
            logarithmic: false,
            step: Some(step),
        }
    }

    /// An axis between powers of ten that contains the values, which are above 0.
    pub(super) fn logarithmic(least: f64, most: f64) -> PlotAxis {
        let power = |value: f64| value.max(1.0).log10();
        let from = power(least).floor();
        let to = power(most).ceil().max(from + 1.0);
        PlotAxis { from: 10f64.powf(from), to: 10f64.powf(to), logarithmic: true, step: None }
    }

    /// An axis with exactly these ends.
    pub(super) fn between(from: f64, to: f64) -> PlotAxis {
        PlotAxis { from, to: to.max(from + 1e-9), logarithmic: false, step: None }
    }

    /// The place of a value: 0 at the start, 1 at the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.logarithmic {
            true => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        place.clamp(0.0, 1.0)
    }

    /// Values with labels: round numbers, from the start to the end.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let powers = (self.to / self.from).log10().round() as i32;
            return (0..=powers).map(|power| self.from * 10f64.powi(power)).collect();
        }
        let step = self.step.unwrap_or_else(|| round_step((self.to - self.from) / 4.0));
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step * (1.0 + 1e-9)).floor() as i64;
        (first..=last.min(first + 20)).map(|number| number as f64 * step).collect()
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1e-300).log10().floor());
    let found = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power);
    found.into_iter().find(|round| *round >= step * (1.0 - 1e-9)).unwrap_or(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let axis = PlotAxis::linear(730.0, 1000.0);
        assert_eq!(axis.ticks(), [0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!((axis.place(0.0), axis.place(400.0), axis.place(900.0)), (0.0, 0.5, 1.0));
        let mib = f64::from(1 << 20);
        assert_eq!(PlotAxis::linear(7.8 * mib, 1024.0).ticks()[1], 2.0 * mib);
        let axis = PlotAxis::logarithmic(3_000.0, 900_000.0);
        assert_eq!(axis.ticks(), [1e3, 1e4, 1e5, 1e6]);
        assert!((axis.place(31_622.8) - 0.5).abs() < 1e-4);
        assert_eq!(PlotAxis::linear(0.0, 1000.0).place(0.0), 0.0);
        assert_eq!(PlotAxis::between(250.0, 1250.0).ticks(), [500.0, 1000.0]);
    }
}
