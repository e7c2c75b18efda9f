//! `fiord zones`: shows, resets, finishes, opens and closes the zones of a device.
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | which zones does a RANGE name | [`range`] |
//! | how many zones are in each state, and how much data do they hold | [`summary`] |
//! | how are zones shown | [`table`], [`json`] |
//! | which zones does an action change, and which data does it destroy | [`change`] |
//! | is a device in use | [`in_use`] |
//! | how does the user confirm | [`consent`] |
//! | how is a number of bytes formatted | [`size`] |

pub mod args;
pub mod change;
pub mod consent;
pub mod in_use;
pub mod json;
pub mod range;
mod run;
pub mod size;
pub mod summary;
pub mod table;

#[cfg(test)]
mod tests;

pub use args::Args;
pub use run::{Session, explain, run};
