//! Turns job specifications and facts about the machine into an immutable [`Plan`].
//!
//! This crate resolves every size, file, group, unit and default. Later stages never read an option
//! by name, and this crate never does I/O on a target.
//!
//! [`resolve`] is the entry point. Each module covers one subject:
//!
//! | question | module |
//! |---|---|
//! | where does the size of a file come from? | `sizes` |
//! | what is the name of a file? | `filename` |
//! | why may a job not use the file at a path? | `paths`, `harm` |
//! | which options have no effect on a job? | `unused_options` |

#![forbid(unsafe_code)]

mod blocks;
mod checks;
mod content;
mod cpus;
mod depth;
mod distribution;
mod engine;
pub mod facts;
mod file_zones;
mod filename;
mod files;
mod finish;
mod forms;
mod groups;
mod harm;
mod load;
mod memory;
mod messages;
pub mod model;
mod nvme;
mod open;
mod pace;
mod paths;
mod placement;
mod plain;
mod priority;
mod process;
mod ranges;
mod reading;
mod record;
mod reporting;
mod resolve;
mod scsi;
mod seeds;
mod sizes;
mod slices;
mod specification;
mod sprandom;
mod start;
mod steady;
mod survey;
pub mod system;
mod target;
mod unused_options;
mod usage;
mod zones;

pub use distribution::skew_of;
pub use facts::{Facts, Found, FoundKind, Passthrough, ScsiDisk, ZoneFacts};
pub use model::*;
pub use resolve::{PlanOptions, Resolved, resolve, resolve_invocation};

#[cfg(test)]
mod tests;
