//! Passes completions from the threads of a library to the job: without a lock, and without memory for each I/O.
//!
//! Each slot has a cell. The library gets the address of the cell with the request, and one of its threads pushes the
//! cell to a list when the request has ended. The job takes the whole list with one swap.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use crate::Slot;
use crate::offload::sleep::EventCount;

/// The end of the list of cells.
const NONE: u32 = u32::MAX;

/// The completions that threads of a library have reported. The threads must have ended before it is dropped.
pub(super) struct Handover {
    shared: Arc<Shared>,
    /// Slots that were taken from the list, oldest last.
    ready: Vec<Slot>,
    /// Number of completions that were taken from the list.
    taken: u64,
}

/// What the threads of the library use.
struct Shared {
    /// The slot whose request ended last.
    newest: AtomicU32,
    cells: Box<[Cell]>,
    events: EventCount,
}

/// The completion of one slot.
struct Cell {
    home: *const Shared,
    slot: Slot,
    /// The slot whose request ended before this one.
    older: AtomicU32,
    result: AtomicI64,
}

// SAFETY: `home` is the address of the value that owns the cell, which threads share.
unsafe impl Send for Shared {}
// SAFETY: see above; the other fields are atomic or do not change.
unsafe impl Sync for Shared {}

/// Names the request of a slot to a library.
#[derive(Debug, Clone, Copy)]
pub struct Ticket(*const Cell);

impl Ticket {
    /// The argument of the function that the library calls.
    pub fn argument(self) -> *mut c_void {
        self.0.cast_mut().cast()
    }

    /// Reports that a request has ended.
    ///
    /// # Safety
    ///
    /// `argument` is that of a ticket ([`Ticket::argument`]), its request has ended, and it is reported once. The
    /// library does not use the buffer of the request any longer.
    pub unsafe fn complete(argument: *mut c_void, result: i64) {
        let cell = argument.cast_const().cast::<Cell>();
        // SAFETY: the caller vouches for the cell. The cells live until all requests have ended.
        let (cell, shared) = unsafe { (&*cell, &*(*cell).home) };
        cell.result.store(result, Ordering::Relaxed);
        let mut newest = shared.newest.load(Ordering::Relaxed);
        loop {
            cell.older.store(newest, Ordering::Relaxed);
            fiord_sys::interleaving::point();
            let pushed = shared.newest.compare_exchange_weak(
                newest,
                cell.slot,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => break,
                Err(now) => newest = now,
            }
        }
        fiord_sys::interleaving::point();
        shared.events.add();
    }
}

impl Handover {
    pub(super) fn new(slots: u32) -> Self {
        let shared = Arc::new_cyclic(|home| Shared {
            newest: AtomicU32::new(NONE),
            cells: (0..slots)
                .map(|slot| Cell {
                    home: home.as_ptr(),
                    slot,
                    older: AtomicU32::new(NONE),
                    result: AtomicI64::new(0),
                })
                .collect(),
            events: EventCount::default(),
        });
        Handover { shared, ready: Vec::with_capacity(slots as usize), taken: 0 }
    }

    /// The ticket for the next request of a slot.
    pub(super) fn ticket(&self, slot: Slot) -> Ticket {
        Ticket(&raw const self.shared.cells[slot as usize])
    }

    /// Takes the oldest completion: its slot, and the result that the library reported.
    pub(super) fn take(&mut self) -> Option<(Slot, i64)> {
        if self.ready.is_empty() {
            let mut slot = self.shared.newest.swap(NONE, Ordering::Acquire);
            while slot != NONE {
                self.ready.push(slot);
                self.taken += 1;
                slot = self.shared.cells[slot as usize].older.load(Ordering::Relaxed);
            }
        }
        let slot = self.ready.pop()?;
        Some((slot, self.shared.cells[slot as usize].result.load(Ordering::Relaxed)))
    }

    /// Sleeps until `count` more requests have ended than were taken, `timeout` ns have passed, or a signal arrives.
    pub(super) fn sleep(&self, count: u32, timeout: u64) {
        let goal = self.taken + u64::from(count);
        self.shared.events.sleep(goal, Some(Duration::from_nanos(timeout)), || false);
    }

    /// Keeps the cells allocated until the process ends: the library may still report to them.
    pub(super) fn leak(&self) {
        std::mem::forget(Arc::clone(&self.shared));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// The argument of a ticket, for another thread.
    struct Argument(*mut c_void);
    // SAFETY: a cell may be used by any thread.
    unsafe impl Send for Argument {}

    #[test]
    fn completions_come_in_their_order() {
        let mut handover = Handover::new(4);
        for slot in [2, 0, 3] {
            // SAFETY: each ticket is used once.
            unsafe { Ticket::complete(handover.ticket(slot).argument(), i64::from(slot) * 10) };
        }
        let taken: Vec<_> = std::iter::from_fn(|| handover.take()).collect();
        assert_eq!(taken, [(2, 20), (0, 0), (3, 30)]);
        handover.sleep(1, 1);
    }

    #[test]
    fn every_completion_of_several_threads_arrives_once() {
        const SLOTS: u32 = 8;
        const ROUNDS: i64 = if cfg!(miri) { 20 } else { 20_000 };
        let mut handover = Handover::new(SLOTS);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (sender, requests) = mpsc::channel::<(Argument, i64)>();
                let run = move || {
                    for (argument, number) in requests {
                        // SAFETY: the main thread sends the argument of a slot once, until the slot has come back.
                        unsafe { Ticket::complete(argument.0, number) };
                    }
                };
                (sender, std::thread::spawn(run))
            })
            .collect();
        let mut sent = 0;
        let mut send = |handover: &Handover, slot: Slot| {
            sent += 1;
            let argument = Argument(handover.ticket(slot).argument());
            threads[sent as usize % 2].0.send((argument, sent)).unwrap();
        };
        (0..SLOTS).for_each(|slot| send(&handover, slot));
        let mut sum = 0;
        for round in 1..=ROUNDS {
            let (slot, number) = loop {
                if let Some(found) = handover.take() {
                    break found;
                }
                handover.sleep(1, 1_000_000_000);
            };
            sum += number;
            if round <= ROUNDS - i64::from(SLOTS) {
                send(&handover, slot);
            }
        }
        assert_eq!(sum, ROUNDS * (ROUNDS + 1) / 2);
        for (sender, thread) in threads {
            drop(sender);
            thread.join().unwrap();
        }
        assert_eq!(handover.take(), None);
    }
}
