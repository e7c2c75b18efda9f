//! `randseed`.

use crate::number;
use crate::option::def::Unit;
use crate::option::value::{Bases, Value, ValueError};

/// A seed of 64 bits; negative numbers are taken in two's complement.
pub fn seed(text: &str, bases: &Bases) -> Result<Value, ValueError> {
    let value = number::integer(text, Unit::Count, bases)?;
    let fits = u64::try_from(value).is_ok() || i64::try_from(value).is_ok();
    if fits {
        Ok(Value::Int(i128::from(value as u64)))
    } else {
        Err(number::too_large(text.trim()))
    }
}
