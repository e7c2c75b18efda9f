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
