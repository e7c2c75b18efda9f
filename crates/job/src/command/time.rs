//! Times on the command line.

use crate::number;
use crate::option::def::Unit;
use crate::option::value::ValueError;

/// Parses a time; a number without a unit is in seconds. Returns nanoseconds.
pub(super) fn time(text: &str) -> Result<u64, ValueError> {
    number::nanos(text, Unit::Seconds)
}

/// Parses a time above 0. Returns nanoseconds.
pub(super) fn interval(text: &str) -> Result<u64, ValueError> {
    match time(text)? {
        0 => Err(ValueError::new("the interval must not be 0")
            .with_help("To fix: write a time above 0, or leave out the option")),
        ns => Ok(ns),
    }
}
