//! What the hosts of a run are, and what they use.

use fiord_types::Bytes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Name and version of the agent's program.
    pub version: String,
    /// Name of the host (`uname -n`).
    pub hostname: String,
    /// The operating system, as fio names it: `Linux`.
    pub os: String,
    /// The version of the kernel (`uname -r`).
    pub kernel: String,
    /// The processor architecture, as fio names it: `x86-64`.
    pub arch: String,
    /// The most significant byte comes first.
    pub big_endian: bool,
    /// Pointers have 64 bits.
    pub wide: bool,
    /// Number of online CPUs. `None` if unknown.
    pub cpus: Option<u32>,
    /// Size of memory.
    pub memory: Bytes,
    /// Changes with each boot (`/proc/sys/kernel/random/boot_id`). Two agents with one value run on one machine.
    pub boot_id: String,
}

/// A file or device that a host uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTarget {
    pub path: String,
    /// Names the storage everywhere: `wwid:…` or `uuid:…` of a device, and the inode of a file on a shared file system.
    /// `None` if it can only be on this host, or is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_id: Option<String>,
    /// What the storage is, for comparing hosts: model and size of the device, type of the file system.
    pub kind: String,
    /// The I/O scheduler of the block device; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scheduler: String,
    /// First byte that the jobs use.
    pub begin: Bytes,
    /// The byte after the last one; 0 if unknown.
    pub end: Bytes,
    /// A job writes or trims it.
    pub writes: bool,
}
