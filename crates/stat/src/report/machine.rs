//! The machine of a run, and the devices under its targets.

use fiord_types::Bytes;
use serde::{Deserialize, Serialize};

/// The machine that ran the jobs. Serial numbers are left out on purpose: reports are passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineReport {
    /// Name of the machine (`uname -n`).
    pub hostname: String,
    /// Name and version of the kernel: `Linux 6.1.0-40-amd64`.
    pub kernel: String,
    /// The processor architecture, as fio names it: `x86-64`.
    pub arch: String,
    /// Model of the processor; empty if unknown.
    pub processor: String,
    /// Number of online CPUs. `None` if unknown.
    pub cpus: Option<u32>,
    /// Size of memory.
    pub memory: Bytes,
    /// The disks under the targets, and their member disks. Empty if they were not surveyed (`--findings=off`).
    pub devices: Vec<DeviceFacts>,
}

/// A disk, in words for people. A text is empty if it is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFacts {
    /// Kernel name.
    pub name: String,
    pub model: String,
    /// Version of the firmware.
    pub firmware: String,
    /// Kind of the device: `nvme`, `sata` …
    pub bus: String,
    pub capacity: Bytes,
    /// The link of its controller, with the best one if that is faster: `Gen3 x2 of Gen4 x4`.
    pub link: String,
    /// The I/O scheduler.
    pub scheduler: String,
    /// Logical block size, and the physical one if it differs: `512/4096`.
    pub blocks: String,
    /// Mode of the write cache: `write back` or `write through`.
    pub write_cache: String,
}
