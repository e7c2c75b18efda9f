//! Where a job connects to whose engine speaks to a server with storage.

use std::path::{Path, PathBuf};

use fiord_types::Nanos;

use super::{EnginePlan, GfapiPlan, HttpPlan, IscsiPlan, NfsPlan, RadosPlan, RbdPlan};

/// The targets of an engine that connects to a server with storage, and the patience of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointPlan {
    /// The address, if an option of the engine names it. `None`: `filename` and similar options name the targets.
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

/// Engines that connect to a server with storage.
impl EnginePlan {
    /// The targets, if the engine connects to a server with storage.
    #[must_use]
    pub fn endpoint(&self) -> Option<&EndpointPlan> {
        match self {
            EnginePlan::Nbd(plan) => Some(&plan.endpoint),
            EnginePlan::Nfs(plan) => Some(&plan.endpoint),
            EnginePlan::Libiscsi(plan) => Some(&plan.endpoint),
            EnginePlan::Http(plan) => Some(&plan.endpoint),
            EnginePlan::Rados(plan) => Some(&plan.endpoint),
            EnginePlan::Rbd(plan) => Some(&plan.endpoint),
            EnginePlan::Gfapi(plan) | EnginePlan::GfapiAsync(plan) => Some(&plan.endpoint),
            _ => None,
        }
    }

    /// The options of `libiscsi`, if this is it.
    #[must_use]
    pub fn iscsi(&self) -> Option<&IscsiPlan> {
        match self {
            EnginePlan::Libiscsi(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of `nfs`, if this is it.
    #[must_use]
    pub fn nfs(&self) -> Option<&NfsPlan> {
        match self {
            EnginePlan::Nfs(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of `http`, if this is it.
    #[must_use]
    pub fn http(&self) -> Option<&HttpPlan> {
        match self {
            EnginePlan::Http(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of `rados`, if this is it.
    #[must_use]
    pub fn rados(&self) -> Option<&RadosPlan> {
        match self {
            EnginePlan::Rados(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of `rbd`, if this is it.
    #[must_use]
    pub fn rbd(&self) -> Option<&RbdPlan> {
        match self {
            EnginePlan::Rbd(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of `gfapi` or `gfapi_async`, if this is one of them.
    #[must_use]
    pub fn gfapi(&self) -> Option<&GfapiPlan> {
        match self {
            EnginePlan::Gfapi(plan) | EnginePlan::GfapiAsync(plan) => Some(plan),
            _ => None,
        }
    }

    /// With `--readonly`, a job creates no objects and lays out no files on a server.
    pub(crate) fn change_nothing_before_the_run(&mut self) {
        match self {
            EnginePlan::Rados(plan) => plan.touch = false,
            EnginePlan::Gfapi(plan) | EnginePlan::GfapiAsync(plan) => plan.lays_out = false,
            _ => {}
        }
    }

    /// Whether the job polls for answers of a server and does not sleep (`busy_poll`).
    #[must_use]
    pub fn polls_endpoint(&self) -> bool {
        match self {
            EnginePlan::Rados(plan) => plan.ceph.busy_poll,
            EnginePlan::Rbd(plan) => plan.ceph.busy_poll,
            _ => false,
        }
    }
}
