//! The rate over time, and the gaps between I/Os.

use fiord_types::{Dir, Nanos, PerDir};

/// Maximum number of slices of the timeline.
const SLICES: usize = 128;
/// Ranges of gaps in each power of two.
const STEPS: usize = 4;

/// I/Os and bytes of a slice of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateSlice {
    /// I/Os in each direction.
    pub ios: PerDir<u64>,
    /// Bytes in each direction.
    pub bytes: PerDir<u64>,
}

impl RateSlice {
    /// I/Os in all directions.
    #[must_use]
    pub fn all_ios(&self) -> u64 {
        self.ios.values().sum()
    }
}

/// The rate over time: at most 128 slices, whose length doubles when the trace outgrows them.
#[derive(Debug, Clone)]
pub struct Rates {
    width: Nanos,
    slices: Vec<RateSlice>,
    last: Option<Nanos>,
    gaps: Vec<u64>,
    mean_gap: f64,
    /// Sum of the squared differences from the mean gap (Welford).
    squares: f64,
    count: u64,
}

impl Default for Rates {
    fn default() -> Self {
        let (width, slices) = (Nanos::from_micros(100), Vec::new());
        let gaps = vec![0; 64 * STEPS + 1];
        Rates { width, slices, last: None, gaps, mean_gap: 0.0, squares: 0.0, count: 0 }
    }
}

impl Rates {
    /// Counts an I/O. Times do not decrease.
    #[inline]
    pub fn add(&mut self, time: Nanos, dir: Dir, bytes: u64) {
        let mut slice = (time.0 / self.width.0) as usize;
        while slice >= SLICES {
            self.halve();
            slice = (time.0 / self.width.0) as usize;
        }
        if slice >= self.slices.len() {
            self.slices.resize(slice + 1, RateSlice::default());
        }
        self.slices[slice].ios[dir] += 1;
        self.slices[slice].bytes[dir] += bytes;
        if let Some(last) = self.last {
            self.gap(time.saturating_sub(last));
        }
        self.last = Some(time);
    }

    fn gap(&mut self, gap: Nanos) {
        let gap = gap.0 as f64;
        self.count += 1;
        let from_mean = gap - self.mean_gap;
        self.mean_gap += from_mean / self.count as f64;
        self.squares += from_mean * (gap - self.mean_gap);
        self.gaps[step(gap)] += 1;
    }

    fn halve(&mut self) {
        let pairs = self.slices.chunks(2).map(|pair| {
            let mut sum = pair[0];
            if let Some(second) = pair.get(1) {
                for dir in Dir::ALL {
                    sum.ios[dir] += second.ios[dir];
                    sum.bytes[dir] += second.bytes[dir];
                }
            }
            sum
        });
        self.slices = pairs.collect();
        self.width = Nanos(self.width.0.saturating_mul(2));
    }

    /// The slices, and the length of each.
    #[must_use]
    pub fn slices(&self) -> (Nanos, &[RateSlice]) {
        (self.width, &self.slices)
    }

    /// The rate of the busiest slice divided by the mean rate; `None` for fewer than two slices.
    #[must_use]
    pub fn peak_to_mean(&self) -> Option<f64> {
        let peak = self.slices.iter().map(RateSlice::all_ios).max()?;
        let all: u64 = self.slices.iter().map(RateSlice::all_ios).sum();
        let mean = all as f64 / self.slices.len() as f64;
        (self.slices.len() > 1 && all > 0).then_some(peak as f64 / mean)
    }

    /// The standard deviation of gaps divided by their mean: 0 for a constant rate, 1 for independent arrivals
    /// (Poisson), more for bursts. `None` if all I/Os have one time.
    #[must_use]
    pub fn gap_variation(&self) -> Option<f64> {
        let deviation = (self.squares / self.count.max(1) as f64).sqrt();
        (self.mean_gap > 0.0).then_some(deviation / self.mean_gap)
    }

    /// The largest difference between the distribution of gaps and that of independent arrivals (`poisson`) or of a
    /// constant rate, from 0 to 1.
    #[must_use]
    pub fn gap_error(&self, poisson: bool) -> f64 {
        let (mut below, mut worst) = (0, 0f64);
        for (step, count) in self.gaps.iter().enumerate() {
            below += count;
            let end = step_end(step);
            let model = if poisson {
                1.0 - (-end / self.mean_gap.max(1e-9)).exp()
            } else {
                f64::from(end >= self.mean_gap)
            };
            worst = worst.max((below as f64 / self.count.max(1) as f64 - model).abs());
        }
        worst
    }
}

fn step(gap: f64) -> usize {
    (((gap + 1.0).log2() * STEPS as f64) as usize).min(64 * STEPS)
}

/// Where a range of gaps ends, in nanoseconds.
fn step_end(step: usize) -> f64 {
    ((step + 1) as f64 / STEPS as f64).exp2() - 1.0
}

#[cfg(test)]
mod tests {
    use super::super::cardinality::spread;
    use super::*;

    #[test]
    fn constant_and_independent_arrivals_are_told_apart() {
        let (mut constant, mut poisson, mut time) = (Rates::default(), Rates::default(), 0.0);
        for n in 0..20_000u64 {
            constant.add(Nanos(n * 10_000), Dir::Read, 1);
            let uniform = (spread(n) >> 11) as f64 / (1u64 << 53) as f64;
            time += -10_000.0 * (1.0 - uniform).ln();
            poisson.add(Nanos(time as u64), Dir::Write, 1);
        }
        assert!(constant.gap_variation().unwrap() < 0.01);
        assert!((poisson.gap_variation().unwrap() - 1.0).abs() < 0.02);
        assert!(poisson.gap_error(true) < 0.02 && poisson.gap_error(false) > 0.3);
        assert!(constant.gap_error(false) < 0.02 && constant.gap_error(true) > 0.3);
        let (width, slices) = constant.slices();
        assert!(slices.len() > SLICES / 2 && slices.len() <= SLICES);
        assert_eq!(slices.iter().map(RateSlice::all_ios).sum::<u64>(), 20_000);
        assert!(width * slices.len() as u64 >= Nanos::from_millis(199));
        assert!(constant.peak_to_mean().unwrap() < 1.2);
    }

    #[test]
    fn any_time_fits() {
        let mut rates = Rates::default();
        rates.add(Nanos::ZERO, Dir::Read, 1);
        rates.add(Nanos::MAX, Dir::Read, 1);
        assert!(rates.slices().1.len() <= SLICES);
    }
}
