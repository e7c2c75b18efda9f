//! `fiord suite`: sets of runs on a device that answer one question.
//!
//! | question | module |
//! |---|---|
//! | which suites exist | [`catalogue`] |
//! | which types define a suite | [`definition`] |
//! | which suites exist for zoned devices | [`zbd`] |
//! | what does the command line accept | [`args`] |
//! | which properties of the device do suites use | [`device`] |
//! | in what order do steps run, and what must the user confirm | [`drive`] |
//! | which results does the JSON of a run contain | [`row`] |
//! | how are results formatted | [`table`] |
//!
//! # Adding a suite
//!
//! [`zbd::randread`] is a small suite to copy: a [`Definition`](definition::Definition) with a
//! name, a description, axes, and a function that builds the steps for a device, each with a job
//! file. List the suite in [`catalogue::all`]. This module provides runs, resumption, questions,
//! tables and JSON.

pub mod args;
pub mod catalogue;
pub mod definition;
pub mod device;
pub mod drive;
mod error;
mod job_options;
pub mod row;
pub mod table;
pub mod zbd;

#[cfg(test)]
mod tests;

pub use args::SuiteArgs;
pub use drive::run;
pub use error::SuiteError;
