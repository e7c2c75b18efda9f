//! What only some options need of an entry: a vector, the index of its buffer, a turn at being
//! asynchronous.

use fiord_plan::IoUringPlan;

use super::abi::IOSQE_ASYNC;
use super::registered::Registered;
use crate::{EngineConfig, Slot};

/// What is kept for them.
#[derive(Debug)]
pub struct Extras {
    /// One a slot where data go by vectors, else none.
    vectors: Vec<libc::iovec>,
    /// Slots' buffers each have their own index where one registration cannot hold all of them.
    buffer_per_slot: bool,
    /// Every so-many-th I/O is forced to be asynchronous; 0: none.
    force_async: u32,
    /// I/Os until the next one that is.
    until_async: u32,
}

// SAFETY: the pointers in `vectors` point into the buffers of the engine that owns this, which move
// with it.
unsafe impl Send for Extras {}

impl Extras {
    /// Of a ring with these options; `vectored`: data go by vectors.
    pub fn new(
        config: &EngineConfig,
        options: &IoUringPlan,
        vectored: bool,
        registered: Registered,
    ) -> Self {
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Extras {
            vectors: vec![empty; if vectored { config.slots as usize } else { 0 }],
            buffer_per_slot: registered == Registered::Each,
            force_async: options.force_async,
            until_async: options.force_async,
        }
    }

    /// Whether an entry needs any.
    pub fn any(&self) -> bool {
        !self.vectors.is_empty() || self.buffer_per_slot || self.force_async != 0
    }

    /// Puts a slot's vector in the place of its data's address and length.
    #[inline]
    pub fn vector(&mut self, slot: Slot, addr: &mut u64, len: &mut u32) {
        if let Some(vector) = self.vectors.get_mut(slot as usize) {
            let data = std::ptr::with_exposed_provenance_mut(*addr as usize);
            *vector = libc::iovec { iov_base: data, iov_len: *len as usize };
            (*addr, *len) = ((&raw const *vector) as u64, 1);
        }
    }

    /// The index of a slot's registered buffer.
    #[inline]
    pub fn buffer_index(&self, slot: Slot) -> u16 {
        if self.buffer_per_slot { slot as u16 } else { 0 }
    }

    /// What an I/O's flags have to say beside others: every so-many-th goes to a worker thread of the
    /// kernel at once.
    #[inline]
    pub fn force_async(&mut self) -> u8 {
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

    /// Never gives the vectors' memory back: the kernel may still be using it.
    pub fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.vectors));
    }
}
