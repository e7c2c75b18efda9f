//! Sorts events by time as far as a bounded window allows.

use std::collections::VecDeque;

use fiord_types::Nanos;

/// Events that wait for earlier ones. Events of equal time keep their order. An event that comes in order costs a
/// push; another one moves the events that are later.
#[derive(Debug)]
pub(super) struct SortWindow<T> {
    most: usize,
    waiting: VecDeque<(Nanos, T)>,
}

impl<T> SortWindow<T> {
    /// A window of `most` events.
    pub(super) fn new(most: usize) -> Self {
        SortWindow { most, waiting: VecDeque::new() }
    }
    /// Whether an event must leave before the next one enters.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.most
    }
    #[inline]
    pub(super) fn put(&mut self, time: Nanos, event: T) {
        if self.waiting.back().is_none_or(|(last, _)| *last <= time) {
            self.waiting.push_back((time, event));
        } else {
            let after = self.waiting.partition_point(|(other, _)| *other <= time);
            self.waiting.insert(after, (time, event));
        }
    }
    /// Removes the earliest event.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(Nanos, T)> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_leave_in_order_of_time_and_then_of_arrival() {
        let mut window = SortWindow::new(4);
        for (time, event) in [(5, 'a'), (3, 'b'), (5, 'c'), (4, 'd')] {
            assert!(!window.is_full());
            window.put(Nanos(time), event);
        }
        assert!(window.is_full());
        let order: String = std::iter::from_fn(|| window.take()).map(|(_, event)| event).collect();
        assert_eq!(order, "bdac");
    }
}
