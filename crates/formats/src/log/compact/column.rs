//! Columns of integers: groups of values, each as its distance from the smallest one in as few bits as the group needs.

use crate::varint;

/// Values of a group.
const GROUP: usize = 128;

/// Appends a column.
pub(super) fn put(values: impl ExactSizeIterator<Item = u64>, out: &mut Vec<u8>) {
    let mut values = values.fuse();
    let mut group = [0; GROUP];
    while values.len() > 0 {
        let count = values.len().min(GROUP);
        for (place, value) in group[..count].iter_mut().zip(&mut values) {
            *place = value;
        }
        put_group(&mut group[..count], out);
    }
}

fn put_group(group: &mut [u64], out: &mut Vec<u8>) {
    let least = group.iter().copied().min().unwrap_or_default();
    let mut used = 0;
    for value in &mut *group {
        *value -= least;
        used |= *value;
    }
    varint::put(least, out);
    let Some(highest) = used.checked_ilog2() else {
        out.push(0);
        return;
    };
    let shift = used.trailing_zeros();
    let width = highest + 1 - shift;
    out.extend_from_slice(&[width as u8, shift as u8]);
    let (mut waiting, mut bits) = (0u128, 0);
    for value in group {
        waiting |= u128::from(*value >> shift) << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&(waiting as u64).to_le_bytes());
            waiting >>= 64;
            bits -= 64;
        }
    }
    out.extend_from_slice(&waiting.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// Removes a column of `count` values from the front of `bytes`; `None` if it is not one.
pub(super) fn take(bytes: &mut &[u8], count: usize) -> Option<Vec<u64>> {
    // Each group takes at least two bytes, so the input bounds the memory.
    if bytes.len() < 2 * count.div_ceil(GROUP) {
        return None;
    }
    let mut values = Vec::with_capacity(count);
    while values.len() < count {
        take_group(bytes, (count - values.len()).min(GROUP), &mut values)?;
    }
    Some(values)
}

fn take_group(bytes: &mut &[u8], count: usize, values: &mut Vec<u64>) -> Option<()> {
    let least = varint::take(bytes).ok()?;
    let width = u32::from(*bytes.split_off_first()?);
    if width == 0 {
        values.resize(values.len() + count, least);
        return Some(());
    }
    let shift = u32::from(*bytes.split_off_first()?);
    if width + shift > 64 {
        return None;
    }
    let mut packed = bytes.split_off(..(count * width as usize).div_ceil(8))?;
    let mask = u64::MAX >> (64 - width);
    let (mut waiting, mut bits) = (0u128, 0);
    for _ in 0..count {
        if bits < width {
            let (word, read) = match packed.split_first_chunk() {
                Some((word, rest)) => {
                    packed = rest;
                    (u64::from_le_bytes(*word), 64)
                }
                None => {
                    let mut word = [0; 8];
                    word[..packed.len()].copy_from_slice(packed);
                    (u64::from_le_bytes(word), 8 * std::mem::take(&mut packed).len() as u32)
                }
            };
            waiting |= u128::from(word) << bits;
            bits += read;
        }
        let distance = (waiting as u64 & mask) << shift;
        values.push(least.checked_add(distance)?);
        waiting >>= width;
        bits = bits.checked_sub(width)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(values: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(values.iter().copied(), &mut bytes);
        bytes
    }

    #[test]
    fn equal_values_take_no_bits_and_aligned_ones_no_zeros() {
        assert_eq!(bytes_of(&[7; 128]), [7, 0]);
        assert_eq!(bytes_of(&[4096, 12288, 8192, 4096]), [128, 32, 2, 12, 0b01_10_00]);
        // 28 bits of a terabyte in blocks of 4 KiB.
        let offsets: Vec<u64> = (0..128).map(|i| (i * 7919 % 268_435_456) << 12).collect();
        assert!(bytes_of(&offsets).len() < 128 * 7 / 2 + 8);
    }

    #[test]
    fn wrong_columns_are_refused() {
        assert_eq!(take(&mut &[1, 65, 0, 0][..], 1), None, "a width of 65 bits");
        assert_eq!(
            take(&mut &[1, 60, 5, 0, 0, 0, 0, 0, 0, 0, 0][..], 1),
            None,
            "65 bits with the shift"
        );
        assert_eq!(take(&mut &[1, 8, 0][..], 1), None, "truncated");
        assert_eq!(take(&mut &[][..], usize::MAX), None, "no memory is allocated");
        let overflow = [&[0xff; 9][..], &[1, 1, 0, 1]].concat();
        assert_eq!(take(&mut &*overflow, 1), None, "above 64 bits");
    }

    proptest! {
        #[test]
        fn columns_are_read_as_they_were_written(
            values in prop::collection::vec(any::<u64>(), 0..300), shift in 0u32..64, least: u64,
        ) {
            let values: Vec<u64> =
                values.iter().map(|v| (v >> shift).saturating_add(least >> 2)).collect();
            let mut bytes = bytes_of(&values);
            bytes.push(9);
            let mut rest = &*bytes;
            prop_assert_eq!(take(&mut rest, values.len()), Some(values));
            prop_assert_eq!(rest, &[9]);
        }
    }
}
