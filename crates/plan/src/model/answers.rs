//! What targets that are not files on this machine answer before a run: servers, and devices that a process drives by
//! itself.

use std::fmt::Debug;
use std::path::Path;

use fiord_types::{Bytes, Errno};

use super::EnginePlan;

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
    /// Size of the target.
    pub size: Bytes,
    /// Offsets and lengths of I/Os must be multiples of this size.
    pub block: Bytes,
    /// A write after the end extends the target, like a file. Its engine creates and extends it.
    pub growable: bool,
    /// The server permits no job to write or trim.
    pub read_only: bool,
}

impl EndpointFacts {
    /// A target of a fixed size, which every job may read and write in units of bytes.
    #[must_use]
    pub const fn fixed(size: Bytes) -> Self {
        EndpointFacts { size, block: Bytes(1), growable: false, read_only: false }
    }
}

/// Why a target does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct EndpointError {
    /// One sentence that says what failed and why.
    pub what: String,
    /// What the user can do.
    pub help: Option<String>,
    /// The errno, if the cause has one.
    pub errno: Option<Errno>,
    pub about: EndpointSubject,
}

/// What an [`EndpointError`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointSubject {
    /// The target, or the address that names it.
    Target,
    /// The server, or the pool or volume on which the target is.
    Server,
    /// A library that the engine loads and that this machine lacks.
    Library,
    /// A property of the target that the job sets.
    Property,
    /// The policy of this host, which permits no connection.
    Policy,
}

impl EndpointSubject {
    /// Whether only the job itself can be wrong, so that nothing may run. Other errors end their job when it starts, and
    /// the other jobs continue.
    #[must_use]
    pub const fn refuses_the_run(self) -> bool {
        matches!(self, EndpointSubject::Property | EndpointSubject::Policy)
    }
}
