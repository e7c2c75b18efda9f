//! Targets that no file on this machine stands for: servers, and devices that a process drives by itself.

use std::fmt::Debug;
use std::path::Path;

use fiord_types::Bytes;

use crate::model::EnginePlan;

/// Connects to targets before a run, to learn how large they are. Engines implement it.
pub trait Endpoints: Debug {
    /// Connects to the target at an address, asks for its properties, and disconnects. Reads and writes no data.
    /// `None`: the engine cannot ask before it runs.
    ///
    /// # Errors
    /// The target cannot be reached, or refuses.
    fn ask(
        &self,
        engine: &EnginePlan,
        address: &Path,
    ) -> Result<Option<EndpointFacts>, EndpointError>;
}

/// The properties of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointFacts {
    /// Its size.
    pub size: Bytes,
    /// Offsets and lengths of I/Os must be multiples of this size.
    pub block: Bytes,
}

/// Why a target does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct EndpointError {
    /// One sentence that says what failed and why.
    pub what: String,
    /// What the user can do.
    pub help: Option<String>,
    /// A property that the job sets is wrong, rather than the address.
    pub property: bool,
}
