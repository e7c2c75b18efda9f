//! The two queues of slots between the job and its threads. Neither takes a lock.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use fiord_sys::interleaving;

use crate::Slot;

/// Keeps its content away from other data, so that threads that write those do not slow down threads that read it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// Slots whose ops wait for a thread, oldest first. The job adds slots, all threads take them.
#[derive(Debug)]
pub(super) struct ReadySlots {
    /// Number of slots that were taken.
    taken: Padded<AtomicUsize>,
    /// Number of slots that were added.
    added: Padded<AtomicUsize>,
    /// The slots, by their number modulo the length, which is a power of two.
    ring: Box<[AtomicU32]>,
}

impl ReadySlots {
    /// An empty queue with room for `slots` slots.
    pub(super) fn new(slots: u32) -> Self {
        let room = (slots.max(1) as usize).next_power_of_two();
        ReadySlots {
            taken: Padded::default(),
            added: Padded::default(),
            ring: (0..room).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Adds slots, and publishes what this thread wrote before. Only one thread may call this, and a slot must not be
    /// in the queue twice.
    pub(super) fn add(&self, slots: impl Iterator<Item = Slot>) {
        let mut at = self.added.0.load(Ordering::Relaxed);
        for slot in slots {
            self.ring[at & (self.ring.len() - 1)].store(slot, Ordering::Relaxed);
            at += 1;
        }
        interleaving::point();
        self.added.0.store(at, Ordering::SeqCst);
    }

    /// Takes the oldest slot.
    pub(super) fn take(&self) -> Option<Slot> {
        // `Acquire` here and below: a thread that sees how many slots another thread took must also see that they
        // were added. Otherwise a processor that reorders loads could find `added` below `at`.
        let mut at = self.taken.0.load(Ordering::Acquire);
        loop {
            if at == self.added.0.load(Ordering::SeqCst) {
                return None;
            }
            let slot = self.ring[at & (self.ring.len() - 1)].load(Ordering::Relaxed);
            interleaving::point();
            // The entry is overwritten only after it was taken. The exchange fails then.
            let next = at + 1;
            match self.taken.0.compare_exchange_weak(at, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Some(slot),
                Err(now) => at = now,
            }
        }
    }

    /// Number of slots in the queue.
    pub(super) fn len(&self) -> u32 {
        let taken = self.taken.0.load(Ordering::Relaxed);
        self.added.0.load(Ordering::SeqCst).saturating_sub(taken) as u32
    }

    /// Number of slots that were taken so far.
    pub(super) fn taken(&self) -> usize {
        self.taken.0.load(Ordering::Relaxed)
    }
}

/// Slots whose ops have ended. All threads add slots, and one thread takes all of them at once.
#[derive(Debug)]
pub(super) struct EndedSlots {
    /// The slot that was added last.
    newest: Padded<AtomicU32>,
    /// For each slot in the list, the one that was added before it.
    before: Box<[AtomicU32]>,
}

/// The end of the list.
const NONE: u32 = u32::MAX;

impl EndedSlots {
    /// An empty list with room for `slots` slots.
    pub(super) fn new(slots: u32) -> Self {
        EndedSlots {
            newest: Padded(AtomicU32::new(NONE)),
            before: (0..slots).map(|_| AtomicU32::new(NONE)).collect(),
        }
    }

    /// Adds a slot, and publishes what this thread wrote before.
    pub(super) fn add(&self, slot: Slot) {
        let mut newest = self.newest.0.load(Ordering::Relaxed);
        loop {
            self.before[slot as usize].store(newest, Ordering::Relaxed);
            interleaving::point();
            match self.newest.0.compare_exchange_weak(
                newest,
                slot,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// Moves all slots to the end of `list`, the newest one first. Returns whether there were any.
    pub(super) fn take_all(&self, list: &mut Vec<Slot>) -> bool {
        if self.newest.0.load(Ordering::Relaxed) == NONE {
            return false;
        }
        let mut slot = self.newest.0.swap(NONE, Ordering::Acquire);
        while slot != NONE {
            interleaving::point();
            list.push(slot);
            slot = self.before[slot as usize].load(Ordering::Relaxed);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn slots_come_out_in_order() {
        let ready = ReadySlots::new(3);
        for round in 0..10 {
            ready.add([round, round + 1, round + 2].into_iter());
            assert_eq!(ready.len(), 3);
            let taken: Vec<Slot> = std::iter::from_fn(|| ready.take()).collect();
            assert_eq!(taken, [round, round + 1, round + 2]);
        }
        let ended = EndedSlots::new(3);
        let mut list = Vec::new();
        assert!(!ended.take_all(&mut list));
        (0..3).for_each(|slot| ended.add(slot));
        assert!(ended.take_all(&mut list));
        assert_eq!(list, [2, 1, 0]);
    }

    #[test]
    fn every_slot_passes_both_queues_once_per_round() {
        let slots = 7;
        let rounds = if cfg!(miri) { 20 } else { 2_000 };
        let (ready, ended) = (ReadySlots::new(slots), EndedSlots::new(slots));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Also stops the threads if an assertion below fails. The scope waits for them.
            let _stop = SetOnDrop(&stop);
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        match ready.take() {
                            Some(slot) => ended.add(slot),
                            None => std::thread::yield_now(),
                        }
                    }
                });
            }
            // Slots overtake each other, so each one has a count of its own.
            let mut rounds_left = vec![rounds; slots as usize];
            let mut out = vec![false; slots as usize];
            let mut free: Vec<Slot> = (0..slots).collect();
            while rounds_left.iter().any(|left| *left > 0) {
                free.retain(|slot| rounds_left[*slot as usize] > 0);
                for slot in &free {
                    assert!(!std::mem::replace(&mut out[*slot as usize], true));
                }
                ready.add(free.drain(..));
                if !ended.take_all(&mut free) {
                    std::thread::yield_now();
                }
                for slot in &free {
                    assert!(std::mem::take(&mut out[*slot as usize]), "slot {slot} came twice");
                    rounds_left[*slot as usize] -= 1;
                }
            }
            assert_eq!(ready.len(), 0);
        });
    }

    struct SetOnDrop<'a>(&'a AtomicBool);

    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
