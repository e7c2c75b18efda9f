//! Sorts events by time as far as a bounded window allows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fiord_types::Nanos;

use super::record::TraceEvent;

/// Events that wait for earlier ones. Events of equal time keep their order.
#[derive(Debug)]
pub(super) struct SortWindow {
    most: usize,
    count: u64,
    waiting: BinaryHeap<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    order: Reverse<(Nanos, u64)>,
    event: TraceEvent,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl SortWindow {
    /// A window of `most` events.
    pub(super) fn new(most: usize) -> Self {
        SortWindow { most, count: 0, waiting: BinaryHeap::new() }
    }
    /// Whether an event must leave before the next one enters.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.most
    }
    pub(super) fn put(&mut self, time: Nanos, event: TraceEvent) {
        self.count += 1;
        self.waiting.push(Waiting { order: Reverse((time, self.count)), event });
    }
    /// Removes the earliest event.
    pub(super) fn take(&mut self) -> Option<(Nanos, TraceEvent)> {
        let Waiting { order: Reverse((time, _)), event } = self.waiting.pop()?;
        Some((time, event))
    }
}
