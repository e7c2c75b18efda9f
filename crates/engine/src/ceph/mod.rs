//! `rados` and `rbd`: objects and block images of a Ceph cluster, through librados and librbd.
//!
//! | question | module |
//! |---|---|
//! | which functions of which libraries are called | `abi` |
//! | how does a job connect to its cluster and pool | `cluster` |
//! | how does a job do I/O on objects | `rados` |
//! | how does a job do I/O on an image | `rbd` |

mod abi;
mod cluster;
mod rados;
mod rbd;

pub(crate) use self::rados::{RadosClient, ask as ask_rados};
pub(crate) use self::rbd::{RbdClient, ask as ask_rbd};

use fiord_plan::EndpointError;

use crate::EngineError;

impl From<EngineError> for EndpointError {
    fn from(error: EngineError) -> Self {
        EndpointError { what: error.what, help: error.help, property: false }
    }
}

/// An error about the server of a target rather than the target.
pub(crate) fn about_the_server(error: EngineError) -> EndpointError {
    EndpointError { property: true, ..error.into() }
}
