//! The numbers of the writes, and what is in each slot.

use fiord_load::verify::GENERATIONS;
use fiord_types::Dir;

use crate::hook::IssuedIo;

/// What a slot is used for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SlotUse {
    number: Option<u64>,
    generation: u16,
    /// The write is in flight.
    writing: bool,
}

impl SlotUse {
    /// The number of the write in it, or of the write that it reads back.
    pub(crate) fn number(self) -> Option<u64> {
        self.number
    }

    /// Generation of the blocks of that write, if the loop writes each block once.
    pub(super) fn generation(self) -> u16 {
        self.generation
    }
}

/// Numbers the writes of a job, or the reads of a job that only reads.
#[derive(Debug)]
pub(crate) struct WriteNumbers {
    /// The job only reads.
    counts_reads: bool,
    /// Number of the next write or read.
    next: u64,
    /// Number of the first one of this loop.
    loop_start: u64,
    /// Generation of the blocks that this loop writes, if it writes each of them once.
    generation: u16,
    slots: Vec<SlotUse>,
    /// The write that the next op reads back.
    reading: Option<u64>,
    writes_in_flight: u32,
}

impl WriteNumbers {
    /// For a job with `slots` slots. `counts_reads`: it only reads.
    pub(crate) fn new(slots: u32, counts_reads: bool) -> Self {
        WriteNumbers {
            counts_reads,
            next: 0,
            loop_start: 0,
            generation: 1,
            slots: vec![SlotUse::default(); slots as usize],
            reading: None,
            writes_in_flight: 0,
        }
    }

    /// Writes that were issued in all loops.
    pub(crate) fn issued_writes(&self) -> u64 {
        self.next
    }

    /// Whether this loop has issued nothing.
    pub(crate) fn loop_is_new(&self) -> bool {
        self.next == self.loop_start
    }

    /// Generation of the blocks that this loop writes.
    pub(crate) fn generation(&self) -> u16 {
        self.generation
    }

    /// The next op reads back the write with this number, if it is known.
    pub(crate) fn reads_back(&mut self, number: Option<u64>) {
        self.reading = number;
    }

    /// An op is issued in its slot.
    pub(crate) fn issued(&mut self, io: &IssuedIo) {
        let number = match (io.dir, io.extra) {
            (Dir::Read, true) => self.reading.take(),
            (Dir::Read, false) if !self.counts_reads => None,
            (Dir::Read | Dir::Write, _) => {
                self.next += 1;
                Some(self.next - 1)
            }
            (Dir::Trim, _) => None,
        };
        let generation = self.generation();
        let writing = io.dir == Dir::Write;
        self.writes_in_flight += u32::from(writing);
        if let Some(slot) = self.slots.get_mut(io.slot as usize) {
            *slot = SlotUse { number, generation, writing };
        }
    }

    /// What the current, or else the last, op of a slot uses it for.
    pub(crate) fn of(&self, slot: u32) -> SlotUse {
        self.slots.get(slot as usize).copied().unwrap_or_default()
    }

    /// The write in a slot has completed, or it failed.
    pub(crate) fn write_ended(&mut self, slot: u32) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            self.writes_in_flight -= u32::from(std::mem::take(&mut slot.writing));
        }
    }

    /// Whether the write with this number is in flight.
    pub(super) fn is_in_flight(&self, number: u64) -> bool {
        let is = |slot: &SlotUse| slot.writing && slot.number == Some(number);
        self.writes_in_flight > 0 && self.slots.iter().any(is)
    }

    /// The lowest number of a write in flight.
    pub(crate) fn oldest_in_flight(&self) -> Option<u64> {
        self.slots.iter().filter(|slot| slot.writing).filter_map(|slot| slot.number).min()
    }

    /// The loop has ended, and what it wrote has been read back.
    pub(crate) fn end_loop(&mut self) {
        self.loop_start = self.next;
        self.generation = self.generation % GENERATIONS + 1;
    }
}
