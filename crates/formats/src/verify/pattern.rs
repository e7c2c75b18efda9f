//! The bytes of a write with `verify_pattern`.

use super::body::{self, Difference};

/// A part of a pattern: what the job file says, with files replaced by their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedPart {
    /// These bytes: text, numbers, or the contents of a file.
    Bytes(Vec<u8>),
    /// `%o`: the offset in 8 bytes, in little-endian order.
    Offset,
}

/// A pattern that repeats from the start of each write, or of each piece of `verify_pattern_interval` bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyPattern {
    /// One period, with zeros for each offset. At least one byte.
    once: Vec<u8>,
    /// Where in the period each offset starts.
    offsets: Vec<usize>,
    /// Length of a piece in bytes.
    interval: Option<u64>,
}

/// The pattern is copied from a part of the buffer that fits into the fastest cache.
const COPIED: usize = 4096;

impl BodyPattern {
    /// A pattern; `None` if it has no bytes. An `interval` of 0 means one piece for each write.
    #[must_use]
    pub fn new(parts: Vec<ResolvedPart>, interval: u64) -> Option<Self> {
        let (mut once, mut offsets) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                ResolvedPart::Bytes(bytes) => once.extend(bytes),
                ResolvedPart::Offset => {
                    offsets.push(once.len());
                    once.extend([0; 8]);
                }
            }
        }
        let interval = Some(interval).filter(|interval| *interval > 0);
        (!once.is_empty()).then_some(BodyPattern { once, offsets, interval })
    }

    /// Fills `write`, the whole contents of a write at `offset` of its file.
    pub fn fill(&self, offset: u64, write: &mut [u8]) {
        self.fill_from(offset, 0, write);
    }

    /// Compares `found`, read from `position` on of a write at `offset` of its file, with the pattern.
    #[must_use]
    pub fn first_difference(&self, offset: u64, position: u64, found: &[u8]) -> Option<Difference> {
        body::first_difference(position, found, |at, expected| {
            self.fill_from(offset, at, expected);
        })
    }

    /// The offset that the first `%o` of `write` states; `None` if the pattern has none.
    pub(crate) fn stated_offset(&self, write: &[u8]) -> Option<u64> {
        let stated = write.get(*self.offsets.first()?..)?.first_chunk()?;
        Some(u64::from_le_bytes(*stated))
    }

    /// Fills `part` with the bytes from `position` on of a write at `offset` of its file.
    pub(crate) fn fill_from(&self, offset: u64, position: u64, part: &mut [u8]) {
        let Some(interval) = self.interval else {
            return self.fill_piece(offset, position, part);
        };
        let (mut at, mut rest) = (position, part);
        while !rest.is_empty() {
            let skipped = at % interval;
            let left = usize::try_from(interval - skipped).unwrap_or(usize::MAX).min(rest.len());
            let (piece, next) = rest.split_at_mut(left);
            self.fill_piece(offset.wrapping_add(at - skipped), skipped, piece);
            at += left as u64;
            rest = next;
        }
    }

    /// Fills `part` with the bytes from `position` on of a piece at `offset` of its file.
    fn fill_piece(&self, offset: u64, position: u64, part: &mut [u8]) {
        let phase = (position % self.once.len() as u64) as usize;
        let period = self.fill_period(offset, phase, part);
        let block = period.max(COPIED / period.max(1) * period);
        let mut filled = period;
        while filled < part.len() {
            let length = filled.min(block).min(part.len() - filled);
            part.copy_within(..length, filled);
            filled += length;
        }
    }

    /// Fills the start of `part` with one period, from byte `phase` of it on, and returns its length.
    fn fill_period(&self, offset: u64, phase: usize, part: &mut [u8]) -> usize {
        let length = self.once.len().min(part.len());
        let first = (self.once.len() - phase).min(length);
        part[..first].copy_from_slice(&self.once[phase..phase + first]);
        part[first..length].copy_from_slice(&self.once[..length - first]);
        let bytes = offset.to_le_bytes();
        for start in &self.offsets {
            for (i, byte) in bytes.iter().enumerate() {
                let at = (start + i + self.once.len() - phase) % self.once.len();
                if at < length {
                    part[at] = *byte;
                }
            }
        }
        length
    }
}
