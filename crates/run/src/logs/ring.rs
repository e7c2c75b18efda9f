//! A bounded ring of I/Os from one worker to the writer.
//!
//! An entry costs the worker a comparison and six stores. It looks at the writer's position only when the ring may be
//! half full: it then wakes the writer, and waits if the ring is full.

use std::sync::atomic::{AtomicU64, Ordering};

use fiord_types::{Bytes, Dir, Nanos};

use super::LoggedIo;

/// Numbers of an entry.
const WORDS: usize = 5;
/// An I/O in the ring: its end, its [form](form), its completion latency, its submission latency and its offset.
pub(super) type RingEntry = [u64; WORDS];
pub(super) const ENTRY_BYTES: usize = WORDS * 8;

/// Where the priority and the direction are in the second number of an entry. The length is in its lower half.
const PRIORITY: u32 = 32;
const DIRECTION: u32 = 40;

/// The length, direction and priority of an I/O as one number.
#[inline(always)]
pub(super) fn form(len: u32, dir: Dir, priority: u8) -> u64 {
    u64::from(len) | u64::from(priority) << PRIORITY | (dir as u64) << DIRECTION
}

impl LoggedIo {
    /// Total latency.
    #[inline]
    pub(super) fn lat(&self) -> Nanos {
        Nanos(self.slat.0.wrapping_add(self.clat.0))
    }

    /// When it was issued, since the begin of the log.
    #[inline]
    pub(super) fn issued(&self) -> Nanos {
        self.end.saturating_sub(self.clat)
    }

    #[inline]
    pub(super) fn of_entry([end, form, clat, slat, offset]: RingEntry) -> Self {
        let dir = match form >> DIRECTION & 3 {
            0 => Dir::Read,
            1 => Dir::Write,
            _ => Dir::Trim,
        };
        let (len, priority) = (form as u32, (form >> PRIORITY) as u8);
        LoggedIo {
            end: Nanos(end),
            clat: Nanos(clat),
            slat: Nanos(slat),
            offset: Bytes(offset),
            len,
            dir,
            priority,
        }
    }
}

/// A position in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Position(AtomicU64);

/// The ring. One thread calls [`LogRing::write`], one other thread calls [`LogRing::take`].
#[derive(Debug)]
pub(super) struct LogRing {
    slots: Box<[[AtomicU64; WORDS]]>,
    /// Entries that were ever written.
    head: Position,
    /// Entries that were ever taken.
    tail: Position,
}

impl LogRing {
    /// An empty ring with room for at least two entries. It has a power of two of them and at most `bytes`, if that is
    /// enough for two.
    pub(super) fn new(bytes: usize) -> Self {
        let entries = (bytes / ENTRY_BYTES).max(2);
        let slots = 1 << entries.ilog2();
        LogRing {
            slots: (0..slots).map(|_| Default::default()).collect(),
            head: Position::default(),
            tail: Position::default(),
        }
    }

    /// Number of entries that it holds.
    pub(super) fn room(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Entries that were ever taken.
    pub(super) fn taken(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }

    /// Writes the entry number `head`. The ring must have room for it.
    #[inline(always)]
    pub(super) fn write(&self, head: u64, entry: RingEntry) {
        let index = (head & (self.slots.len() as u64 - 1)) as usize;
        // The index is always below the length.
        if let Some(slot) = self.slots.get(index) {
            for (word, value) in slot.iter().zip(entry) {
                word.store(value, Ordering::Relaxed);
            }
        }
        fiord_sys::interleaving::point();
        self.head.0.store(head + 1, Ordering::Release);
    }

    /// Takes up to `most` entries and appends them to `block`. Returns how many.
    pub(super) fn take(&self, most: usize, block: &mut Vec<LoggedIo>) -> usize {
        let tail = self.tail.0.load(Ordering::Relaxed);
        let waiting = self.head.0.load(Ordering::Acquire) - tail;
        let count = waiting.min(most as u64);
        let mask = self.slots.len() as u64 - 1;
        block.extend((tail..tail + count).map(|number| {
            let slot = &self.slots[(number & mask) as usize];
            LoggedIo::of_entry(std::array::from_fn(|i| slot[i].load(Ordering::Relaxed)))
        }));
        self.tail.0.store(tail + count, Ordering::Release);
        count as usize
    }

    /// Whether at least a quarter of the entries waits.
    pub(super) fn is_filling(&self) -> bool {
        let waiting = self.head.0.load(Ordering::Relaxed) - self.tail.0.load(Ordering::Relaxed);
        waiting >= self.room() / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u64) -> RingEntry {
        let io = io(n);
        let form = form(io.len, io.dir, io.priority);
        [io.end.0, form, io.clat.0, io.slat.0, io.offset.0]
    }

    fn io(n: u64) -> LoggedIo {
        LoggedIo {
            end: Nanos(n << 40),
            clat: Nanos(n),
            slat: Nanos(n + 1),
            offset: Bytes(u64::MAX - n),
            len: u32::MAX - n as u32,
            dir: Dir::ALL[n as usize % 3],
            priority: n as u8,
        }
    }

    #[test]
    fn entries_come_out_as_they_went_in() {
        let ring = LogRing::new(5 * ENTRY_BYTES);
        assert_eq!(ring.room(), 4);
        let mut block = Vec::new();
        for round in 0..100 {
            let first = round * 3;
            (first..first + 3).for_each(|n| ring.write(n, entry(n)));
            assert_eq!(ring.take(2, &mut block), 2);
            assert_eq!(ring.taken(), first + 2);
            assert_eq!(ring.take(9, &mut block), 1);
        }
        assert_eq!(ring.take(9, &mut block), 0);
        assert!(block.iter().copied().eq((0..300).map(io)));
    }

    #[test]
    fn two_threads_lose_nothing() {
        let ring = LogRing::new(64 * ENTRY_BYTES);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..100_000 {
                    while n - ring.taken() == ring.room() {
                        std::thread::yield_now();
                    }
                    ring.write(n, entry(n));
                }
            });
            let mut block = Vec::new();
            let mut next = 0;
            while next < 100_000 {
                ring.take(50, &mut block);
                for got in block.drain(..) {
                    assert_eq!(got, io(next));
                    next += 1;
                }
                std::thread::yield_now();
            }
        });
    }
}
