//! Output formats: a report as text, JSON and terse. [`mod@read`] turns JSON, fiord's or fio's, back into a report, also
//! from a page of `--html` ([`embedded`]).
//!
//! Pure functions of [`fiord_stat::report::Report`] and of the few structs behind the header and
//! live lines. Nothing here computes a statistic.
//!
//! ```
//! use fiord_stat::report::{JobReport, Report};
//!
//! let job = JobReport { name: "reader".into(), ..JobReport::default() };
//! let report = Report { jobs: vec![job], ..Report::default() };
//! let mut text = Vec::new();
//! fiord_report::json(&report, &mut text)?;
//! assert!(String::from_utf8_lossy(&text).contains("\"jobname\" : \"reader\""));
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod date;
pub mod embedded;
pub mod header;
pub mod hosts;
pub mod live;
pub mod output;
pub mod read;

mod json;
mod names;
mod normal;
mod number;
mod plainly;
pub mod style;
mod terse;

pub use json::{json, json_plus};
pub use normal::findings::not_checked;
pub use normal::{normal, unit_work};
pub use read::{ReadError, read, read_all, read_hosts};
pub use terse::{TerseVersion, terse};
