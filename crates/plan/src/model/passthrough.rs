//! Commands that are passed through to a device.

use std::sync::Arc;

use fiord_sys::nvme;

use super::{IoUringPlan, MetadataPlan};

/// `io_uring_cmd`: its rings, and the commands that it sends.
#[derive(Debug, Clone, PartialEq)]
pub struct PassthroughPlan {
    /// Options of the rings, as `io_uring` has them.
    pub ring: IoUringPlan,
    /// `cmd_type`.
    pub commands: Commands,
}

/// What kind of commands.
#[derive(Debug, Clone, PartialEq)]
pub enum Commands {
    /// NVMe commands to the generic character devices of namespaces.
    Nvme(NvmePlan),
}

/// NVMe commands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NvmePlan {
    /// `readfua`: force unit access on reads.
    pub read_fua: bool,
    /// `writefua`: force unit access on writes.
    pub write_fua: bool,
    /// `deac`: Write Zeroes may deallocate.
    pub deallocate: bool,
    /// The namespace of each of the job's files.
    pub targets: Vec<NvmeTarget>,
}

/// A namespace, and how a job uses it.
#[derive(Debug, Clone, PartialEq)]
pub struct NvmeTarget {
    /// What it and its controller say of themselves.
    pub device: Arc<nvme::Device>,
    /// What becomes of its metadata; `None`: it has none.
    pub metadata: Option<MetadataPlan>,
    /// Bytes that a logical block takes in a data buffer, and that offsets count for it.
    pub block: u32,
    /// `nvme_split`: longer transfers are made of several commands of at most this many bytes;
    /// `None`: each I/O is one command.
    pub split: Option<u32>,
}
