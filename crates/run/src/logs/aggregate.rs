//! The bandwidth of all jobs together (`--bandwidth-log`).

use std::sync::Arc;

use fiord_plan::Plan;
use fiord_stat::live::Totals;
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use super::channel::LogChannel;
use super::{WindowKind, WindowRecord, WindowSums};

/// Samples the jobs once in each window.
#[derive(Debug)]
pub(crate) struct BandwidthLog {
    channel: Arc<LogChannel>,
    /// Length of a window, ns.
    length: u64,
    /// When the run began, ns.
    began: u64,
    /// When the current window began, ns.
    from: u64,
    /// When it ends, ns.
    due: u64,
    /// By job: its totals at the last sample.
    last: Vec<Totals>,
    /// What the jobs did in the current window.
    sums: PerDir<WindowSums>,
}

impl BandwidthLog {
    /// Begins at `now`, ns.
    pub(crate) fn begin(plan: &Plan, channel: &Arc<LogChannel>, now: u64) -> Self {
        // As in fio, the shortest window of a job.
        let windows = plan.jobs.iter().map(|job| job.record.bandwidth_window);
        let length = windows.min().unwrap_or(Nanos::from_millis(500));
        let length = length.0.max(1_000_000);
        BandwidthLog {
            channel: Arc::clone(channel),
            length,
            began: now,
            from: now,
            due: now.saturating_add(length),
            last: vec![Totals::default(); plan.jobs.len()],
            sums: PerDir::default(),
        }
    }

    /// When the next window ends, ns.
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// Samples the totals of all jobs at `now`, and ends the window if its time is over.
    pub(crate) fn sample(&mut self, jobs: impl Iterator<Item = Totals>, now: u64) {
        self.add(jobs);
        if now >= self.due {
            self.end_window(now);
        }
    }

    /// Ends the last window, unless it is short.
    pub(crate) fn finish(&mut self, jobs: impl Iterator<Item = Totals>, now: u64) {
        self.add(jobs);
        if now.saturating_sub(self.from) >= self.length / 2 || self.from == self.began {
            self.end_window(now);
        }
    }

    fn add(&mut self, jobs: impl Iterator<Item = Totals>) {
        for (totals, last) in jobs.zip(&mut self.last) {
            for dir in Dir::ALL {
                // They begin again at 0 when the ramp ends.
                let since = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
                self.sums[dir].bytes += Bytes(since(totals.bytes[dir].0, last.bytes[dir].0));
                self.sums[dir].ios += since(totals.ios[dir], last.ios[dir]);
            }
            *last = totals;
        }
    }

    fn end_window(&mut self, now: u64) {
        let length = now.saturating_sub(self.from);
        while self.due <= now {
            self.due += self.length;
        }
        let record = WindowRecord {
            kind: WindowKind::Bandwidth,
            end: Nanos(now.saturating_sub(self.began)),
            length: Nanos(length),
            empty_before: 0,
            normal: Nanos(self.length),
            sums: std::mem::take(&mut self.sums),
            bins: PerDir::default(),
        };
        // The conductor does not wait for a disk. A window that finds no room becomes part of the next one.
        if self.channel.try_add(&record) {
            self.from = now;
        } else {
            self.sums = record.sums;
        }
    }
}
