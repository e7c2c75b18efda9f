//! Hashes for tables of paths, of which a job may have a hundred thousand.
//!
//! The standard library's hashes resist keys that were chosen so that they collide, and took half of the time in which a job
//! with many files was planned. The names of a user's own files need no such protection.

use std::hash::{BuildHasher, Hasher};

/// Makes hashes for a [`HashMap`](std::collections::HashMap) whose keys the user has chosen.
///
/// ```
/// use std::collections::HashSet;
///
/// use fiord_types::FastHash;
///
/// let mut names: HashSet<&str, FastHash> = HashSet::default();
/// assert!(names.insert("job.0.0"));
/// assert!(!names.insert("job.0.0"));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FastHash;

impl BuildHasher for FastHash {
    type Hasher = FastHasher;

    fn build_hasher(&self) -> FastHasher {
        FastHasher(SEED)
    }
}

/// The state of a hash of [`FastHash`].
#[derive(Debug, Clone, Copy)]
pub struct FastHasher(u64);

/// Odd numbers with a random sequence of bits: the fractions of pi and of e.
const SEED: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u64 = 0xb7e1_5162_8aed_2a6b;

impl FastHasher {
    /// Adds eight bytes. Both halves of the product take part, so that each bit of the word changes each bit of the state.
    #[inline]
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FACTOR);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for FastHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The number of bytes, so that a name and the same name with a zero byte at its end differ.
        last[7] = rest.len() as u8;
        self.add(u64::from_le_bytes(last));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_in_sequence_spread_over_a_table() {
        let hash = |name: String| FastHash.hash_one(Path::new(&name));
        let names = |n: u32| format!("/dev/shm/directory/job.0.{n}");
        let hashes: Vec<u64> = (0..65_536).map(|n| hash(names(n))).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
        // A table takes the lowest bits as the place and the highest as a mark. 65,536 balls leave 1/e of as many bins
        // empty.
        for bits in [|hash: u64| hash & 0xffff, |hash: u64| hash >> 48] {
            let used = hashes.iter().map(|hash| bits(*hash)).collect::<HashSet<_>>().len();
            assert!((40_000..43_000).contains(&used), "{used}");
        }
    }

    #[test]
    fn the_length_counts() {
        let hash = |bytes: &[u8]| FastHash.hash_one(bytes);
        assert_ne!(hash(b"a"), hash(b"a\0"));
        assert_ne!(hash(b""), hash(b"\0"));
    }
}
