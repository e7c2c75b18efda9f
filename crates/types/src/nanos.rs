//! Spans of time.

use crate::quantity::quantity;

/// A time or a duration in nanoseconds.
///
/// A time does not mix with other numbers:
///
/// ```compile_fail
/// use fiord_types::Nanos;
/// let wrong = Nanos::from_secs(1) + 500;
/// ```
///
/// The operators are those of `u64`; `saturating_*` and `checked_*` are for values that may not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Nanos(pub u64);

quantity!(Nanos, "No time.", "The longest time, for \"never\".");

impl Nanos {
    /// Seconds; at most [`Nanos::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }
    /// Milliseconds; at most [`Nanos::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }
    /// Microseconds; at most [`Nanos::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1000))
    }
    /// Whole seconds, rounded down.
    #[inline]
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }
    /// Whole milliseconds, rounded down.
    #[inline]
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Whole microseconds, rounded down.
    #[inline]
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1000
    }
    /// Seconds with decimals.
    #[inline]
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_convert_and_never_overflow() {
        assert_eq!(Nanos::from_secs(2), Nanos::from_millis(2000));
        assert_eq!(Nanos::from_micros(1500).as_millis(), 1);
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
    }
}
