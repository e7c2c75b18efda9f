//! Values over time: windows of equal length.

use fiord_formats::log::LogKind;
use fiord_stat::histogram::Histogram;
use fiord_types::{Dir, Nanos};

use super::error::ShowLogError;

/// Maximum number of windows if the length is chosen here.
pub(super) const CHOSEN: usize = 512;
/// Maximum number of windows if the user gives the length. Each takes 15 KiB if it has latencies.
const GIVEN: u64 = 4096;

#[derive(Debug, Clone, Default)]
pub(super) struct LogWindow {
    /// Latencies in nanoseconds; empty in logs of rates.
    pub(super) latencies: Histogram,
    /// The sum of the latencies, for the mean.
    pub(super) sum: f64,
    /// The largest latency.
    pub(super) most: Nanos,
    /// Bytes or I/Os that were moved; 0 in logs of latencies.
    pub(super) amount: f64,
}

impl LogWindow {
    fn merge(&mut self, other: &LogWindow) {
        self.latencies.merge(&other.latencies);
        self.sum += other.sum;
        self.most = self.most.max(other.most);
        self.amount += other.amount;
    }

    /// The mean latency in nanoseconds; `None` without I/Os.
    pub(super) fn mean(&self) -> Option<f64> {
        let count = self.latencies.count();
        (count > 0).then(|| self.sum / count as f64)
    }
}

/// The values of all logs of a kind in a direction.
#[derive(Debug, Clone)]
pub(super) struct LogTimeline {
    pub(super) kind: LogKind,
    pub(super) dir: Dir,
    /// Length of a window in milliseconds.
    width: u64,
    /// The user gave the length.
    given: bool,
    /// Number of the first window: its start divided by the length.
    first: u64,
    pub(super) windows: Vec<LogWindow>,
    /// What the rows cover, in milliseconds.
    start: u64,
    end: u64,
}

impl LogTimeline {
    /// Without a `given` length of windows, they are at least `least` milliseconds long.
    pub(super) fn new(kind: LogKind, dir: Dir, given: Option<u64>, least: u64) -> Self {
        LogTimeline {
            kind,
            dir,
            width: given.unwrap_or(least).max(1),
            given: given.is_some(),
            first: 0,
            windows: Vec::new(),
            start: u64::MAX,
            end: 0,
        }
    }

    /// Adds a latency `count` times.
    pub(super) fn add_latency(
        &mut self,
        time: u64,
        latency: Nanos,
        count: u64,
    ) -> Result<(), ShowLogError> {
        self.cover(time, time.saturating_add(1));
        let window = self.window(time)?;
        window.latencies.record_n(latency, count);
        window.sum += latency.0 as f64 * count as f64;
        window.most = window.most.max(latency);
        Ok(())
    }

    /// Raises the largest latency of a window.
    pub(super) fn note_maximum(&mut self, time: u64, most: Nanos) -> Result<(), ShowLogError> {
        let window = self.window(time)?;
        window.most = window.most.max(most);
        Ok(())
    }

    /// Adds bytes or I/Os that were moved between two times in milliseconds; both are the same for a single I/O.
    pub(super) fn add_amount(
        &mut self,
        from: u64,
        to: u64,
        amount: f64,
    ) -> Result<(), ShowLogError> {
        let from = from.min(u64::MAX - 1);
        let to = to.max(from + 1);
        self.cover(from, to);
        let span = (to - from) as f64;
        // The first call for the last time fixes the length of windows.
        self.window(to - 1)?;
        self.window(from)?;
        let mut at = from;
        while at < to {
            let next = (at / self.width + 1).saturating_mul(self.width).min(to);
            let share = amount * (next - at) as f64 / span;
            self.window(at)?.amount += share;
            at = next;
        }
        Ok(())
    }

    /// Length of a window in milliseconds.
    pub(super) fn width_ms(&self) -> u64 {
        self.width
    }

    /// Whether the user gave the length of the windows.
    pub(super) fn given(&self) -> bool {
        self.given
    }

    fn cover(&mut self, from: u64, to: u64) {
        self.start = self.start.min(from);
        self.end = self.end.max(to);
    }

    fn window(&mut self, time: u64) -> Result<&mut LogWindow, ShowLogError> {
        loop {
            let number = time / self.width;
            if self.windows.is_empty() {
                self.first = number;
            }
            let last = self.first + (self.windows.len() as u64).saturating_sub(1);
            let (first, last) = (self.first.min(number), self.last_with(last, number));
            let count = (last - first).saturating_add(1);
            if count <= if self.given { GIVEN } else { CHOSEN as u64 } {
                let before = (self.first - first) as usize;
                self.windows.splice(..0, std::iter::repeat_n(LogWindow::default(), before));
                self.windows.resize(count as usize, LogWindow::default());
                self.first = first;
                return Ok(&mut self.windows[(number - first) as usize]);
            }
            if self.given {
                let width = self.width;
                let fits = width.saturating_mul(count).div_ceil(GIVEN - 1);
                return Err(ShowLogError::Windows { windows: count, width, most: GIVEN, fits });
            }
            self.halve();
        }
    }

    fn last_with(&self, last: u64, number: u64) -> u64 {
        if self.windows.is_empty() { number } else { last.max(number) }
    }

    /// Doubles the length of the windows.
    fn halve(&mut self) {
        let mut merged: Vec<LogWindow> = Vec::with_capacity(self.windows.len() / 2 + 1);
        for (number, window) in (self.first..).zip(self.windows.drain(..)) {
            match merged.last_mut() {
                Some(last) if number % 2 == 1 => last.merge(&window),
                _ => merged.push(window),
            }
        }
        self.windows = merged;
        self.first /= 2;
        self.width *= 2;
    }

    /// Merges windows until there are at most `most`.
    pub(super) fn coarser(&self, most: usize) -> LogTimeline {
        let mut coarser = self.clone();
        while coarser.windows.len() > most {
            coarser.halve();
        }
        coarser
    }

    /// Start and end of a window in milliseconds, as far as rows cover it.
    pub(super) fn span(&self, index: usize) -> (u64, u64) {
        let start = (self.first + index as u64) * self.width;
        (start.max(self.start), start.saturating_add(self.width).min(self.end))
    }

    /// Bytes or I/Os per second in a window.
    pub(super) fn rate(&self, index: usize) -> f64 {
        let (from, to) = self.span(index);
        let seconds = to.saturating_sub(from).max(1) as f64 / 1000.0;
        self.windows[index].amount / seconds
    }

    pub(super) fn total(&self) -> LogWindow {
        let mut total = LogWindow::default();
        self.windows.iter().for_each(|window| total.merge(window));
        total
    }

    /// Start and end of the rows in milliseconds.
    pub(super) fn covered(&self) -> (u64, u64) {
        (self.start.min(self.end), self.end)
    }
}
