//! Finds the knee: the load beyond which throughput stops growing and latency rises.

/// A step that increases throughput by less than this share does not pay off.
pub const GAIN: f64 = 0.05;

/// Throughput and latency of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KneeReading {
    /// Throughput, in any unit.
    pub throughput: f64,
    /// Mean latency, in any unit; `None` if not measured.
    pub latency: Option<f64>,
}

/// Whether the step from `before` to `after` does not pay off: throughput grows by less than 5 %,
/// and latency grows by more than throughput. Without latencies, only throughput decides.
#[must_use]
pub fn saturated(before: &KneeReading, after: &KneeReading) -> bool {
    let growth = |from: f64, to: f64| if from > 0.0 { to / from - 1.0 } else { f64::INFINITY };
    let gain = growth(before.throughput, after.throughput);
    let price = match (before.latency, after.latency) {
        (Some(from), Some(to)) => growth(from, to),
        _ => f64::INFINITY,
    };
    gain < GAIN && price > gain
}

/// Returns the first point whose next step does not pay off, or `None` if every step does.
#[must_use]
pub fn knee(line: &[KneeReading]) -> Option<usize> {
    line.windows(2).position(|step| saturated(&step[0], &step[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(throughput: f64, latency: f64) -> KneeReading {
        KneeReading { throughput, latency: Some(latency) }
    }

    /// A device with 8 channels and a service time of 100 µs, by Little's law.
    #[test]
    fn the_knee_is_where_the_channels_are_all_busy() {
        let depth = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let line: Vec<KneeReading> = depth
            .iter()
            .map(|d: &f64| at(d.min(8.0) * 10_000.0, 100.0 * (d / 8.0).max(1.0)))
            .collect();
        assert_eq!(knee(&line), Some(3));
        assert_eq!(knee(&line[..4]), None);
    }

    #[test]
    fn a_step_must_cost_latency_to_be_one_too_many() {
        assert!(saturated(&at(100.0, 10.0), &at(104.0, 11.0)));
        assert!(!saturated(&at(100.0, 10.0), &at(106.0, 20.0)));
        assert!(!saturated(&at(100.0, 10.0), &at(104.0, 10.0)));
        // Throughput decreases.
        assert!(saturated(&at(100.0, 10.0), &at(80.0, 10.0)));
        let unknown = |throughput| KneeReading { throughput, latency: None };
        assert!(saturated(&unknown(100.0), &unknown(101.0)));
        assert!(!saturated(&unknown(0.0), &unknown(1.0)));
        assert_eq!(knee(&[]), None);
    }
}
