//! Amounts of data.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Rem, Sub};

/// A number of bytes: a size, a length, an offset or an amount of data moved.
///
/// It does not mix with other numbers:
///
/// ```compile_fail
/// use fiord_types::Bytes;
/// let wrong = Bytes::from_kib(4) + 512;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest number of bytes.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// Units of 1024 bytes; at most [`Bytes::MAX`].
    #[inline]
    pub const fn from_kib(kib: u64) -> Bytes {
        Bytes(kib.saturating_mul(1024))
    }
    /// Sectors of 512 bytes, the unit of the kernel; at most [`Bytes::MAX`].
    #[inline]
    pub const fn from_sectors(sectors: u64) -> Bytes {
        Bytes(sectors.saturating_mul(512))
    }
    /// The sum, at most [`Bytes::MAX`].
    #[inline]
    pub const fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
    /// The difference; zero if `other` is larger.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
    /// The product, at most [`Bytes::MAX`].
    #[inline]
    pub const fn saturating_mul(self, times: u64) -> Bytes {
        Bytes(self.0.saturating_mul(times))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl Div<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn div(self, parts: u64) -> Bytes {
        Bytes(self.0 / parts)
    }
}

/// How often a size fits, rounded down.
impl Div for Bytes {
    type Output = u64;
    #[inline]
    fn div(self, part: Bytes) -> u64 {
        self.0 / part.0
    }
}

impl Rem for Bytes {
    type Output = Bytes;
    #[inline]
    fn rem(self, part: Bytes) -> Bytes {
        Bytes(self.0 % part.0)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(sizes: I) -> Bytes {
        sizes.fold(Bytes::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_convert_and_never_overflow() {
        assert_eq!(Bytes::from_kib(1), Bytes::from_sectors(2));
        assert_eq!(Bytes::from_kib(u64::MAX), Bytes::MAX);
        assert_eq!(Bytes(1).saturating_sub(Bytes(2)), Bytes::ZERO);
        assert_eq!(Bytes::MAX.saturating_add(Bytes(1)), Bytes::MAX);
    }

    #[test]
    fn a_size_fits_a_number_of_times() {
        assert_eq!(Bytes(4100) / Bytes(512), 8);
        assert_eq!(Bytes(4100) % Bytes(512), Bytes(4));
        assert_eq!([Bytes(1), Bytes(2)].into_iter().sum::<Bytes>(), Bytes(3));
    }
}
