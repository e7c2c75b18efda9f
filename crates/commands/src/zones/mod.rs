//! `fiord zones`: shows, resets, finishes, opens and closes the zones of a device.
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | which zones does a RANGE name | [`range`] |
//! | how many zones are in each state, and how much data do they hold | [`summary`] |
//! | how are zones shown | [`table`], [`json`] |
//! | which zones does an action change, and which data does it destroy | [`change`] |

pub mod args;
pub mod change;
mod error;
pub mod json;
pub mod range;
mod run;
pub mod summary;
pub mod table;

#[cfg(test)]
mod tests;

pub use args::ZonesArgs;
pub use error::ZonesError;
pub use run::{open, run};
