//! Intervals: their length, the place of their header, and how they are sealed and checked.

use fiord_types::common_divisor;

use super::header::{Corruption, DigestMismatch, Expected, HeaderLayout, VerifyHeader};
use super::method::{Digest, Method};

/// Why an interval cannot hold its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// The interval is shorter than the header and the digest.
    #[error(
        "an interval of {length} bytes is too short for the header and digest of {needed} bytes. To fix: increase \
         verify_interval or the block size"
    )]
    TooShort {
        /// Length of the interval in bytes.
        length: usize,
        /// Length of the header and the digest in bytes.
        needed: usize,
    },
    /// `verify_offset` is within the header, or too close to the end of the interval.
    #[error(
        "verify_offset={offset} is outside of {low} to {high}; the header and digest would lose bytes"
    )]
    Offset {
        /// `verify_offset` in bytes.
        offset: usize,
        /// Smallest offset that loses nothing, other than 0.
        low: usize,
        /// Largest offset that loses nothing.
        high: usize,
    },
}

/// The interval of a job in bytes. `configured` is `verify_interval`; `smallest` and `largest` are the sizes of
/// its writes. With `bs_unaligned` each write is one interval, so this function is not used.
///
/// The default is the smallest write, and no interval is longer. An interval that does not divide both sizes is
/// replaced by their greatest common divisor.
#[must_use]
pub fn length(configured: Option<u32>, smallest: u32, largest: u32) -> u32 {
    let interval = configured.unwrap_or(smallest).min(smallest);
    let divides = |size: u32| size.is_multiple_of(interval);
    if interval > 0 && divides(smallest) && divides(largest) {
        return interval;
    }
    common_divisor(smallest, largest)
}

/// Bytes that the header and the digest take.
#[must_use]
pub fn header_and_digest(layout: HeaderLayout, method: Method) -> usize {
    layout.header_length() + method.digest_length()
}

/// Exchanges the header and digest, `taken` bytes at the start of `interval`, with the bytes at `offset`
/// (`verify_offset`). The second exchange undoes the first. An offset of 0 changes nothing.
///
/// # Errors
/// The two ranges overlap, or the second exceeds the interval. fio corrupts the block in these cases.
pub fn exchange(interval: &mut [u8], taken: usize, offset: usize) -> Result<(), IntervalError> {
    if offset == 0 {
        return Ok(());
    }
    let high = interval.len().saturating_sub(taken);
    if offset < taken || offset > high {
        return Err(IntervalError::Offset { offset, low: taken, high });
    }
    let (start, rest) = interval.split_at_mut(offset);
    start[..taken].swap_with_slice(&mut rest[..taken]);
    Ok(())
}

/// Writes the header and the digest over the start of an interval that holds its body.
///
/// # Errors
/// The interval is too short for both.
pub fn seal(interval: &mut [u8], header: &VerifyHeader) -> Result<(), IntervalError> {
    seal_with(interval, header, None)
}

/// [`seal`] with a digest of the data after it that the caller has computed.
pub(super) fn seal_with(
    interval: &mut [u8],
    header: &VerifyHeader,
    digest: Option<Digest>,
) -> Result<(), IntervalError> {
    let start = header.layout.header_length();
    let needed = header_and_digest(header.layout, header.method);
    let length = interval.len();
    let too_short = IntervalError::TooShort { length, needed };
    let data = interval.get(needed..).ok_or(too_short)?;
    if start < needed {
        let digest = digest.unwrap_or_else(|| header.method.digest(data));
        interval[start..needed].copy_from_slice(digest.as_bytes());
    }
    header.write(interval).map_err(|_| too_short)?;
    Ok(())
}

/// Checks an interval as fio does: the header, then the digest of `method`, whatever the header says.
///
/// # Errors
/// The first difference.
pub fn check(
    interval: &[u8],
    method: Method,
    expected: &Expected,
) -> Result<VerifyHeader, Corruption> {
    let header = VerifyHeader::check(interval, expected)?;
    let start = header.layout.header_length();
    let needed = header_and_digest(header.layout, method);
    let found = interval.len();
    let data = interval.get(needed..).ok_or(Corruption::Truncated { expected: needed, found })?;
    let stored = &interval[start..needed];
    if method.matches(data, stored) {
        return Ok(header);
    }
    let (expected, found) = (method.digest(data), Digest::new(stored));
    Err(Corruption::Digest(Box::new(DigestMismatch { expected, found })))
}
