//! `null`: completes every op without I/O, to measure the cost of the generator.

use fiord_types::FileIndex;

use crate::buffers::{Buffers, slots_of_buffers};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Slot, Want,
};

/// The `null` engine. With one slot it is synchronous; with more, every op is pending until it is
/// reaped.
#[derive(Debug)]
pub struct Null {
    buffers: Buffers,
    clock: MachineClock,
    /// Ring buffer of the pending ops; its length is a power of two.
    ring: Box<[(Slot, u32)]>,
    head: u32,
    tail: u32,
    /// Number of pending ops that were not flushed.
    unflushed: u32,
    slots: u32,
}

impl Null {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(Null {
            buffers: Buffers::new(config)?,
            clock: config.clock,
            ring: vec![(0, 0); config.slots.next_power_of_two() as usize].into_boxed_slice(),
            head: 0,
            tail: 0,
            unflushed: 0,
            slots: config.slots,
        })
    }
}

impl Engine for Null {
    const ASYNC: bool = true;
    const SOMETIMES_AT_ONCE: bool = true;
    const INSTANT: bool = true;
    type Clock = MachineClock;

    fn completes_at_once(&self) -> bool {
        self.slots == 1
    }

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        Ok(())
    }

    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        Ok(())
    }

    slots_of_buffers!();

    #[inline(always)]
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let bytes = if matches!(op.kind, OpKind::Read | OpKind::Write) { op.len } else { 0 };
        if self.slots == 1 {
            return Queued::Done(slot, Outcome::ok(bytes));
        }
        // There is room: each pending op has a slot of its own.
        let slot = self.buffers.begin(slot);
        let mask = self.ring.len() - 1;
        self.ring[self.tail as usize & mask] = (slot, bytes);
        self.tail = self.tail.wrapping_add(1);
        self.unflushed += 1;
        Queued::Pending
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(std::mem::take(&mut self.unflushed))
    }

    #[inline(always)]
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.unflushed = 0;
        let mask = self.ring.len() - 1;
        let count = self.tail.wrapping_sub(self.head).min(want.max);
        for _ in 0..count {
            let (slot, bytes) = self.ring[self.head as usize & mask];
            self.head = self.head.wrapping_add(1);
            // SAFETY: the op of this slot was pending until now, and used no buffer.
            done.push(unsafe { self.buffers.end(slot) }, Outcome::ok(bytes));
        }
        Ok(())
    }
}
