//! The channel between a run and its observer. Sending never blocks and never waits for memory that the observer
//! holds, so a slow observer cannot slow the run.
//!
//! | event | while the observer is busy |
//! |---|---|
//! | progress | one waits; a newer one replaces it. Its rates and latencies cover the last interval, its totals the whole run, so the observer loses resolution but no I/O |
//! | snapshots | one waits; a newer one replaces it. Its counts cover the whole run |
//! | status reports | at most [`MAX_REPORTS`] wait; the run creates no further ones until the observer has received one ([`EventSender::wants_report`]) |
//! | all others | all wait. A job has a few of them, so the plan bounds their number |

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fiord_sys::{clock, signal};
use fiord_types::Nanos;

use super::{Event, EventKind};

/// Maximum number of status reports that wait for the observer.
pub const MAX_REPORTS: usize = 16;

/// Stack size of the observer's thread, bytes.
const STACK: usize = 512 << 10;

/// Creates a channel. The events end when all senders are dropped; without [`EventReceiver`] they are discarded.
#[must_use]
pub fn channel() -> (EventSender, EventReceiver) {
    let queue = Arc::new(Queue {
        waiting: Mutex::default(),
        changed: Condvar::new(),
        began: clock::monotonic(),
    });
    (EventSender(Arc::new(LastSender(Arc::clone(&queue)))), EventReceiver(queue))
}

#[derive(Debug)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// When the channel was created, ns.
    began: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// No sender is left.
    ended: bool,
    /// No observer is left.
    ignored: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end. Clones send to the same observer.
#[derive(Debug, Clone)]
pub struct EventSender(Arc<LastSender>);

/// Ends the events when the last sender is dropped.
#[derive(Debug)]
struct LastSender(Arc<Queue>);

impl Drop for LastSender {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_one();
    }
}

impl EventSender {
    /// A sender without an observer.
    #[must_use]
    pub fn ignored() -> Self {
        channel().0
    }

    /// Sends an event with the present time. Never blocks.
    pub fn send(&self, kind: EventKind) {
        let queue = &self.0.0;
        let elapsed = Nanos(clock::monotonic().saturating_sub(queue.began));
        let event = Event { unix_time: Nanos(clock::wall()), elapsed, kind };
        fiord_sys::interleaving::point();
        let mut waiting = queue.lock();
        if waiting.ignored {
            return;
        }
        match event.kind {
            EventKind::Progress(_) => {
                waiting.events.retain(|old| !matches!(old.kind, EventKind::Progress(_)));
            }
            EventKind::Snapshot(_) => {
                waiting.events.retain(|old| !matches!(old.kind, EventKind::Snapshot(_)));
            }
            _ => {}
        }
        waiting.events.push_back(event);
        queue.changed.notify_one();
    }

    /// Whether the observer can take another status report: fewer than [`MAX_REPORTS`] wait for it.
    #[must_use]
    pub fn wants_report(&self) -> bool {
        let waiting = self.0.0.lock();
        let reports = waiting.events.iter().filter(|e| matches!(e.kind, EventKind::Status(_)));
        !waiting.ignored && reports.count() < MAX_REPORTS
    }
}

/// The receiving end: an iterator that waits for each event and ends with the run.
#[derive(Debug)]
pub struct EventReceiver(Arc<Queue>);

impl Iterator for EventReceiver {
    type Item = Event;
    fn next(&mut self) -> Option<Event> {
        let mut waiting = self.0.lock();
        loop {
            if let Some(event) = waiting.events.pop_front() {
                return Some(event);
            }
            if waiting.ended {
                return None;
            }
            waiting = self.0.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.ignored = true;
        waiting.events.clear();
    }
}

/// Calls `run` with a sender while another thread passes its events to `observer`. Returns the result of `run` when
/// the observer has handled all events.
///
/// # Errors
/// The thread cannot be created; `run` was not called.
pub fn observe<T>(
    mut observer: impl FnMut(Event) + Send,
    run: impl FnOnce(&EventSender) -> T,
) -> std::io::Result<T> {
    let (sender, events) = channel();
    std::thread::scope(|scope| {
        let body = move || {
            // The threads that poll for signals should receive them. If blocking fails, they notice them a
            // moment later.
            let _ = signal::block_in_this_thread();
            events.for_each(&mut observer);
        };
        let builder = std::thread::Builder::new().name("events".into()).stack_size(STACK);
        builder.spawn_scoped(scope, body)?;
        let result = run(&sender);
        drop(sender);
        Ok(result)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(seconds: u64) -> EventKind {
        EventKind::Progress(Box::new(fiord_stat::progress::Progress {
            elapsed: fiord_types::Nanos::from_secs(seconds),
            ..Default::default()
        }))
    }

    #[test]
    fn only_progress_is_replaced_by_newer_progress() {
        let (sender, events) = channel();
        let ended = |index| EventKind::JobEnded { index, job: "a".into(), pid: 1, failure: None };
        for n in 0..100 {
            sender.send(progress(n));
            sender.send(ended(n as usize));
        }
        drop(sender.clone());
        drop(sender);
        let all: Vec<Event> = events.collect();
        assert!(all.is_sorted_by_key(|event| event.elapsed) && all[0].unix_time > Nanos::ZERO);
        let kinds: Vec<EventKind> = all.into_iter().map(|event| event.kind).collect();
        let mut expected: Vec<EventKind> = (0..100).map(ended).collect();
        expected.insert(99, progress(99));
        assert_eq!(kinds, expected);
    }

    #[test]
    fn the_last_snapshot_replaces_those_that_wait() {
        let (sender, events) = channel();
        for n in 0..10 {
            let snapshot = fiord_stat::snapshot::RunSnapshot {
                elapsed: Nanos::from_secs(n),
                ..Default::default()
            };
            sender.send(progress(n));
            sender.send(EventKind::Snapshot(Box::new(snapshot)));
        }
        drop(sender);
        let kinds: Vec<EventKind> = events.map(|event| event.kind).collect();
        let EventKind::Snapshot(last) = &kinds[1] else { panic!("{kinds:?}") };
        assert_eq!((kinds.len(), last.elapsed), (2, Nanos::from_secs(9)));
    }

    #[test]
    fn the_run_stops_creating_reports_that_nobody_takes() {
        let (sender, mut events) = channel();
        for _ in 0..MAX_REPORTS {
            assert!(sender.wants_report());
            sender.send(EventKind::Status(Box::default()));
        }
        assert!(!sender.wants_report());
        events.next();
        assert!(sender.wants_report());
        drop(events);
        sender.send(EventKind::Status(Box::default()));
        assert!(!sender.wants_report() && !EventSender::ignored().wants_report());
    }

    #[test]
    fn an_event_travels_as_json() {
        let event = Event { unix_time: Nanos(1), elapsed: Nanos(2), kind: progress(3) };
        let text = serde_json::to_string(&event).unwrap();
        assert!(
            text.starts_with("{\"unix_ns\":1,\"elapsed_ns\":2,\"kind\":{\"progress\":{"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
