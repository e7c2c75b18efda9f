//! Compares the structure of fiord's output with fio's: names, order, types, number formats and
//! layout, but not numbers. For tests only.
//!
//! Each checker returns the first [`Difference`]. It ignores parts that depend on the
//! machine (disks) or on the run (filled latency buckets), and the key `"fiord"`.
//!
//! ```
//! use fiord_golden::json::shape;
//!
//! assert_eq!(shape(r#"{"iops": 12.5}"#, r#"{"iops": 99.1}"#), Ok(()));
//! assert!(shape(r#"{"iops": 12.5}"#, r#"{"iops": 99}"#).is_err());
//! ```

#![forbid(unsafe_code)]

pub mod case;
pub mod difference;
pub mod json;
pub mod normal;
pub mod terse;

pub use case::Case;
pub use difference::Difference;
