//! Job specifications and facts about the machine become an immutable [`Plan`].
//!
//! Every size, file, group, unit and default is resolved here; nothing after it reads an option by
//! name, and nothing here does I/O on a target.
//!
//! [`resolve`] is the way in. One module a subject: where does a file's size come from? `sizes`.
//! What is a file called? `filename`. Why may a job not use what stands at a path? `paths`.

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
mod idle;
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
mod usage;
mod zones;

pub use distribution::skew_of;
pub use facts::{Facts, Found, FoundKind, Passthrough, ScsiDisk, ZoneFacts};
pub use model::*;
pub use resolve::{Resolved, Terms, resolve, resolve_invocation};

#[cfg(test)]
mod tests;
