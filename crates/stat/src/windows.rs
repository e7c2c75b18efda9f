//! Rates over equal windows of time (`bwavgtime`, `iopsavgtime`), for the bw and iops statistics.

use serde::{Deserialize, Serialize};

use fiord_types::{Bytes, Dir, Nanos, PerDir};

use crate::live::Totals;

/// Statistics of the samples of one rate. Samples are integers (KiB/s or IOPS), as in fio.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RateStat {
    /// Number of samples.
    pub samples: u64,
    /// The smallest sample; after a merge, the sum over the jobs.
    pub min: u64,
    /// The largest sample; after a merge, the sum over the jobs.
    pub max: u64,
    /// The mean; after a merge, the sum over the jobs.
    pub mean: f64,
    /// Sum of squared differences from the mean; after a merge, the sum over the jobs.
    pub squares: f64,
}

impl RateStat {
    /// Records one sample.
    pub fn record(&mut self, value: u64) {
        self.min = if self.samples == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.samples += 1;
        // Welford's algorithm. There are few samples, so the cost of floating point does not matter.
        let delta = value as f64 - self.mean;
        self.mean += delta / self.samples as f64;
        self.squares += delta * (value as f64 - self.mean);
    }
    /// Adds another job's rates. The rate of several jobs together is the sum of their rates.
    pub fn merge(&mut self, other: &RateStat) {
        self.samples = self.samples.saturating_add(other.samples);
        self.min = self.min.saturating_add(other.min);
        self.max = self.max.saturating_add(other.max);
        self.mean += other.mean;
        self.squares += other.squares;
    }
    /// The sample standard deviation; 0 for fewer than two samples.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        if self.samples < 2 { 0.0 } else { (self.squares / (self.samples - 1) as f64).sqrt() }
    }
}

/// One job's windows, fed by the monitor thread. Only the samples are serialized.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    #[serde(skip)]
    window: Nanos,
    #[serde(skip)]
    began: Nanos,
    #[serde(skip)]
    last: Totals,
    /// Bandwidth, KiB/s, by direction.
    pub bw: PerDir<RateStat>,
    /// I/Os per second, by direction.
    pub iops: PerDir<RateStat>,
}

impl Windows {
    /// Windows of length `window`; the first begins at `now`.
    #[must_use]
    pub fn new(window: Nanos, now: Nanos) -> Self {
        Windows { window, began: now, ..Windows::default() }
    }
    /// When the current window ends.
    #[must_use]
    pub fn due(&self) -> Nanos {
        self.began.saturating_add(self.window)
    }
    /// Takes the totals at `now`. If the window has ended, records its rates, begins the next window and
    /// returns true. Records no sample for a direction without I/O in this window.
    pub fn sample(&mut self, now: Nanos, totals: Totals) -> bool {
        if now < self.due() || now == self.began {
            return false;
        }
        let spent_ms = now.saturating_sub(self.began).as_millis().max(1);
        for dir in Dir::ALL {
            let bytes = totals.bytes[dir].saturating_sub(self.last.bytes[dir]);
            let ios = totals.ios[dir].saturating_sub(self.last.ios[dir]);
            // No I/O in this window: the job does not use this direction at present.
            if bytes == Bytes::ZERO && ios == 0 {
                continue;
            }
            self.bw[dir].record((u128::from(bytes.0) * 1000 / u128::from(spent_ms) / 1024) as u64);
            self.iops[dir].record((u128::from(ios) * 1000 / u128::from(spent_ms)) as u64);
        }
        self.last = totals;
        self.began = now;
        true
    }
    /// Clears all samples and starts again at `now`, at the end of `ramp_time`. Assumes that the totals start
    /// again at zero.
    pub fn reset(&mut self, now: Nanos) {
        *self = Windows::new(self.window, now);
    }
    /// Adds the windows of another job.
    pub fn merge(&mut self, other: &Windows) {
        for dir in Dir::ALL {
            self.bw[dir].merge(&other.bw[dir]);
            self.iops[dir].merge(&other.iops[dir]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_become_samples() {
        let mut windows = Windows::new(Nanos::from_millis(500), Nanos::ZERO);
        let totals = |ios: u64| Totals {
            bytes: PerDir::new(ios * 4096, 0, 0).map(Bytes),
            ios: PerDir::new(ios, 0, 0),
        };
        assert!(!windows.sample(Nanos(499_999_999), totals(100)));
        assert!(windows.sample(Nanos(500_000_000), totals(1000)));
        // 250 ms late: the rate refers to the elapsed time.
        assert!(windows.sample(Nanos(1_250_000_000), totals(4000)));
        let iops = windows.iops[Dir::Read];
        assert_eq!((iops.samples, iops.min, iops.max, iops.mean), (2, 2000, 4000, 3000.0));
        assert!((iops.stddev() - 2_000_000f64.sqrt()).abs() < 1e-9);
        assert_eq!((windows.bw[Dir::Read].min, windows.bw[Dir::Read].max), (8000, 16000));
        assert_eq!(windows.iops[Dir::Write].samples, 0);
        // A window without I/O gives no sample.
        assert!(windows.sample(Nanos(2_000_000_000), totals(4000)));
        assert_eq!(windows.iops[Dir::Read].samples, 2);
    }
}
