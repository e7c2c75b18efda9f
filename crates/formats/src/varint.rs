//! Integers in as few bytes as they need: seven bits a byte, the lowest first; the highest bit of a byte says
//! that another one follows (LEB128).

/// Why bytes are not an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VarintError {
    /// The bytes end within the integer.
    #[error("the bytes end within an integer")]
    Truncated,
    /// The integer has more than 64 bits.
    #[error("an integer has more than 64 bits")]
    TooLarge,
}

/// Appends an integer: one byte below 128, ten bytes for the largest.
pub fn put(value: u64, out: &mut Vec<u8>) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Removes an integer from the front of `bytes`.
///
/// # Errors
/// The bytes end within the integer, or it has more than 64 bits.
pub fn take(bytes: &mut &[u8]) -> Result<u64, VarintError> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(VarintError::Truncated)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(VarintError::TooLarge);
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(VarintError::TooLarge)
}

/// Maps integers that are small in either direction to small unsigned ones: 0, -1, 1, -2 … to 0, 1, 2, 3 …
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The inverse of [`zigzag`].
#[must_use]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_integer_of_more_than_64_bits_is_refused() {
        let all = [0xff; 9];
        assert_eq!(take(&mut [&all[..], &[1]].concat().as_slice()), Ok(u64::MAX));
        assert_eq!(take(&mut [&all[..], &[2]].concat().as_slice()), Err(VarintError::TooLarge));
        assert_eq!(take(&mut &[0xff; 11][..]), Err(VarintError::TooLarge));
        assert_eq!(take(&mut &all[..]), Err(VarintError::Truncated));
    }

    proptest! {
        #[test]
        fn integers_are_read_as_they_were_written(value: u64, signed: i64) {
            let mut bytes = Vec::new();
            put(value, &mut bytes);
            bytes.push(9);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take(&mut rest), Ok(value));
            prop_assert_eq!(rest, &[9]);
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }
}
