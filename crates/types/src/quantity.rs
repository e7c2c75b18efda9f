//! The arithmetic that [`Bytes`](crate::Bytes) and [`Nanos`](crate::Nanos) have in common.
//!
//! A quantity behaves as the `u64` that it holds. The operators `+`, `-` and `*` are those of the integer: they panic
//! on overflow in debug builds and wrap in release builds, so use them where the result fits by construction.
//! `saturating_*` stops at the ends of the range: use it for values that users and devices set. `checked_*` reports an
//! overflow. Two quantities of one kind add up to a third; a quantity times a number is a quantity; a quantity divided
//! by a quantity is a number.

/// Defines the constants, the arithmetic and the operators of a type that holds a `u64`.
macro_rules! quantity {
    ($Quantity:ident, $zero:literal, $max:literal) => {
        impl $Quantity {
            #[doc = $zero]
            pub const ZERO: $Quantity = $Quantity(0);
            #[doc = $max]
            pub const MAX: $Quantity = $Quantity(u64::MAX);

            /// The sum, at most `MAX`.
            #[inline]
            #[must_use]
            pub const fn saturating_add(self, other: $Quantity) -> $Quantity {
                $Quantity(self.0.saturating_add(other.0))
            }
            /// The difference; zero if `other` is larger.
            #[inline]
            #[must_use]
            pub const fn saturating_sub(self, other: $Quantity) -> $Quantity {
                $Quantity(self.0.saturating_sub(other.0))
            }
            /// The product, at most `MAX`.
            #[inline]
            #[must_use]
            pub const fn saturating_mul(self, times: u64) -> $Quantity {
                $Quantity(self.0.saturating_mul(times))
            }
            /// The sum; `None` if it is more than `MAX`.
            #[inline]
            #[must_use]
            pub const fn checked_add(self, other: $Quantity) -> Option<$Quantity> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some($Quantity(sum)),
                    None => None,
                }
            }
            /// The difference; `None` if `other` is larger.
            #[inline]
            #[must_use]
            pub const fn checked_sub(self, other: $Quantity) -> Option<$Quantity> {
                match self.0.checked_sub(other.0) {
                    Some(difference) => Some($Quantity(difference)),
                    None => None,
                }
            }
            /// How often `part` fits, rounded down; `None` if `part` is zero.
            #[inline]
            #[must_use]
            pub const fn checked_div(self, part: $Quantity) -> Option<u64> {
                self.0.checked_div(part.0)
            }
            /// How many parts of this size cover the whole: the quotient, rounded up.
            #[inline]
            #[must_use]
            pub const fn div_ceil(self, part: $Quantity) -> u64 {
                self.0.div_ceil(part.0)
            }
            /// Whether `part` fits without a remainder. Zero is the only multiple of zero.
            #[inline]
            #[must_use]
            pub const fn is_multiple_of(self, part: $Quantity) -> bool {
                self.0.is_multiple_of(part.0)
            }
            /// Rounds up to a multiple of `part`, which is not zero; at most `MAX`.
            #[inline]
            #[must_use]
            pub const fn round_up(self, part: $Quantity) -> $Quantity {
                match self.0.checked_next_multiple_of(part.0) {
                    Some(multiple) => $Quantity(multiple),
                    None => $Quantity::MAX,
                }
            }
            /// Rounds down to a multiple of `part`, which is not zero.
            #[inline]
            #[must_use]
            pub const fn round_down(self, part: $Quantity) -> $Quantity {
                $Quantity(self.0 - self.0 % part.0)
            }
            /// The distance between two values.
            #[inline]
            #[must_use]
            pub const fn abs_diff(self, other: $Quantity) -> $Quantity {
                $Quantity(self.0.abs_diff(other.0))
            }
            /// The number for calculations with floating point.
            #[inline]
            #[must_use]
            pub const fn as_f64(self) -> f64 {
                self.0 as f64
            }
        }

        impl std::ops::Add for $Quantity {
            type Output = $Quantity;
            #[inline]
            fn add(self, other: $Quantity) -> $Quantity {
                $Quantity(self.0 + other.0)
            }
        }

        impl std::ops::AddAssign for $Quantity {
            #[inline]
            fn add_assign(&mut self, other: $Quantity) {
                self.0 += other.0;
            }
        }

        impl std::ops::Sub for $Quantity {
            type Output = $Quantity;
            #[inline]
            fn sub(self, other: $Quantity) -> $Quantity {
                $Quantity(self.0 - other.0)
            }
        }

        impl std::ops::SubAssign for $Quantity {
            #[inline]
            fn sub_assign(&mut self, other: $Quantity) {
                self.0 -= other.0;
            }
        }

        impl std::ops::Mul<u64> for $Quantity {
            type Output = $Quantity;
            #[inline]
            fn mul(self, times: u64) -> $Quantity {
                $Quantity(self.0 * times)
            }
        }

        impl std::ops::Div<u64> for $Quantity {
            type Output = $Quantity;
            #[inline]
            fn div(self, parts: u64) -> $Quantity {
                $Quantity(self.0 / parts)
            }
        }

        /// How often a part fits, rounded down.
        impl std::ops::Div for $Quantity {
            type Output = u64;
            #[inline]
            fn div(self, part: $Quantity) -> u64 {
                self.0 / part.0
            }
        }

        impl std::ops::Rem for $Quantity {
            type Output = $Quantity;
            #[inline]
            fn rem(self, part: $Quantity) -> $Quantity {
                $Quantity(self.0 % part.0)
            }
        }

        impl std::iter::Sum for $Quantity {
            fn sum<I: Iterator<Item = $Quantity>>(parts: I) -> $Quantity {
                parts.fold($Quantity::ZERO, std::ops::Add::add)
            }
        }
    };
}
pub(crate) use quantity;

#[cfg(test)]
mod tests {
    use crate::{Bytes, Nanos};

    #[test]
    fn operators_are_those_of_integers() {
        let mut total = Bytes(4096) + Bytes(4) - Bytes(1);
        total -= Bytes(3);
        total += Bytes(4) * 2;
        assert_eq!(total, Bytes(4104));
        assert_eq!(Nanos(4100) / Nanos(512), 8);
        assert_eq!(Nanos(4100) % Nanos(512), Nanos(4));
        assert_eq!(Bytes(4100) / 2, Bytes(2050));
        assert_eq!([Bytes(1), Bytes(2)].into_iter().sum::<Bytes>(), Bytes(3));
        assert_eq!(Nanos(3).abs_diff(Nanos(5)), Nanos(2));
    }

    #[test]
    fn overflow_is_saturated_or_reported() {
        assert_eq!(Bytes(1).saturating_sub(Bytes(2)), Bytes::ZERO);
        assert_eq!(Nanos::MAX.saturating_add(Nanos(1)), Nanos::MAX);
        assert_eq!(Nanos::MAX.saturating_mul(2), Nanos::MAX);
        assert_eq!(Bytes::MAX.checked_add(Bytes(1)), None);
        assert_eq!(Bytes(1).checked_sub(Bytes(2)), None);
        assert_eq!(Bytes(1).checked_div(Bytes::ZERO), None);
    }

    #[test]
    fn multiples() {
        assert!(
            Bytes(8192).is_multiple_of(Bytes(4096)) && !Bytes(8193).is_multiple_of(Bytes(4096))
        );
        assert!(Bytes::ZERO.is_multiple_of(Bytes::ZERO) && !Bytes(1).is_multiple_of(Bytes::ZERO));
        assert_eq!(Bytes(4097).round_up(Bytes(4096)), Bytes(8192));
        assert_eq!(Bytes(4097).round_down(Bytes(4096)), Bytes(4096));
        assert_eq!(Bytes::MAX.round_up(Bytes(4096)), Bytes::MAX);
        assert_eq!(Bytes(4097).div_ceil(Bytes(4096)), 2);
    }
}
