//! `randseed`.

use crate::number;
use crate::option::def::Unit;
use crate::option::value::{Bases, ValueError};

/// Parses a 64-bit seed. Negative numbers are converted in two's complement.
///
/// # Errors
/// The text is not a whole number, or does not fit in 64 bits.
pub fn seed(text: &str, bases: &Bases) -> Result<u64, ValueError> {
    let value = number::integer(text, Unit::Count, bases)?;
    let fits = u64::try_from(value).is_ok() || i64::try_from(value).is_ok();
    if fits { Ok(value as u64) } else { Err(number::literal::too_large(text.trim())) }
}
