//! Where a job connects to whose engine speaks to a server with storage.

use std::path::{Path, PathBuf};

use fiord_types::Nanos;

/// The targets of an engine that connects to a server with storage, and the patience of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointPlan {
    /// The address, if an option of the engine names it. `None`: `filename` and its like name the targets.
    pub address: Option<PathBuf>,
    /// The server, if the addresses of the targets do not contain it. It contains no secret, because messages and policies
    /// show it.
    pub server: Option<String>,
    /// `endpoint_timeout`: a request without an answer fails after this time; at least 1 ns.
    pub timeout: Nanos,
}

impl EndpointPlan {
    /// The target at an address, with its server, for messages.
    #[must_use]
    pub fn shown(&self, address: &Path) -> String {
        match &self.server {
            Some(server) => format!("{} on {server}", address.display()),
            None => address.display().to_string(),
        }
    }
}
