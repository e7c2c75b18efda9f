//! Steady state: whether the last samples of a rate or a latency have stopped changing.
//!
//! | question | module |
//! |---|---|
//! | how are mean, deviation, range and slope computed | [`fit`] |
//! | when is a window of samples steady | [`window`] |
//! | how do the samples of several jobs become those of their group | [`group`] |
//!
//! This is arithmetic only: the run takes the samples.

pub mod fit;
pub mod group;
pub mod window;

pub use group::{Group, IntervalCounts};
pub use window::{Criterion, Sample, Window};
