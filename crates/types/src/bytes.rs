//! Amounts of data.

use std::fmt;

use crate::quantity::quantity;

/// A number of bytes: a size, a length, an offset or an amount of data moved.
///
/// A number of bytes does not mix with other numbers:
///
/// ```compile_fail
/// use fiord_types::Bytes;
/// let wrong = Bytes::from_kib(4) + 512;
/// ```
///
/// The operators are those of `u64`; `saturating_*` and `checked_*` are for values that may not fit. `Display`
/// writes the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Bytes(pub u64);

quantity!(Bytes, "No bytes.", "The largest number of bytes.");

impl Bytes {
    /// Units of 1024 bytes; at most [`Bytes::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_kib(kib: u64) -> Bytes {
        Bytes(kib.saturating_mul(1 << 10))
    }
    /// Units of 1024 KiB; at most [`Bytes::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_mib(mib: u64) -> Bytes {
        Bytes(mib.saturating_mul(1 << 20))
    }
    /// Units of 1024 MiB; at most [`Bytes::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_gib(gib: u64) -> Bytes {
        Bytes(gib.saturating_mul(1 << 30))
    }
    /// Sectors of 512 bytes, the unit of the kernel; at most [`Bytes::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_sectors(sectors: u64) -> Bytes {
        Bytes(sectors.saturating_mul(512))
    }
    /// Whole KiB, rounded down.
    #[inline]
    #[must_use]
    pub const fn as_kib(self) -> u64 {
        self.0 >> 10
    }
    /// Whole MiB, rounded down.
    #[inline]
    #[must_use]
    pub const fn as_mib(self) -> u64 {
        self.0 >> 20
    }
    /// Whole sectors of 512 bytes, rounded down.
    #[inline]
    #[must_use]
    pub const fn as_sectors(self) -> u64 {
        self.0 / 512
    }
}

/// Lengths of single I/Os have 32 bits.
impl From<u32> for Bytes {
    #[inline]
    fn from(bytes: u32) -> Bytes {
        Bytes(bytes.into())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_convert_and_never_overflow() {
        assert_eq!(Bytes::from_kib(1), Bytes::from_sectors(2));
        assert_eq!(Bytes::from_gib(1), Bytes::from_mib(1024));
        assert_eq!(Bytes::from_kib(u64::MAX), Bytes::MAX);
        assert_eq!((Bytes(2047).as_kib(), Bytes(2047).as_sectors()), (1, 3));
        assert_eq!(Bytes::from_mib(3).as_mib(), 3);
    }

    #[test]
    fn display_writes_the_number() {
        assert_eq!(format!("{:>6}", Bytes(4096)), "  4096");
    }
}
