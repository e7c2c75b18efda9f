//! Rates over equal windows of time (`bwavgtime`, `iopsavgtime`), for the bw and iops statistics.

use serde::{Deserialize, Serialize};

use fiord_types::{Bytes, Dir, Nanos, PerDir};

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
        self.record_n(value, 1);
    }
    /// Records `n` equal samples.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.min = if self.samples == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        // Welford's algorithm. There are few samples, so the cost of floating point does not matter.
        let before = self.samples as f64;
        self.samples += n;
        let delta = value as f64 - self.mean;
        self.mean += delta * n as f64 / self.samples as f64;
        self.squares += delta * delta * before * n as f64 / self.samples as f64;
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

/// The rates of one job in windows of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    /// Bandwidth, KiB/s, by direction.
    pub bw: PerDir<RateStat>,
    /// I/Os per second, by direction.
    pub iops: PerDir<RateStat>,
}

impl Windows {
    /// Adds the windows of another job.
    pub fn merge(&mut self, other: &Windows) {
        for dir in Dir::ALL {
            self.bw[dir].merge(&other.bw[dir]);
            self.iops[dir].merge(&other.iops[dir]);
        }
    }
}

/// Takes the rates of a job in windows of equal length. The job's worker ends the windows that are over before it counts an
/// I/O, so each I/O counts in the window in which it ended. A window includes its end, and not its begin.
#[derive(Debug, Clone)]
pub struct WindowRecorder {
    windows: Windows,
    bandwidth: Track,
    iops: Track,
}

/// Windows of one length.
#[derive(Debug, Clone)]
struct Track {
    length: Nanos,
    /// When the current window ends.
    due: Nanos,
    /// What the job had counted when it began.
    last: PerDir<u64>,
}

impl WindowRecorder {
    /// Windows that begin at `now`, with nothing counted. `lengths`: of a window of bandwidth and of one of IOPS.
    #[must_use]
    pub fn begin((bandwidth, iops): (Nanos, Nanos), now: Nanos) -> Self {
        let track = |length: Nanos| Track {
            length: length.max(Nanos(1)),
            due: now.saturating_add(length.max(Nanos(1))),
            last: PerDir::default(),
        };
        WindowRecorder {
            windows: Windows::default(),
            bandwidth: track(bandwidth),
            iops: track(iops),
        }
    }

    /// When the next window ends.
    #[must_use]
    pub fn due(&self) -> Nanos {
        self.bandwidth.due.min(self.iops.due)
    }

    /// Ends the windows that ended before `now`. `totals`: what the job has counted. `uses`: the directions whose windows
    /// count even if nothing ended in them, because a stall is a result.
    pub fn cut(&mut self, now: Nanos, totals: PerDir<(Bytes, u64)>, uses: PerDir<bool>) {
        let Windows { bw, iops } = &mut self.windows;
        self.bandwidth.cut(now, totals.map(|(bytes, _)| bytes.0), uses, 1024, bw);
        self.iops.cut(now, totals.map(|(_, ios)| ios), uses, 1, iops);
    }

    /// Ends the last windows at `now`. As in fio, a window that is not over counts in no rate.
    pub fn finish(&mut self, now: Nanos, totals: PerDir<(Bytes, u64)>, uses: PerDir<bool>) {
        self.cut(now.saturating_add(Nanos(1)), totals, uses);
    }

    /// The rates so far.
    #[must_use]
    pub fn windows(&self) -> &Windows {
        &self.windows
    }
}

impl Track {
    /// `unit`: what the rates count in.
    fn cut(
        &mut self,
        now: Nanos,
        totals: PerDir<u64>,
        uses: PerDir<bool>,
        unit: u64,
        stats: &mut PerDir<RateStat>,
    ) {
        if now <= self.due {
            return;
        }
        let more = (now.0 - 1 - self.due.0) / self.length.0;
        for (dir, stat) in stats.iter_mut() {
            let count = totals[dir].saturating_sub(self.last[dir]);
            if count > 0 || uses[dir] {
                let rate = u128::from(count) * 1_000_000_000 / u128::from(self.length.0);
                stat.record((rate / u128::from(unit)) as u64);
            }
            if uses[dir] {
                stat.record_n(0, more);
            }
        }
        self.last = totals;
        self.due = self.due.saturating_add(self.length.saturating_mul(more + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Nanos = Nanos::from_millis(500);
    const READS: PerDir<bool> = PerDir::new(true, false, false);

    fn totals(ios: u64) -> PerDir<(Bytes, u64)> {
        PerDir::new((Bytes(ios * 4096), ios), (Bytes(0), 0), (Bytes(0), 0))
    }

    #[test]
    fn windows_become_samples() {
        let mut recorder = WindowRecorder::begin((HALF, HALF), Nanos::ZERO);
        recorder.cut(HALF, totals(100), READS);
        assert_eq!(recorder.windows().iops[Dir::Read].samples, 0, "the window includes its end");
        recorder.cut(HALF + Nanos(1), totals(1000), READS);
        // The worker was in a system call for two windows, of which the first has the I/Os.
        recorder.cut(Nanos::from_millis(1800), totals(4000), READS);
        assert_eq!(recorder.due(), Nanos::from_millis(2000));
        let Windows { bw, iops } = recorder.windows();
        let iops = iops[Dir::Read];
        assert_eq!((iops.samples, iops.min, iops.max), (3, 0, 6000));
        assert!((iops.mean - 8000.0 / 3.0).abs() < 1e-9);
        assert!((iops.stddev() - (84_000_000f64 / 9.0).sqrt()).abs() < 1e-6, "{}", iops.stddev());
        assert_eq!((bw[Dir::Read].min, bw[Dir::Read].max), (0, 24_000));
    }

    #[test]
    fn a_window_without_io_counts_if_the_job_uses_its_direction() {
        let mut recorder = WindowRecorder::begin((HALF, HALF), Nanos::ZERO);
        for (end, ios) in [(1, 2), (2, 2), (3, 2), (4, 4)] {
            recorder.cut(HALF * end + Nanos(1), totals(ios), READS);
        }
        // The last one ends with the job.
        recorder.finish(HALF * 5, totals(4), READS);
        let Windows { iops, .. } = recorder.windows();
        assert_eq!((iops[Dir::Read].samples, iops[Dir::Read].mean), (5, 1.6));
        assert_eq!(iops[Dir::Write].samples, 0);
    }
}
