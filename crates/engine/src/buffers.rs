//! Data buffers of a job: one per slot, all in one memory region.

use fiord_sys::host;
use fiord_sys::memory::Region;

use crate::{EngineConfig, EngineError, Slot};

/// Upper limit of `iodepth`. It is more than any kernel interface accepts, and bounds the memory
/// per slot.
const MAX_SLOTS: u32 = 1 << 20;

/// One buffer per slot, each aligned to at least a page. The kernel allocates a page when it is
/// first touched.
#[derive(Debug)]
pub struct Buffers {
    base: *mut u8,
    stride: usize,
    bytes: usize,
    slots: u32,
    #[cfg(debug_assertions)]
    in_flight: Vec<bool>,
    region: Option<Region>,
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
        let align = (config.memory_align as usize).max(page);
        let bytes = config.buffer_bytes as usize;
        let stride = bytes.next_multiple_of(align);
        let whole = stride.checked_mul(config.slots as usize);
        let whole =
            whole.ok_or_else(|| EngineError::plain("the I/O buffers exceed the address space"))?;
        let region = Region::new(&config.memory, whole.max(page), align)
            .map_err(|error| EngineError::from_sys("I/O buffers", &error))?;
        Ok(Buffers {
            base: region.as_ptr(),
            stride,
            bytes,
            slots: config.slots,
            #[cfg(debug_assertions)]
            in_flight: vec![false; config.slots as usize],
            region: Some(region),
        })
    }

    /// The buffer of a slot.
    ///
    /// # Panics
    ///
    /// If there is no such slot. Debug builds also panic if the slot has an op in flight.
    #[inline]
    pub fn slice(&mut self, slot: Slot) -> &mut [u8] {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        #[cfg(debug_assertions)]
        assert!(!self.in_flight[slot as usize], "slot {slot}'s buffer is in flight");
        // SAFETY: the slot exists, so the range lies in the region. `&mut self` excludes other
        // users in this process, and the kernel uses only buffers that are in flight.
        unsafe {
            std::slice::from_raw_parts_mut(self.base.add(slot as usize * self.stride), self.bytes)
        }
    }

    /// Address of the bytes `at .. at + len` of a slot's buffer; `None` if they do not lie in the
    /// buffer.
    #[inline(always)]
    pub fn span(&self, slot: Slot, at: u32, len: u32) -> Option<*mut u8> {
        if slot < self.slots && u64::from(at) + u64::from(len) <= self.bytes as u64 {
            Some(self.base.wrapping_add(slot as usize * self.stride + at as usize))
        } else {
            None
        }
    }

    /// Address of the region and distance between two buffers in bytes, for registration with the
    /// kernel.
    pub(crate) fn region(&self) -> (*mut u8, usize) {
        (self.base, self.stride)
    }

    /// Leaks the memory. For a kernel that may still use it.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(self.region.take());
    }

    /// Marks a slot as in flight. Only debug builds keep track.
    #[inline(always)]
    pub(crate) fn begin(&mut self, _slot: Slot) {
        #[cfg(debug_assertions)]
        assert!(
            !std::mem::replace(&mut self.in_flight[_slot as usize], true),
            "slot {_slot} has an op in flight"
        );
    }

    /// Marks a slot as no longer in flight. Only debug builds keep track.
    #[inline(always)]
    pub(crate) fn end(&mut self, _slot: Slot) {
        #[cfg(debug_assertions)]
        assert!(
            std::mem::replace(&mut self.in_flight[_slot as usize], false),
            "slot {_slot} has no op in flight"
        );
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, Memory};

    use super::*;

    fn config(slots: u32, bytes: u32) -> EngineConfig {
        EngineConfig::plain(EnginePlan::Null, slots, bytes)
    }

    #[test]
    fn every_kind_of_memory_gives_aligned_buffers_apart_from_each_other() {
        for memory in [Memory::Malloc, Memory::Shm, Memory::Mmap(None), Memory::MmapShared(None)] {
            for align in [1, 4096, 1 << 21] {
                let config =
                    EngineConfig { memory: memory.clone(), memory_align: align, ..config(3, 5000) };
                let mut buffers = Buffers::new(&config).unwrap();
                for slot in 0..3 {
                    let data = buffers.slice(slot);
                    assert_eq!(
                        (data.len(), data.as_ptr() as usize % align.max(4096) as usize),
                        (5000, 0)
                    );
                    data.fill(slot as u8 + 1);
                }
                for slot in 0..3 {
                    assert!(buffers.slice(slot).iter().all(|b| *b == slot as u8 + 1));
                }
            }
        }
    }

    #[test]
    fn spans_stay_in_their_buffer() {
        let buffers = Buffers::new(&config(2, 4096)).unwrap();
        let base = buffers.span(0, 0, 4096).unwrap();
        assert_eq!(buffers.span(1, 96, 4000), Some(base.wrapping_add(4096 + 96)));
        assert_eq!(buffers.span(1, 4096, 0), Some(base.wrapping_add(8192)));
        assert_eq!(buffers.span(1, 97, 4000), None);
        assert_eq!(buffers.span(1, u32::MAX, u32::MAX), None);
        assert_eq!(buffers.span(2, 0, 0), None);
    }

    #[test]
    fn untouched_buffers_cost_nothing() {
        let before = fiord_sys::usage::memory().unwrap().resident;
        let _buffers = Buffers::new(&config(1024, 1 << 20)).unwrap();
        let after = fiord_sys::usage::memory().unwrap().resident;
        assert!(after.saturating_sub(before) < 64 << 20);
    }

    #[test]
    fn impossible_sizes_are_errors() {
        for (slots, bytes) in [(0, 4096), (u32::MAX, 4096), (MAX_SLOTS, u32::MAX)] {
            Buffers::new(&config(slots, bytes)).unwrap_err();
        }
    }
}
