//! How many I/Os are in flight.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use fiord_formats::trace::{TraceCompletion, TraceIo, TraceKind, TraceTarget};
use fiord_stat::histogram::Histogram;
use fiord_types::{Nanos, PerDir};

/// Maximum number of I/Os in flight that are followed, so that memory is bounded if completions are missing.
const MAX_IN_FLIGHT: usize = 1 << 16;

/// I/Os in flight, and their latencies.
#[derive(Debug, Clone, Default)]
pub struct TraceDepth {
    /// Whether the trace says when I/Os are complete.
    known: bool,
    /// Ends of I/Os of a trace that states them in the rows of the issue.
    ends: BinaryHeap<Reverse<Nanos>>,
    /// Queued requests of a block trace, without those merged.
    queued: u64,
    /// Times of issue of a block trace's requests.
    issued: HashMap<(TraceTarget, u64), (Nanos, TraceKind)>,
    most: u64,
    /// How often each depth was found at an issue. The last entry counts all larger depths.
    found: Vec<u64>,
    latency: PerDir<Histogram>,
}

impl TraceDepth {
    pub(super) fn io(&mut self, io: &TraceIo) {
        if let Some(outcome) = &io.outcome {
            self.known = true;
            while self.ends.peek().is_some_and(|Reverse(end)| *end <= io.time) {
                self.ends.pop();
            }
            if self.ends.len() < MAX_IN_FLIGHT {
                self.ends.push(Reverse(io.time.saturating_add(outcome.latency)));
            }
            self.record(io.kind, outcome.latency);
        } else {
            self.queued += 1;
            if self.issued.len() < MAX_IN_FLIGHT {
                self.issued.insert((io.target, io.offset.0), (io.time, io.kind));
            }
        }
        let depth = (self.ends.len() as u64).max(self.queued);
        self.most = self.most.max(depth);
        let place = (depth as usize).min(1023);
        if self.found.len() <= place {
            self.found.resize(place + 1, 0);
        }
        self.found[place] += 1;
    }

    pub(super) fn merged(&mut self) {
        self.queued = self.queued.saturating_sub(1);
    }

    pub(super) fn completed(&mut self, done: &TraceCompletion) {
        self.known = true;
        self.queued = self.queued.saturating_sub(1);
        if let Some((issued, kind)) = self.issued.remove(&(done.target, done.offset.0)) {
            self.record(kind, done.time.saturating_sub(issued));
        }
    }

    fn record(&mut self, kind: TraceKind, latency: Nanos) {
        if let Some(dir) = kind.dir() {
            self.latency[dir].record(latency);
        }
    }

    /// The largest depth; `None` if the trace has no completions.
    #[must_use]
    pub fn most(&self) -> Option<u64> {
        self.known.then_some(self.most)
    }

    /// The depth that a share of the I/Os found or stayed below, themselves included.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let all: u64 = self.found.iter().sum();
        let wanted = all as f64 * percent / 100.0;
        let mut below = 0;
        let place = self.found.iter().position(|count| {
            below += count;
            below as f64 >= wanted
        });
        place.filter(|_| self.known).map(|depth| depth as u64)
    }

    /// The mean depth that the I/Os found, themselves included.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let all: u64 = self.found.iter().sum();
        let sum: f64 = self.found.iter().enumerate().map(|(d, n)| d as f64 * *n as f64).sum();
        (self.known && all > 0).then_some(sum / all as f64)
    }

    /// Latencies in each direction.
    #[must_use]
    pub fn latency(&self) -> &PerDir<Histogram> {
        &self.latency
    }
}
