//! Parts of a submission entry that only some options need: a vector, the index of a registered
//! buffer, and the flag that forces asynchronous execution.

use fiord_plan::IoUringPlan;

use super::abi::IOSQE_ASYNC;
use super::registered::Registered;
use crate::{EngineConfig, Slot};

/// State of these parts.
#[derive(Debug)]
pub(crate) struct RingExtras {
    /// One vector per slot if the commands use vectors; otherwise empty.
    vectors: Vec<libc::iovec>,
    /// Each slot's buffer is registered under an index of its own, because one registration cannot
    /// hold all of them.
    buffer_per_slot: bool,
    /// Every n-th I/O is forced to be asynchronous (`force_async`); 0: none.
    force_async: u32,
    /// Number of I/Os until the next forced one.
    until_async: u32,
}

// SAFETY: the pointers in `vectors` point into the buffers of the engine that owns this value,
// which do not move with it.
unsafe impl Send for RingExtras {}

impl RingExtras {
    /// State for a ring with these options. `vectored`: the commands use vectors.
    pub(crate) fn new(
        config: &EngineConfig,
        options: &IoUringPlan,
        vectored: bool,
        registered: Registered,
    ) -> Self {
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        RingExtras {
            vectors: vec![empty; if vectored { config.slots as usize } else { 0 }],
            buffer_per_slot: registered == Registered::Each,
            force_async: options.force_async,
            until_async: options.force_async,
        }
    }

    /// Whether any entry needs one of these parts.
    pub(crate) fn any(&self) -> bool {
        !self.vectors.is_empty() || self.buffer_per_slot || self.force_async != 0
    }

    /// Stores address and length of the data in the slot's vector, and replaces them by the vector.
    #[inline]
    pub(crate) fn vector(&mut self, slot: Slot, addr: &mut u64, len: &mut u32) {
        if let Some(vector) = self.vectors.get_mut(slot as usize) {
            let data = std::ptr::with_exposed_provenance_mut(*addr as usize);
            *vector = libc::iovec { iov_base: data, iov_len: *len as usize };
            (*addr, *len) = ((&raw const *vector) as u64, 1);
        }
    }

    /// Index of the slot's registered buffer.
    #[inline]
    pub(crate) fn buffer_index(&self, slot: Slot) -> u16 {
        if self.buffer_per_slot { slot as u16 } else { 0 }
    }

    /// Flags of the next entry: `IOSQE_ASYNC` for every n-th I/O, which a worker thread of the
    /// kernel then carries out.
    #[inline]
    pub(crate) fn force_async(&mut self) -> u8 {
        if self.force_async == 0 {
            return 0;
        }
        self.until_async -= 1;
        if self.until_async > 0 {
            return 0;
        }
        self.until_async = self.force_async;
        IOSQE_ASYNC
    }

    /// Leaks the vectors. For a kernel that may still read them.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.vectors));
    }
}
