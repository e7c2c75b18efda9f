//! Compares the structure of fiord's output with fio's: names, order, types, number formats and
//! layout, but not numbers. For tests only.
//!
//! Each checker returns a description of the first difference. It ignores parts that depend on the
//! machine (disks) or on the run (filled latency buckets), and the key `"fiord"`.

#![forbid(unsafe_code)]

pub mod case;
pub mod json;
pub mod normal;
pub mod terse;

pub use case::Case;
