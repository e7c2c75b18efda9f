//! Output formats: a report as text, JSON and terse.
//!
//! Pure functions of [`fiord_stat::report::Report`] and of the few structs behind the header and
//! live lines. Nothing here computes a statistic.

#![forbid(unsafe_code)]

pub mod header;
pub mod live;
pub mod output;

mod date;
mod json;
mod names;
mod normal;
mod number;
mod style;
mod terse;

pub use json::{json, json_plus};
pub use normal::findings::not_checked;
pub use normal::normal;
pub use terse::{TerseVersion, terse};
