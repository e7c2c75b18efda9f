//! `fiord sweep`: one job at many settings.
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | what are the values of `--set`, and which points do they make | [`axis`] |
//! | which job is swept, and how long does it run | [`job`] |
//! | which results does the JSON of a run contain | [`outcome`] |
//! | which points are already measured | [`manifest`] |
//! | how is a run started and stopped | [`child`] |
//! | in what order are points run, and when does the sweep end | [`drive`] |
//! | where is the knee | [`knee`] |
//! | what does `--rate` mean | [`load`] |
//! | what does a sweep return | [`results`] |
//! | which findings do the runs report | [`findings`] |
//! | how are the results shown | [`table`] |
//!
//! Each point is measured by its own fiord process, so runs cannot affect each other. The manifest
//! records the command of each point, which gives the same result when run by hand.

pub mod args;
pub mod axis;
pub mod child;
pub mod drive;
pub mod findings;
pub mod job;
pub mod knee;
pub mod load;
pub mod manifest;
pub mod outcome;
pub mod results;
pub mod table;

pub use args::Args;
pub use drive::{End, Streams, run};
