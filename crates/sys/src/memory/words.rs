//! Atomic words that several threads share.

use std::ops::Deref;
use std::sync::atomic::AtomicU64;

use fiord_types::Errno;

use super::{MemoryRegion, MemorySource};
use crate::{Error, Result};

/// Atomic words, all 0 at first. The kernel provides a page when a word of it is written, so words that stay 0
/// need no memory of their own: the kernel answers reads of them from one shared page of zeros.
///
/// ```
/// use std::sync::atomic::Ordering;
/// use fiord_sys::memory::AtomicWords;
///
/// let words = AtomicWords::new(1 << 20)?;
/// words[7].store(1, Ordering::Relaxed);
/// assert_eq!(words.iter().map(|word| word.load(Ordering::Relaxed)).sum::<u64>(), 1);
/// # Ok::<(), fiord_sys::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicWords {
    /// Holds the words and nothing else. Only [`Deref`] reads its address.
    region: MemoryRegion,
    count: usize,
}

impl AtomicWords {
    /// Reserves `count` words.
    ///
    /// # Errors
    /// `ENOMEM` if there is not enough memory, with the limit and the remedy.
    pub fn new(count: usize) -> Result<AtomicWords> {
        let bytes = count
            .max(1)
            .checked_mul(size_of::<AtomicU64>())
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .ok_or_else(|| Error::new("allocate memory", Errno::ENOMEM))?;
        let region = MemoryRegion::new(&MemorySource::Malloc, bytes, align_of::<AtomicU64>())?;
        Ok(AtomicWords { region, count })
    }
}

impl Deref for AtomicWords {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the region is private anonymous memory of at least `count` words, aligned for them and zeroed
        // by the kernel, and lives as long as `self`. No other code accesses it, so all accesses are atomic.
        unsafe {
            std::slice::from_raw_parts(self.region.start.as_ptr().cast::<AtomicU64>(), self.count)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_words_than_memory_is_an_error() {
        for count in [usize::MAX, usize::MAX / 8, 1 << 58] {
            assert_eq!(AtomicWords::new(count).unwrap_err().errno, Errno::ENOMEM, "{count}");
        }
        assert_eq!(AtomicWords::new(0).unwrap().len(), 0);
    }
}
