//! What the engines learn before a run about targets that they connect to.

use std::path::Path;

use fiord_plan::{EndpointError, EndpointFacts, Endpoints, EnginePlan};

use crate::libblkio;

/// Asks targets by means of the engines.
#[derive(Debug, Clone, Copy)]
pub struct Targets;

impl Endpoints for Targets {
    fn ask(
        &self,
        engine: &EnginePlan,
        _address: &Path,
    ) -> Result<Option<EndpointFacts>, EndpointError> {
        match engine {
            EnginePlan::Libblkio(plan) => libblkio::ask(plan).map(Some),
            _ => Ok(None),
        }
    }
}
