//! `fiord suite`: sets of runs on a device that answer one question.
//!
//! | question | module |
//! |---|---|
//! | which suites are there | [`catalogue`] |
//! | what is a suite made of | [`definition`] |
//! | the suites of zoned devices | [`zbd`] |
//! | what may be said on the command line | [`args`] |
//! | what is the device that a suite is scaled to | [`device`] |
//! | in what order are things done, and what is asked | [`drive`] |
//! | what does a run's JSON say | [`row`] |
//! | how are the results shown | [`table`] |
//!
//! # Adding a suite
//!
//! [`zbd::randread`] is a small one to copy: a [`Definition`](definition::Definition) with a name, a
//! sentence, its axes, and a function that makes the steps for a device, each a job file; then a line
//! in [`catalogue::all`]. Runs, resumption, questions, tables and JSON come from here.

pub mod args;
pub mod catalogue;
pub mod definition;
pub mod device;
pub mod drive;
pub mod row;
pub mod table;
pub mod zbd;

#[cfg(test)]
mod tests;

pub use args::Args;
pub use drive::{Session, run};
