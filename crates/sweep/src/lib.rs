//! `fiord sweep`: one job at many settings.
//!
//! | question | module |
//! |---|---|
//! | what may be said on the command line | [`args`] |
//! | what are the values of `--set`, and which points do they make | [`axis`] |
//! | what is the job, and how long does it take | [`job`] |
//! | what does a run's JSON say of a point | [`outcome`] |
//! | which points are done already | [`manifest`] |
//! | how is one run carried out | [`child`] |
//! | in what order are points run, and when is it enough | [`drive`] |
//! | where is the knee | [`knee`] |
//! | what does `--rate` mean | [`load`] |
//! | what has a sweep found | [`results`] |
//! | what did the runs find, beside their numbers | [`findings`] |
//! | how are the results shown | [`table`] |
//!
//! Each point is a run of the program itself in a process of its own: runs cannot disturb each
//! other, and a point's JSON is the one that its command (kept in the manifest) gives by hand.

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
