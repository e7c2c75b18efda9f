//! Compares what fiord prints with what the reference printed, numbers aside: names, order,
//! types, number formats, layout. For tests only.
//!
//! Each checker returns the first difference in words. What differs from machine to machine
//! (which disks lie under the files) and from run to run (which latency buckets are filled) is no
//! difference; the key `"fiord"` is ours and is passed over.

pub mod case;
pub mod json;
pub mod normal;
pub mod terse;

pub use case::Case;
