//! What the engines learn before a run about targets that they connect to.

use std::path::Path;

use fiord_plan::{EndpointError, EndpointFacts, Endpoints, EnginePlan};

use crate::{ceph, gluster, iscsi, libblkio, nbd, nfs};

/// Asks targets by means of the engines.
#[derive(Debug, Clone, Copy)]
pub struct Targets;

impl Endpoints for Targets {
    fn ask(
        &self,
        engine: &EnginePlan,
        address: &Path,
    ) -> Result<Option<EndpointFacts>, EndpointError> {
        match engine {
            EnginePlan::Libblkio(plan) => libblkio::ask(plan).map(Some),
            EnginePlan::Libiscsi(plan) => iscsi::ask(plan, address).map(Some),
            EnginePlan::Nfs(plan) => nfs::ask(plan, address).map(Some),
            EnginePlan::Nbd(plan) => nbd::ask(plan).map(Some),
            EnginePlan::Rados(plan) => ceph::ask_rados(plan),
            EnginePlan::Rbd(plan) => ceph::ask_rbd(plan),
            EnginePlan::Gfapi(plan) => gluster::ask("gfapi", plan, address),
            EnginePlan::GfapiAsync(plan) => gluster::ask("gfapi_async", plan, address),
            _ => Ok(None),
        }
    }
}
