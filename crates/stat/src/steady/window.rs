//! The rolling window of samples and its verdict.

use std::collections::VecDeque;

use fiord_types::{Bytes, Nanos, SteadyLimit, SteadyMeasure, SteadyRule};

use super::fit;
use crate::report::{SteadyKind, SteadyState};

/// Largest range that the specification permits, percent of the mean.
pub const PTS_RANGE: f64 = 20.0;
/// Largest rise or fall of the line over the window that the specification permits, percent of the mean.
pub const PTS_SLOPE: f64 = 10.0;

/// The quantity and the rule for steady state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    pub measure: SteadyMeasure,
    pub rule: SteadyRule,
}

/// The rates and the latency of one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// I/Os per second.
    pub iops: u64,
    /// Bytes per second.
    pub bw: Bytes,
    /// Mean completion latency; 0 if no I/O completed.
    pub lat: Nanos,
}

/// The rolling window of the last samples.
#[derive(Debug, Clone)]
pub struct Window {
    criterion: Criterion,
    size: usize,
    samples: VecDeque<Sample>,
    attained: bool,
}

impl Window {
    /// An empty window of `size` samples, at least 2.
    #[must_use]
    pub fn new(criterion: Criterion, size: usize) -> Self {
        let size = size.max(2);
        Window { criterion, size, samples: VecDeque::with_capacity(size), attained: false }
    }

    /// Adds a sample; drops the oldest if the window is full. Once steady state is attained, keeps it together with
    /// the samples that showed it. Returns whether it is attained.
    pub fn push(&mut self, sample: Sample) -> bool {
        if !self.attained {
            if self.samples.len() == self.size {
                self.samples.pop_front();
            }
            self.samples.push_back(sample);
            self.attained = self.samples.len() == self.size && self.is_steady();
        }
        self.attained
    }

    /// Whether steady state is attained.
    #[must_use]
    pub fn attained(&self) -> bool {
        self.attained
    }

    fn values(&self, measure: SteadyMeasure) -> Vec<f64> {
        let of = |s: &Sample| match measure {
            SteadyMeasure::Iops => s.iops as f64,
            SteadyMeasure::Bandwidth => s.bw.0 as f64,
            SteadyMeasure::Latency => s.lat.0 as f64,
        };
        self.samples.iter().map(of).collect()
    }

    fn is_steady(&self) -> bool {
        let values = self.values(self.criterion.measure);
        let mean = fit::mean(&values);
        // A job without I/O is stuck, not steady.
        if mean <= 0.0 {
            return false;
        }
        let within = |what: f64, limit: SteadyLimit| match limit.percent {
            true => fit::percent(what.abs(), mean) < limit.value,
            false => what.abs() < limit.value,
        };
        match self.criterion.rule {
            SteadyRule::Deviation(limit) => within(fit::deviation(&values), limit),
            SteadyRule::Slope(limit) => within(fit::slope(&values), limit),
            SteadyRule::Pts => {
                fit::percent(fit::range(&values), mean) <= PTS_RANGE
                    && fit::percent(excursion(&values).abs(), mean) <= PTS_SLOPE
            }
        }
    }

    /// The result for the report. `spec` is the criterion as text, `duration` the length of the window.
    /// If the window is not full, deviation and slope are 0, and the means cover the existing samples.
    #[must_use]
    pub fn report(&self, spec: String, duration: Nanos) -> SteadyState {
        let values = self.values(self.criterion.measure);
        let full = self.samples.len() == self.size;
        let judged = if full { values.as_slice() } else { &[] };
        let mean = fit::mean(judged);
        let share = |what: f64, limit: SteadyLimit| match limit.percent {
            true => fit::percent(what, mean),
            false => what,
        };
        let (deviation, slope) = (fit::deviation(judged), fit::slope(judged));
        let (kind, percent, criterion, max_deviation, slope) = match self.criterion.rule {
            SteadyRule::Deviation(limit) => {
                (SteadyKind::Deviation, limit.percent, share(deviation, limit), deviation, 0.0)
            }
            SteadyRule::Slope(limit) => {
                (SteadyKind::Slope, limit.percent, share(slope, limit), 0.0, slope)
            }
            SteadyRule::Pts => {
                let range = fit::percent(fit::range(judged), mean);
                let line = fit::percent(excursion(judged), mean);
                (SteadyKind::Pts { slope_percent: line }, true, range, deviation, slope)
            }
        };
        let column = |of: fn(&Sample) -> u64| self.samples.iter().map(of).collect::<Vec<u64>>();
        let average = |list: &[u64]| list.iter().sum::<u64>() / (list.len() as u64).max(1);
        let (iops, bw) = (column(|s| s.iops), column(|s| s.bw.0));
        let lat = column(|s| s.lat.0);
        SteadyState {
            spec,
            measure: self.criterion.measure,
            kind,
            percent,
            duration,
            attained: self.attained,
            criterion,
            max_deviation,
            slope,
            bw_mean: Bytes(average(&bw)),
            iops_mean: average(&iops),
            lat_mean: Nanos(average(&lat)),
            iops_data: iops,
            bw_data: bw.into_iter().map(Bytes).collect(),
            lat_data: lat.into_iter().map(Nanos).collect(),
            missing: self.size - self.samples.len(),
        }
    }
}

/// Rise of the least squares line from the first to the last sample.
fn excursion(values: &[f64]) -> f64 {
    fit::slope(values) * values.len().saturating_sub(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(measure: SteadyMeasure, rule: SteadyRule, values: &[u64]) -> Window {
        let mut window = Window::new(Criterion { measure, rule }, values.len());
        for v in values {
            let sample = match measure {
                SteadyMeasure::Iops => Sample { iops: *v, ..Sample::default() },
                SteadyMeasure::Bandwidth => Sample { bw: Bytes(*v), ..Sample::default() },
                SteadyMeasure::Latency => Sample { lat: Nanos(*v), ..Sample::default() },
            };
            window.push(sample);
        }
        window
    }
    const fn percent(value: f64) -> SteadyLimit {
        SteadyLimit { value, percent: true }
    }
    const fn fixed(value: f64) -> SteadyLimit {
        SteadyLimit { value, percent: false }
    }

    /// The expected numbers are what fio 3.42 printed for these samples.
    #[test]
    fn the_numbers_equal_those_of_fio() {
        let slope = SteadyRule::Slope(percent(0.5));
        let report = window(SteadyMeasure::Iops, slope, &[3002, 3000, 2995])
            .report(String::new(), Nanos::from_secs(3));
        assert!(report.attained);
        assert_eq!(format!("{:.6} {:.6}", report.criterion, report.slope), "-0.116706 -3.500000");
        assert_eq!((report.iops_mean, report.max_deviation), (2999, 0.0));
        let deviation = SteadyRule::Deviation(percent(50.0));
        let report = window(SteadyMeasure::Iops, deviation, &[3964, 5002])
            .report(String::new(), Nanos::from_secs(2));
        let shown = format!("{:.6} {:.6}", report.criterion, report.max_deviation);
        assert_eq!(shown, "11.577069 519.000000");
        let values = [12_357_713, 12_226_609, 12_378_112];
        let report = window(SteadyMeasure::Bandwidth, SteadyRule::Deviation(percent(0.0)), &values);
        assert!(!report.attained());
        let report = report.report(String::new(), Nanos::from_secs(3));
        let shown = format!("{:.6} {:.6}", report.criterion, report.max_deviation);
        assert_eq!(shown, "0.764579 94202.333333");
    }

    #[test]
    fn limits_are_numbers_or_percentages() {
        let iops = |rule| window(SteadyMeasure::Iops, rule, &[1000, 1010, 1020]).attained();
        assert!(
            iops(SteadyRule::Deviation(fixed(10.1))) && !iops(SteadyRule::Deviation(fixed(10.0)))
        );
        assert!(
            iops(SteadyRule::Deviation(percent(1.0))) && !iops(SteadyRule::Deviation(percent(0.9)))
        );
        assert!(iops(SteadyRule::Slope(fixed(10.1))) && !iops(SteadyRule::Slope(fixed(10.0))));
        assert!(iops(SteadyRule::Slope(percent(1.0))) && !iops(SteadyRule::Slope(percent(0.9))));
        // A line that falls as steeply.
        let lat = |rule| window(SteadyMeasure::Latency, rule, &[1020, 1010, 1000]).attained();
        assert!(lat(SteadyRule::Slope(fixed(10.1))) && !lat(SteadyRule::Slope(fixed(10.0))));
    }

    #[test]
    fn only_the_last_samples_count_and_an_attained_state_stays() {
        let rule = SteadyRule::Deviation(percent(1.0));
        let mut window = Window::new(Criterion { measure: SteadyMeasure::Iops, rule }, 3);
        let attained: Vec<bool> = [9000, 5000, 1000, 1001, 1002, 5]
            .map(|iops| window.push(Sample { iops, ..Sample::default() }))
            .to_vec();
        assert_eq!(attained, [false, false, false, false, true, true]);
        let report = window.report("iops:1.000000%".into(), Nanos::from_secs(3));
        assert_eq!((report.iops_data, report.iops_mean), (vec![1000, 1001, 1002], 1001));
    }

    #[test]
    fn a_window_that_is_not_full_has_no_verdict() {
        let rule = SteadyRule::Deviation(percent(50.0));
        let mut window = Window::new(Criterion { measure: SteadyMeasure::Iops, rule }, 4);
        window.push(Sample { iops: 10, ..Sample::default() });
        window.push(Sample { iops: 20, ..Sample::default() });
        let report = window.report(String::new(), Nanos::from_secs(4));
        assert!(!report.attained && report.criterion == 0.0);
        assert_eq!((report.iops_mean, report.iops_data, report.missing), (15, vec![10, 20], 2));
    }

    #[test]
    fn a_job_without_io_is_not_steady() {
        assert!(
            !window(SteadyMeasure::Iops, SteadyRule::Deviation(percent(50.0)), &[0, 0, 0])
                .attained()
        );
        assert!(!window(SteadyMeasure::Iops, SteadyRule::Pts, &[0; 5]).attained());
    }

    #[test]
    fn pts_wants_both_a_small_range_and_a_flat_line() {
        let pts =
            |values: [u64; 5]| window(SteadyMeasure::Iops, SteadyRule::Pts, &values).attained();
        // 20 % from the smallest to the largest, no slope.
        assert!(pts([900, 1100, 1000, 1100, 900]));
        assert!(!pts([899, 1100, 1000, 1100, 900]));
        // A line that rises by 10 % of the mean over the window.
        assert!(pts([950, 975, 1000, 1025, 1050]));
        assert!(!pts([949, 975, 1000, 1025, 1051]));
        let report = window(SteadyMeasure::Iops, SteadyRule::Pts, &[950, 975, 1000, 1025, 1050]);
        let report = report.report("pts".into(), Nanos::from_secs(5));
        assert_eq!((report.criterion, report.slope), (10.0, 25.0));
        assert_eq!(report.kind, SteadyKind::Pts { slope_percent: 10.0 });
    }
}
