//! Sorting in small code.
//!
//! The sort of the standard library is fast, and takes 4 KB of the program for each type and order. These functions sort
//! a list of positions, which is compiled once, and then swap the values into their places. Use them where a list has at
//! most some thousand values and is sorted now and then, not once for each I/O.

use std::cmp::Ordering;

/// Sorts values in ascending order. Equal values keep their order.
///
/// ```
/// let mut names = vec!["sdb", "nvme0n1", "sda"];
/// fiord_types::sort::ascending(&mut names);
/// assert_eq!(names, ["nvme0n1", "sda", "sdb"]);
/// ```
pub fn ascending<T: Ord>(values: &mut [T]) {
    by(values, T::cmp);
}

/// Sorts values by a key, like [`slice::sort_by_key`].
///
/// ```
/// let mut sizes = vec![("b", 4096), ("a", 512)];
/// fiord_types::sort::by_key(&mut sizes, |(_, size)| *size);
/// assert_eq!(sizes, [("a", 512), ("b", 4096)]);
/// ```
pub fn by_key<T, K: Ord>(values: &mut [T], mut key: impl FnMut(&T) -> K) {
    by(values, |a, b| key(a).cmp(&key(b)));
}

/// Sorts values with a function that compares two of them, like [`slice::sort_by`].
///
/// ```
/// let mut ratios = vec![1.5, 0.5];
/// fiord_types::sort::by(&mut ratios, f64::total_cmp);
/// assert_eq!(ratios, [0.5, 1.5]);
/// ```
pub fn by<T>(values: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut order = order(values.len(), &mut |a, b| compare(&values[a], &values[b]));
    for first in 0..order.len() {
        // The places whose values move in a circle: each takes the value of the next one.
        let mut place = first;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == first {
                break;
            }
            values.swap(place, from);
            place = from;
        }
    }
}

/// The positions of `len` values in sorted order. `compare` compares the values at two positions.
fn order(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_small_lists_are_sorted_as_the_standard_library_does() {
        // All lists of up to 5 values of which some are equal. The position shows whether equal values keep their order.
        for len in 0..=5_u32 {
            for number in 0..4_u32.pow(len) {
                let digit = |at: u32| (number / 4_u32.pow(at) % 4, at);
                let mut values: Vec<(u32, u32)> = (0..len).map(digit).collect();
                let mut expected = values.clone();
                expected.sort_by_key(|(value, _)| *value);
                by_key(&mut values, |(value, _)| *value);
                assert_eq!(values, expected);
                expected.sort_by(|a, b| b.cmp(a));
                by(&mut values, |a, b| b.cmp(a));
                assert_eq!(values, expected);
                expected.sort();
                ascending(&mut values);
                assert_eq!(values, expected);
            }
        }
    }

    #[test]
    fn a_long_list_is_sorted() {
        let mut values: Vec<u64> =
            (0..10_000).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        ascending(&mut values);
        assert_eq!(values, expected);
    }
}
