//! `fiord sweep`: one job at many settings.
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | which job is swept, and how long does it run | [`job`] |
//! | in what order are points run, and when does the sweep end | [`drive`] |
//! | where is the knee | [`knee`] |
//! | what does `--rate` mean | [`load`] |
//! | what does a sweep return | [`results`] |
//! | how are the results shown | [`table`] |
//!
//! Each point is measured by its own fiord process ([`crate::runs`]). The list of finished runs records
//! the command of each point, which gives the same result when run by hand.

pub mod args;
pub mod drive;
mod error;
pub mod job;
pub mod knee;
pub mod load;
pub mod results;
pub mod table;

pub use args::SweepArgs;
pub use drive::run;
pub use error::SweepError;
