//! Exact fractions, so that `(1.5*1m)` and `(10/4*2)` are computed without rounding errors.

use fiord_types::common_divisor;

/// A fraction in lowest terms with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rational {
    num: i128,
    den: i128,
}

impl Rational {
    /// Creates `num/den`. `None` if the denominator is zero or a term overflows.
    #[must_use]
    pub fn new(num: i128, den: i128) -> Option<Self> {
        let (num, den) =
            if den < 0 { (num.checked_neg()?, den.checked_neg()?) } else { (num, den) };
        if den == 0 {
            return None;
        }
        let g = common_divisor(num.unsigned_abs(), den.unsigned_abs());
        let g = i128::try_from(g).ok()?;
        Some(Rational { num: num / g, den: den / g })
    }
    /// Creates a whole number.
    #[must_use]
    pub const fn whole(num: i128) -> Self {
        Rational { num, den: 1 }
    }
    /// Whether this is a whole number.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.den == 1
    }
    /// The largest whole number that is not above this fraction.
    #[must_use]
    pub fn floor(self) -> i128 {
        self.num.div_euclid(self.den)
    }
    /// The nearest floating point number.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
    /// The fraction with the opposite sign. The smallest `i128` saturates.
    #[must_use]
    pub fn negated(self) -> Self {
        Rational { num: self.num.saturating_neg(), den: self.den }
    }
    /// The sum. `None` on overflow.
    #[must_use]
    pub fn checked_add(self, o: Self) -> Option<Self> {
        let a = self.num.checked_mul(o.den)?;
        let b = o.num.checked_mul(self.den)?;
        Rational::new(a.checked_add(b)?, self.den.checked_mul(o.den)?)
    }
    /// The difference. `None` on overflow.
    #[must_use]
    pub fn checked_sub(self, o: Self) -> Option<Self> {
        self.checked_add(o.negated())
    }
    /// The product. `None` on overflow.
    #[must_use]
    pub fn checked_mul(self, o: Self) -> Option<Self> {
        Rational::new(self.num.checked_mul(o.num)?, self.den.checked_mul(o.den)?)
    }
    /// The quotient. `None` for division by zero and on overflow.
    #[must_use]
    pub fn checked_div(self, o: Self) -> Option<Self> {
        Rational::new(self.num.checked_mul(o.den)?, self.den.checked_mul(o.num)?)
    }
    /// The power. `None` for a fractional exponent and on overflow.
    #[must_use]
    pub fn checked_pow(self, exponent: Self) -> Option<Self> {
        if !exponent.is_whole() {
            return None;
        }
        let e = u32::try_from(exponent.num.unsigned_abs()).ok()?;
        let (num, den) = (self.num.checked_pow(e)?, self.den.checked_pow(e)?);
        if exponent.num < 0 { Rational::new(den, num) } else { Rational::new(num, den) }
    }
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.num == 0
    }
}
