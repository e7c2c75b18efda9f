//! Job specifications and facts about the machine become an immutable [`Plan`].
//!
//! Every size, file, group, unit and default is resolved here; nothing after it reads an option by
//! name, and nothing here does I/O on a target.

pub mod model;
mod plain;
pub use model::*;
