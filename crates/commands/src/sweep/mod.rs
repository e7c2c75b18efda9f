//! `fiord sweep`: one job at many settings.
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | which job is swept, and how long does it run | [`job`] |
//! | what does a sweep consist of | [`drive`] |
//! | in what order are points run, how often, and when does it end | [`rounds`] |
//! | what do the runs of a point say | [`measured`] |
//! | where is the knee | [`knee`] |
//! | what does `--rate` mean | [`load`] |
//! | what does a sweep return | [`results`] |
//! | how are the results shown | [`table`], [`words`], [`json`], [`csv`] |
//!
//! Each point is measured by its own fiord process ([`crate::runs`]). The list of finished runs records
//! the command of each point, which gives the same result when run by hand.

pub mod args;
pub mod csv;
pub mod drive;
mod error;
pub mod job;
pub mod json;
pub mod knee;
pub mod load;
pub mod measured;
pub mod results;
pub mod rounds;
pub mod table;
pub mod words;

pub use args::SweepArgs;
pub use drive::run;
pub use error::SweepError;
