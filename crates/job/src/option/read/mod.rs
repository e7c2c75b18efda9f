//! Parsers for values with their own syntax, one file per syntax.

mod cpu_set;
mod error_lists;
mod faults;
mod paths;
mod pattern;
pub(crate) mod ranges;
mod seed;
mod splits;

pub use cpu_set::{cpu_set, numa_nodes, numa_policy};
pub use error_lists::error_lists;
pub use faults::{crash, faults};
pub use paths::paths;
pub use pattern::pattern;
pub use ranges::{size_range, time_range};
pub use seed::seed;
pub use splits::splits;

#[cfg(test)]
mod tests;
