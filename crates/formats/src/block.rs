//! Lists of integers in little space, as bytes and as text inside JSON.
//!
//! | list | bytes |
//! |---|---|
//! | counts: mostly zero (a histogram) | the length; then, for each count above zero: the zeros before it, the count |
//! | series: each value is near the one before it | the length; then, for each value, the difference from the one before it (from 0 for the first), zigzag |
//!
//! All integers are [varints](crate::varint). The text is the bytes in base64 (RFC 4648, with padding). A
//! histogram of a million latencies takes about three bytes for each bucket in use.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::varint::{self, VarintError};

/// Why a block cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The block ends within a value.
    #[error("the block is truncated")]
    Truncated,
    /// An integer has more than 64 bits.
    #[error("the block contains an integer of more than 64 bits")]
    TooLarge,
    /// The list is longer than the reader accepts.
    #[error("the block has {length} values; at most {most} are allowed")]
    TooLong {
        /// Number of values according to the block.
        length: u64,
        /// Number of values that the reader accepts.
        most: usize,
    },
    /// A count lies beyond the length of the list, or is zero.
    #[error("the block has a count at an invalid place")]
    Misplaced,
    /// Bytes follow the last value.
    #[error("bytes follow the last value of the block")]
    Trailing,
    /// The text is not base64.
    #[error("the block is not valid base64")]
    NotBase64,
}

impl From<VarintError> for BlockError {
    fn from(error: VarintError) -> Self {
        match error {
            VarintError::Truncated => BlockError::Truncated,
            VarintError::TooLarge => BlockError::TooLarge,
        }
    }
}

/// Writes bytes as the text of a block.
#[must_use]
pub fn bytes_to_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads what [`bytes_to_text`] wrote.
///
/// # Errors
/// The text is not base64.
pub fn bytes_from_text(text: &str) -> Result<Vec<u8>, BlockError> {
    STANDARD.decode(text).map_err(|_| BlockError::NotBase64)
}

/// Writes a list of counts, most of which are zero.
#[must_use]
pub fn counts_to_text(counts: &[u64]) -> String {
    let mut bytes = Vec::new();
    varint::put(counts.len() as u64, &mut bytes);
    let mut next = 0;
    for (at, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        varint::put((at - next) as u64, &mut bytes);
        varint::put(count, &mut bytes);
        next = at + 1;
    }
    STANDARD.encode(bytes)
}

/// Reads a list of at most `most` counts.
///
/// # Errors
/// The text is not a list of counts, or is longer than `most`.
pub fn counts_from_text(text: &str, most: usize) -> Result<Vec<u64>, BlockError> {
    let bytes = STANDARD.decode(text).map_err(|_| BlockError::NotBase64)?;
    let mut rest = bytes.as_slice();
    let length = varint::take(&mut rest)?;
    let mut counts = vec![0; accepted(length, most)?];
    let mut next = 0usize;
    while !rest.is_empty() {
        let gap = usize::try_from(varint::take(&mut rest)?).unwrap_or(usize::MAX);
        let count = varint::take(&mut rest)?;
        let at = next.saturating_add(gap);
        *counts.get_mut(at).filter(|_| count > 0).ok_or(BlockError::Misplaced)? = count;
        next = at + 1;
    }
    Ok(counts)
}

/// Writes a list of values, each of which is near the one before it.
pub fn series_to_text(values: impl ExactSizeIterator<Item = u64>) -> String {
    let mut bytes = Vec::new();
    varint::put(values.len() as u64, &mut bytes);
    let mut last = 0u64;
    for value in values {
        // Two's complement: the sum of the reader wraps around in the same way.
        varint::put(varint::zigzag(value.wrapping_sub(last) as i64), &mut bytes);
        last = value;
    }
    STANDARD.encode(bytes)
}

/// Reads a list of at most `most` values.
///
/// # Errors
/// The text is not a series, or is longer than `most`.
pub fn series_from_text(text: &str, most: usize) -> Result<Vec<u64>, BlockError> {
    let bytes = STANDARD.decode(text).map_err(|_| BlockError::NotBase64)?;
    let mut rest = bytes.as_slice();
    let length = accepted(varint::take(&mut rest)?, most)?;
    // Each value takes at least one byte, so the input bounds the memory.
    if length > rest.len() {
        return Err(BlockError::Truncated);
    }
    let mut values = Vec::with_capacity(length);
    let mut last = 0u64;
    for _ in 0..length {
        last = last.wrapping_add(varint::unzigzag(varint::take(&mut rest)?) as u64);
        values.push(last);
    }
    if rest.is_empty() { Ok(values) } else { Err(BlockError::Trailing) }
}

fn accepted(length: u64, most: usize) -> Result<usize, BlockError> {
    let accepted = usize::try_from(length).ok().filter(|length| *length <= most);
    accepted.ok_or(BlockError::TooLong { length, most })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> String {
        STANDARD.encode(bytes)
    }

    #[test]
    fn bounds_are_checked_before_memory_is_allocated() {
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let too_long = |most| Err(BlockError::TooLong { length: u64::MAX, most });
        assert_eq!(counts_from_text(&text(&huge), 1856), too_long(1856));
        assert_eq!(series_from_text(&text(&huge), 64), too_long(64));
        assert_eq!(series_from_text(&text(&[100, 1]), 1 << 40), Err(BlockError::Truncated));
    }

    #[test]
    fn wrong_blocks_are_refused() {
        assert_eq!(counts_from_text("*", 9), Err(BlockError::NotBase64));
        assert_eq!(counts_from_text("", 9), Err(BlockError::Truncated));
        assert_eq!(counts_from_text(&text(&[4, 4, 1]), 9), Err(BlockError::Misplaced));
        assert_eq!(counts_from_text(&text(&[4, 0, 0]), 9), Err(BlockError::Misplaced));
        assert_eq!(counts_from_text(&text(&[4, 0]), 9), Err(BlockError::Truncated));
        assert_eq!(series_from_text(&text(&[1, 2, 2]), 9), Err(BlockError::Trailing));
    }

    proptest! {
        #[test]
        fn lists_are_read_as_they_were_written(
            sparse in prop::collection::vec(prop_oneof![9 => Just(0), 1 => any::<u64>()], 0..300),
            series in prop::collection::vec(any::<u64>(), 0..100),
        ) {
            prop_assert_eq!(counts_from_text(&counts_to_text(&sparse), 300), Ok(sparse));
            let text = series_to_text(series.iter().copied());
            prop_assert_eq!(series_from_text(&text, 100), Ok(series));
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = counts_from_text(&text(&bytes), 1856);
            let _ = series_from_text(&text(&bytes), 64);
        }
    }
}
