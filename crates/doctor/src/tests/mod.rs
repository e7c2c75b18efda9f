//! Helpers for the unit tests of the checks.

pub(crate) mod drives;
pub(crate) mod fixture;
pub(crate) mod hosts;
