//! Data buffers of a job: one per slot, all in one memory region.

use std::sync::Arc;

use fiord_plan::model::Memory;
use fiord_sys::host;
use fiord_sys::memory::MemoryRegion;

use crate::slot::SlotPool;
use crate::{EngineConfig, EngineError, FreeSlot, HeldSlot, Op, Slot};

/// Implements the methods of [`Engine`](crate::Engine) about slots, for an engine with a field `buffers`.
macro_rules! slots_of_buffers {
    () => {
        fn take_slots(&mut self) -> Vec<$crate::FreeSlot> {
            self.buffers.take_slots()
        }

        #[inline]
        fn buffer(&mut self, slot: &mut $crate::FreeSlot) -> &mut [u8] {
            self.buffers.slice(slot)
        }

        fn hold(&mut self, slot: $crate::FreeSlot) -> $crate::HeldSlot {
            self.buffers.hold(slot)
        }
    };
}
pub(crate) use slots_of_buffers;

/// Upper limit of `iodepth`. It is more than any kernel interface accepts, and bounds the memory
/// per slot.
const MAX_SLOTS: u32 = 1 << 20;

/// The slots of an engine with one buffer each, aligned to at least a page. The kernel allocates a
/// page when it is first touched.
///
/// An engine in another crate builds on it: it keeps the [`FreeSlot`] of an op in flight, and moves
/// it to the [`Completions`](crate::Completions) when the op has completed.
#[derive(Debug)]
pub struct Buffers {
    base: *mut u8,
    stride: usize,
    bytes: usize,
    slots: SlotPool,
    region: Arc<MemoryRegion>,
}

// SAFETY: `base` points into the region that this value owns, which does not move.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Allocates the buffers that the configuration describes.
    ///
    /// # Errors
    ///
    /// The number of slots is 0 or above the limit, or the memory cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        if config.slots == 0 || config.slots > MAX_SLOTS {
            let what = format!("iodepth={} is out of range", config.slots);
            return Err(
                EngineError::plain(what).help(format!("To fix: set iodepth to 1 to {MAX_SLOTS}"))
            );
        }
        let page = host::page_size();
        let align = (config.memory_align.0 as usize).max(page);
        let bytes = config.buffer_bytes.0 as usize;
        let stride = bytes.next_multiple_of(align);
        let whole = stride.checked_mul(config.slots as usize);
        let whole =
            whole.ok_or_else(|| EngineError::plain("the I/O buffers exceed the address space"))?;
        let region = MemoryRegion::new(&config.memory, whole.max(page), align)
            .map_err(|error| EngineError::from_sys("I/O buffers", &error))?;
        Ok(Buffers {
            base: region.as_ptr(),
            stride,
            bytes,
            slots: SlotPool::new(config.slots)?,
            region: Arc::new(region),
        })
    }

    /// The tokens of all slots, in the order of their indices. Only the first call returns tokens.
    pub fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.slots.take()
    }

    /// The buffer of a slot.
    ///
    /// # Panics
    ///
    /// If the slot belongs to another engine.
    #[inline]
    pub fn slice(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        assert!(self.slots.owns(slot), "the slot belongs to another engine");
        // SAFETY: the slot is one of this region, so its buffer lies there. The token shows that no op
        // of the slot is in flight and that no reference to its buffer exists. Until the reference ends, this
        // value is borrowed, so no op can be queued and no other reference to a buffer exists.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.bytes) }
    }

    /// Makes the slot's buffer readable for other threads.
    ///
    /// # Panics
    ///
    /// If the slot belongs to another engine.
    #[must_use]
    pub fn hold(&self, slot: FreeSlot) -> HeldSlot {
        assert!(self.slots.owns(&slot), "the slot belongs to another engine");
        let data = self.address(&slot);
        // SAFETY: the slot is one of this region, so its buffer lies there, and access to the buffer
        // needs the token.
        unsafe { HeldSlot::new(slot, data, self.bytes, self.region.clone()) }
    }

    /// Address of the buffer of a slot of this region.
    #[inline(always)]
    fn address(&self, slot: &FreeSlot) -> *mut u8 {
        self.base.wrapping_add(slot.index() as usize * self.stride)
    }

    /// Address of the bytes `at .. at + len` of a slot's buffer; `None` if they do not lie in the
    /// buffer, or if the slot belongs to another engine.
    #[inline(always)]
    pub(crate) fn span(&self, slot: &FreeSlot, at: u32, len: u32) -> Option<*mut u8> {
        let inside = u64::from(at) + u64::from(len) <= self.bytes as u64;
        (self.slots.owns(slot) && inside).then(|| self.address(slot).wrapping_add(at as usize))
    }

    /// Address of the data of an op in a slot's buffer. `None` as for [`Buffers::span`].
    #[inline(always)]
    pub(crate) fn data_of(&self, slot: &FreeSlot, op: &Op) -> Option<*mut u8> {
        self.span(slot, op.at, if op.kind.moves_data() { op.len } else { 0 })
    }

    /// Address of the region and distance between two buffers in bytes, for registration with the
    /// kernel.
    pub(crate) fn region(&self) -> (*mut u8, usize) {
        (self.base, self.stride)
    }

    #[cfg(feature = "libblkio")]
    pub(crate) fn memory(&self) -> &MemoryRegion {
        &self.region
    }

    /// Leaks the memory. For a kernel that may still use it.
    pub(crate) fn leak(&self) {
        std::mem::forget(self.region.clone());
    }

    /// Gives all slots other memory, of the ordinary kind, and leaks the present one: a library may still write to it.
    ///
    /// # Errors
    ///
    /// The memory cannot be allocated.
    pub(crate) fn replace_memory(&mut self) -> Result<(), EngineError> {
        self.leak();
        let region = MemoryRegion::new(&Memory::Malloc, self.region.len(), host::page_size())
            .map_err(|error| EngineError::from_sys("I/O buffers", &error))?;
        self.base = region.as_ptr();
        self.region = Arc::new(region);
        Ok(())
    }

    /// Whether a slot belongs to these buffers.
    #[inline(always)]
    pub(crate) fn owns(&self, slot: &FreeSlot) -> bool {
        self.slots.owns(slot)
    }

    /// Takes the token of a slot whose op is now in flight. Returns the slot's index.
    ///
    /// # Panics
    ///
    /// If the slot belongs to another engine.
    #[inline(always)]
    pub(crate) fn begin(&mut self, slot: FreeSlot) -> Slot {
        self.slots.begin(slot)
    }

    /// Returns the token of a slot whose op has completed.
    ///
    /// # Safety
    ///
    /// `index` is a result of [`Buffers::begin`], this is the only call for that result, and neither
    /// the kernel nor another thread uses the slot's buffer any longer.
    #[inline(always)]
    pub(crate) unsafe fn end(&mut self, index: Slot) -> FreeSlot {
        // SAFETY: the caller vouches for the same.
        unsafe { self.slots.end(index) }
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, Memory};
    use fiord_types::Bytes;

    use super::*;

    fn config(slots: u32, bytes: u32) -> EngineConfig {
        EngineConfig::plain(EnginePlan::Null, slots, bytes)
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn every_kind_of_memory_gives_aligned_buffers_apart_from_each_other() {
        for memory in [Memory::Malloc, Memory::Shm, Memory::Mmap(None), Memory::MmapShared(None)] {
            for align in [1, 4096, 1 << 21] {
                let config = EngineConfig {
                    memory: memory.clone(),
                    memory_align: Bytes(align),
                    ..config(3, 5000)
                };
                let mut buffers = Buffers::new(&config).unwrap();
                let mut slots = buffers.take_slots();
                for slot in &mut slots {
                    let number = slot.index() as u8 + 1;
                    let data = buffers.slice(slot);
                    assert_eq!(
                        (data.len(), data.as_ptr() as usize % align.max(4096) as usize),
                        (5000, 0)
                    );
                    data.fill(number);
                }
                for slot in &mut slots {
                    let number = slot.index() as u8 + 1;
                    assert!(buffers.slice(slot).iter().all(|b| *b == number));
                }
            }
        }
    }

    #[test]
    fn spans_stay_in_their_buffer() {
        let mut buffers = Buffers::new(&config(2, 4096)).unwrap();
        let [first, second] = &buffers.take_slots()[..] else { panic!("two slots") };
        let base = buffers.span(first, 0, 4096).unwrap();
        assert_eq!(buffers.span(second, 96, 4000), Some(base.wrapping_add(4096 + 96)));
        assert_eq!(buffers.span(second, 4096, 0), Some(base.wrapping_add(8192)));
        assert_eq!(buffers.span(second, 97, 4000), None);
        assert_eq!(buffers.span(second, u32::MAX, u32::MAX), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn untouched_buffers_cost_nothing() {
        let before = fiord_sys::usage::memory().unwrap().resident;
        let _buffers = Buffers::new(&config(1024, 1 << 20)).unwrap();
        let after = fiord_sys::usage::memory().unwrap().resident;
        assert!(after.saturating_sub(before) < Bytes(64 << 20));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri reserves the memory")]
    fn impossible_sizes_are_errors() {
        for (slots, bytes) in [(0, 4096), (u32::MAX, 4096), (MAX_SLOTS, u32::MAX)] {
            Buffers::new(&config(slots, bytes)).unwrap_err();
        }
    }
}
