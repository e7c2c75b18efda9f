//! The run: file layout, workers, groups, the inner loop and the monitor. It fills the report and
//! emits events; it prints nothing.

pub mod control;
pub mod error;
pub mod worker;
