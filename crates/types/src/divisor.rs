//! The greatest common divisor.

use std::ops::Rem;

/// The greatest common divisor of two numbers or amounts that are not negative. Every number divides 0, so
/// `common_divisor(0, n)` is `n`.
///
/// ```
/// use fiord_types::{Bytes, common_divisor};
///
/// assert_eq!(common_divisor(12, 18), 6);
/// assert_eq!(common_divisor(Bytes::ZERO, Bytes(512)), Bytes(512));
/// ```
#[must_use]
pub fn common_divisor<T>(mut a: T, mut b: T) -> T
where
    T: Copy + Default + PartialEq + Rem<Output = T>,
{
    while b != T::default() {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_that_divides_both() {
        for (a, b, divisor) in [(0u32, 0, 0), (7, 0, 7), (4096, 1536, 512), (9, 28, 1)] {
            assert_eq!((common_divisor(a, b), common_divisor(b, a)), (divisor, divisor));
        }
    }
}
