//! Slots as tokens: the compiler makes sure that nothing touches a buffer while an op uses it.
//!
//! A [`FreeSlot`] is the right to use one slot. There is one token for each slot: the engine hands
//! it out at set-up, [`Engine::queue`] takes it, and it comes back with the completion of the op.
//! Access to the slot's buffer needs the token, so safe code has none while the op is in flight. A
//! token cannot be cloned or made:
//!
//! ```compile_fail,E0599
//! fn twice(slot: fiord_engine::FreeSlot) -> [fiord_engine::FreeSlot; 2] {
//!     [slot.clone(), slot]
//! }
//! ```
//! ```compile_fail,E0451
//! fn forged(pool: std::num::NonZeroU32) -> fiord_engine::FreeSlot {
//!     fiord_engine::FreeSlot { index: 0, pool }
//! }
//! ```
//! It cannot be used after its op was queued:
//!
//! ```compile_fail,E0382
//! # use fiord_engine::{Engine, FreeSlot, Op};
//! fn use_in_flight<E: Engine>(engine: &mut E, mut slot: FreeSlot, op: &Op) {
//!     let _ = engine.queue(slot, op);
//!     engine.buffer(&mut slot).fill(0);
//! }
//! ```
//! A reference to its buffer borrows the engine, so it ends before the op is queued:
//!
//! ```compile_fail,E0499
//! # use fiord_engine::{Engine, FreeSlot, Op};
//! fn keep_buffer<E: Engine>(engine: &mut E, mut slot: FreeSlot, op: &Op) {
//!     let buffer = engine.buffer(&mut slot);
//!     let _ = engine.queue(slot, op);
//!     buffer.fill(0);
//! }
//! ```
//! The index of a slot gives no access to its buffer:
//!
//! ```compile_fail,E0308
//! # use fiord_engine::Engine;
//! fn without_token<E: Engine>(engine: &mut E) {
//!     engine.buffer(&mut 0).fill(0);
//! }
//! ```
//!
//! # Tokens of several engines
//!
//! A token names the pool of slots that it comes from, and each engine has a pool of its own. The
//! number of a pool is not used again, not even after its engine was dropped. An engine compares the
//! number where it would otherwise compare the index with the number of slots, so the comparison
//! costs nothing; the index of a token of its own pool is always in range. An engine refuses a token
//! of another pool: [`Engine::queue`] completes the op with `EINVAL`, or with its outcome if the op
//! needs no buffer, and [`Engine::buffer`] and [`Engine::hold`] panic.
//!
//! # Tokens that are dropped
//!
//! A token has no destructor, because the loops move tokens for every I/O. A token that is dropped
//! leaks its slot: the engine keeps the buffer, and nothing uses it again.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fiord_sys::memory::MemoryRegion;

use crate::{EngineError, Outcome, Slot};

/// A slot without an op in flight: the right to use its buffer and to queue an op on it.
///
/// A free slot can be moved, and neither cloned nor made. [`Engine::take_slots`](crate::Engine::take_slots)
/// hands it out. Dropping it leaks the slot.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a slot that is dropped is never used again"]
pub struct FreeSlot {
    index: Slot,
    pool: NonZeroU32,
}

impl FreeSlot {
    /// Index of the slot in its engine, `0 .. iodepth`.
    #[inline(always)]
    #[must_use]
    pub fn index(&self) -> Slot {
        self.index
    }
}

/// The slots of one engine. It knows which tokens are its own.
#[derive(Debug)]
pub(crate) struct SlotPool {
    id: NonZeroU32,
    slots: u32,
    handed_out: bool,
    #[cfg(debug_assertions)]
    in_flight: Vec<bool>,
}

impl SlotPool {
    /// A pool of `slots` slots.
    ///
    /// # Errors
    ///
    /// The process has created 2^32 - 1 pools, so there is no number for another one.
    pub(crate) fn new(slots: u32) -> Result<Self, EngineError> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let last =
            LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| last.checked_add(1));
        let id = last.ok().and_then(|last| NonZeroU32::MIN.checked_add(last));
        let id = id.ok_or_else(|| {
            EngineError::plain("this process has created too many I/O engines")
                .help("To fix: split the run into several runs")
        })?;
        Ok(SlotPool {
            id,
            slots,
            handed_out: false,
            #[cfg(debug_assertions)]
            in_flight: vec![false; slots as usize],
        })
    }

    /// The tokens of all slots, in the order of their indices. Only the first call returns tokens.
    pub(crate) fn take(&mut self) -> Vec<FreeSlot> {
        let slots = if std::mem::replace(&mut self.handed_out, true) { 0 } else { self.slots };
        (0..slots).map(|index| FreeSlot { index, pool: self.id }).collect()
    }

    /// Whether a token belongs to this pool. Its index is then less than the number of slots.
    #[inline(always)]
    pub(crate) fn owns(&self, slot: &FreeSlot) -> bool {
        slot.pool == self.id
    }

    /// Takes the token of a slot whose op is now in flight. Returns the slot's index.
    ///
    /// # Panics
    ///
    /// If the token belongs to another pool.
    #[inline(always)]
    pub(crate) fn begin(&mut self, slot: FreeSlot) -> Slot {
        assert!(self.owns(&slot), "the slot belongs to another engine");
        #[cfg(debug_assertions)]
        assert!(
            !std::mem::replace(&mut self.in_flight[slot.index as usize], true),
            "slot {} has an op in flight",
            slot.index
        );
        slot.index
    }

    /// Returns the token of a slot whose op has completed.
    ///
    /// # Safety
    ///
    /// `index` is a result of [`SlotPool::begin`], this is the only call for that result, and neither
    /// the kernel nor another thread uses the slot's buffer any longer.
    #[inline(always)]
    pub(crate) unsafe fn end(&mut self, index: Slot) -> FreeSlot {
        #[cfg(debug_assertions)]
        assert!(
            std::mem::replace(&mut self.in_flight[index as usize], false),
            "slot {index} has no op in flight"
        );
        FreeSlot { index, pool: self.id }
    }
}

/// A free slot whose buffer is being read, usually by another thread.
///
/// The engine continues with its other slots. This slot is used again after it was released and given
/// back to the thread that drives the engine. The memory of the buffer lives at least as long as this
/// value, even if the engine is dropped.
#[derive(Debug)]
pub struct HeldSlot {
    slot: FreeSlot,
    data: *const u8,
    len: usize,
    _memory: Arc<MemoryRegion>,
}

// SAFETY: `data` points into the memory, which may be used by any thread. Only the token gives access
// to these bytes, and the token moves with them.
unsafe impl Send for HeldSlot {}
// SAFETY: a shared reference only reads the bytes.
unsafe impl Sync for HeldSlot {}

impl HeldSlot {
    /// Holds a slot whose buffer is `len` bytes from `data`.
    ///
    /// # Safety
    ///
    /// The bytes lie in `memory`, and only the holder of `slot` accesses them.
    pub(crate) unsafe fn new(
        slot: FreeSlot,
        data: *const u8,
        len: usize,
        memory: Arc<MemoryRegion>,
    ) -> Self {
        HeldSlot { slot, data, len, _memory: memory }
    }

    /// Holds `slot` in the place of the token that this value holds, and returns that token.
    ///
    /// # Safety
    ///
    /// Nothing uses the returned token before `slot` was released.
    pub(crate) unsafe fn exchange(self, slot: FreeSlot) -> (HeldSlot, FreeSlot) {
        let HeldSlot { slot: inner, data, len, _memory } = self;
        (HeldSlot { slot, data, len, _memory }, inner)
    }

    /// Index of the slot in its engine, `0 .. iodepth`.
    #[must_use]
    pub fn index(&self) -> Slot {
        self.slot.index
    }

    /// The bytes of the slot's buffer.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        // SAFETY: the bytes lie in the memory that this value keeps. The engine and the kernel do not
        // write them, because a write needs the token.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }

    /// Ends the use of the buffer, and returns the slot for its next op.
    pub fn release(self) -> FreeSlot {
        self.slot
    }
}

/// Completions, which return the slots of their ops. The list has room for one completion per slot
/// and never allocates after construction.
#[derive(Debug)]
pub struct Completions {
    list: Vec<(FreeSlot, Outcome)>,
    /// Number of completions at the front that were taken out.
    taken: usize,
}

impl Completions {
    /// An empty list with room for `depth` completions.
    #[must_use]
    pub fn with_capacity(depth: u32) -> Self {
        Completions { list: Vec::with_capacity(depth as usize), taken: 0 }
    }
    /// Appends a completion. The caller must not exceed the capacity.
    #[inline(always)]
    pub fn push(&mut self, slot: FreeSlot, outcome: Outcome) {
        debug_assert!(self.list.len() < self.list.capacity());
        self.list.push((slot, outcome));
    }
    /// Removes the oldest completion and returns it. Its room is usable again when the list is empty.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<(FreeSlot, Outcome)> {
        let Some((FreeSlot { index, pool }, outcome)) = self.list.get(self.taken) else {
            self.clear();
            return None;
        };
        // The entry is not read again, so there is still one token of the slot.
        self.taken += 1;
        Some((FreeSlot { index: *index, pool: *pool }, *outcome))
    }
    /// Number of completions.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len() - self.taken
    }
    /// Whether the list is empty.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Removes all completions, which leaks their slots.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.list.clear();
        self.taken = 0;
    }
    /// All completions, in the order in which the engine returned them.
    #[inline]
    pub fn as_slice(&self) -> &[(FreeSlot, Outcome)] {
        &self.list[self.taken..]
    }
}
