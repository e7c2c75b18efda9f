//! Exact fractions, so that `(1.5*1m)` and `(10/4*2)` come out as written.

/// A fraction in lowest terms with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rational {
    num: i128,
    den: i128,
}

impl Rational {
    /// `num/den`; `None` for a zero denominator or where the terms do not fit.
    pub fn new(num: i128, den: i128) -> Option<Self> {
        let (num, den) =
            if den < 0 { (num.checked_neg()?, den.checked_neg()?) } else { (num, den) };
        if den == 0 {
            return None;
        }
        let g = gcd(num.unsigned_abs(), den.unsigned_abs());
        let g = i128::try_from(g).ok()?;
        Some(Rational { num: num / g, den: den / g })
    }
    /// A whole number.
    pub const fn whole(num: i128) -> Self {
        Rational { num, den: 1 }
    }
    /// Whether there is no fraction.
    pub fn is_whole(self) -> bool {
        self.den == 1
    }
    /// The next whole number below or at it.
    pub fn floor(self) -> i128 {
        self.num.div_euclid(self.den)
    }
    /// The nearest floating point number.
    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
    /// The same, the other side of zero. The smallest `i128` saturates.
    pub fn negated(self) -> Self {
        Rational { num: self.num.saturating_neg(), den: self.den }
    }
    /// Sum.
    pub fn checked_add(self, o: Self) -> Option<Self> {
        let a = self.num.checked_mul(o.den)?;
        let b = o.num.checked_mul(self.den)?;
        Rational::new(a.checked_add(b)?, self.den.checked_mul(o.den)?)
    }
    /// Difference.
    pub fn checked_sub(self, o: Self) -> Option<Self> {
        self.checked_add(o.negated())
    }
    /// Product.
    pub fn checked_mul(self, o: Self) -> Option<Self> {
        Rational::new(self.num.checked_mul(o.num)?, self.den.checked_mul(o.den)?)
    }
    /// Quotient; `None` by zero.
    pub fn checked_div(self, o: Self) -> Option<Self> {
        Rational::new(self.num.checked_mul(o.den)?, self.den.checked_mul(o.num)?)
    }
    /// Whole power; `None` for a fractional exponent or where the result does not fit.
    pub fn checked_pow(self, exponent: Self) -> Option<Self> {
        if !exponent.is_whole() {
            return None;
        }
        let e = u32::try_from(exponent.num.unsigned_abs()).ok()?;
        let (num, den) = (self.num.checked_pow(e)?, self.den.checked_pow(e)?);
        if exponent.num < 0 { Rational::new(den, num) } else { Rational::new(num, den) }
    }
    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.num == 0
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
