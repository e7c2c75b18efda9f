//! `fiord zones`: what zones a device has, and resets, finishes, opens and closes of them.
//!
//! | question | module |
//! |---|---|
//! | what may be said on the command line | [`args`] |
//! | which zones does a RANGE name | [`range`] |
//! | how many zones are in which state, and what do they hold | [`summary`] |
//! | how are zones shown | [`table`], [`json`] |
//! | which zones does a change touch, and what is lost by it | [`change`] |
//! | why must a device be left alone | [`in_use`] |
//! | how is the user asked | [`consent`] |
//! | how is a number of bytes written | [`size`] |

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
