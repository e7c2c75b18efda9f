//! Pass-through commands: the plan of `io_uring_cmd`.

use std::sync::Arc;

use fiord_sys::nvme;

use super::{IoUringPlan, MetadataPlan};

/// The options of `io_uring_cmd`: its rings, and the commands that it sends.
#[derive(Debug, Clone, PartialEq)]
pub struct PassthroughPlan {
    /// Options of the rings; `io_uring` has the same ones.
    pub ring: IoUringPlan,
    /// `cmd_type`: the commands that the engine sends.
    pub commands: Commands,
}

/// `cmd_type`: the command set that the engine uses.
#[derive(Debug, Clone, PartialEq)]
pub enum Commands {
    /// NVMe commands to the generic character devices of namespaces.
    Nvme(NvmePlan),
}

/// Options of NVMe commands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NvmePlan {
    /// `readfua`: Force Unit Access on reads.
    pub read_fua: bool,
    /// `writefua`: Force Unit Access on writes.
    pub write_fua: bool,
    /// `deac`: Write Zeroes may deallocate the blocks.
    pub deallocate: bool,
    /// `verify_mode=compare`: the reads of the verify pass are Compare commands.
    pub compares: bool,
    /// The namespaces of the job's files, in the order of the files.
    pub targets: Vec<NvmeTarget>,
}

/// A namespace, and how a job uses it.
#[derive(Debug, Clone, PartialEq)]
pub struct NvmeTarget {
    /// The properties that the namespace and its controller report.
    pub device: Arc<nvme::NvmeDevice>,
    /// How the job handles the metadata of the namespace. `None`: it has no metadata.
    pub metadata: Option<MetadataPlan>,
    /// Bytes that a logical block takes in a data buffer. Offsets of the job count this size too.
    pub block: u32,
    /// `nvme_split`: the engine splits an I/O into commands of at most this many bytes. `None`:
    /// each I/O is one command.
    pub split: Option<u32>,
}
