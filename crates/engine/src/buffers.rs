//! The job's data buffers: one a slot, all in one region.

use fiord_plan::Memory;
use fiord_sys::host;
use fiord_sys::memory::{Region, Source};

use crate::{EngineConfig, EngineError, Slot};

/// One buffer a slot, each aligned to a page or more. Pages are touched only when used.
#[derive(Debug)]
pub struct Buffers {
    base: *mut u8,
    stride: usize,
    bytes: usize,
    slots: u32,
    #[cfg(debug_assertions)]
    in_flight: Vec<bool>,
    _region: Region,
}

// SAFETY: `base` points into the region that this value owns, which does not move.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Makes them as the configuration says.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let page = host::page_size();
        let align = (config.memory_align as usize).max(page);
        let bytes = config.buffer_bytes as usize;
        let stride = bytes.next_multiple_of(align);
        let whole = stride.checked_mul(config.slots as usize);
        let whole = whole.ok_or_else(|| EngineError::plain("the I/O buffers exceed memory"))?;
        let region = Region::new(&source(&config.memory), whole.max(page), align)
            .map_err(|error| EngineError::from_sys("I/O buffers", &error))?;
        Ok(Buffers {
            base: region.as_ptr(),
            stride,
            bytes,
            slots: config.slots,
            #[cfg(debug_assertions)]
            in_flight: vec![false; config.slots as usize],
            _region: region,
        })
    }

    /// A slot's buffer.
    ///
    /// # Panics
    /// When there is no such slot, and in debug builds when an op on it is in flight.
    #[inline]
    pub fn slice(&mut self, slot: Slot) -> &mut [u8] {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        #[cfg(debug_assertions)]
        assert!(!self.in_flight[slot as usize], "slot {slot}'s buffer is in flight");
        // SAFETY: the slot exists, so that the range lies in the region; `&mut self` keeps out
        // other users in this process, and the kernel uses no buffer that is not in flight.
        unsafe {
            std::slice::from_raw_parts_mut(self.base.add(slot as usize * self.stride), self.bytes)
        }
    }

    /// Where `len` bytes from `at` of a slot's buffer lie; `None` when they do not lie in it.
    #[inline(always)]
    pub fn span(&self, slot: Slot, at: u32, len: u32) -> Option<*mut u8> {
        if slot < self.slots && u64::from(at) + u64::from(len) <= self.bytes as u64 {
            Some(self.base.wrapping_add(slot as usize * self.stride + at as usize))
        } else {
            None
        }
    }

    /// Where the region begins and the distance between buffers, to be registered with the kernel.
    pub(crate) fn region(&self) -> (*mut u8, usize) {
        (self.base, self.stride)
    }

    /// Bytes of a buffer.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes that a slot has an op in flight (debug builds; nothing otherwise).
    #[inline(always)]
    pub(crate) fn begin(&mut self, _slot: Slot) {
        #[cfg(debug_assertions)]
        assert!(
            !std::mem::replace(&mut self.in_flight[_slot as usize], true),
            "slot {_slot} has an op in flight"
        );
    }

    /// Notes that a slot's op has ended.
    #[inline(always)]
    pub(crate) fn end(&mut self, _slot: Slot) {
        #[cfg(debug_assertions)]
        assert!(
            std::mem::replace(&mut self.in_flight[_slot as usize], false),
            "slot {_slot} has no op in flight"
        );
    }
}

/// The plan's word for a kind of memory, as the system's.
fn source(memory: &Memory) -> Source {
    match memory.clone() {
        Memory::Malloc => Source::Malloc,
        Memory::Shm => Source::Shm,
        Memory::ShmHuge => Source::ShmHuge,
        Memory::Mmap(path) => Source::Mmap(path),
        Memory::MmapHuge(path) => Source::MmapHuge(path),
        Memory::MmapShared(path) => Source::MmapShared(path),
    }
}
