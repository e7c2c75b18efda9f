//! What the hosts of a run are, and what they use.

use fiord_types::Bytes;
use serde::{Deserialize, Serialize};

use crate::maps::is_default;
use crate::zero_one;

/// What a host is. JSON has the keys without `wire:`; only other hosts need the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Name of the host (`uname -n`).
    #[serde(rename = "own_name")]
    pub hostname: String,
    /// Name and version of the agent's program.
    #[serde(default)]
    pub version: String,
    /// The operating system, as fio names it: `Linux`.
    #[serde(default)]
    pub os: String,
    /// The version of the kernel (`uname -r`).
    #[serde(default)]
    pub kernel: String,
    /// The processor architecture, as fio names it: `x86-64`.
    #[serde(default)]
    pub arch: String,
    /// Number of online CPUs. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Size of memory.
    #[serde(default, rename = "memory_bytes")]
    pub memory: Bytes,
    /// The most significant byte comes first.
    #[serde(default, rename = "wire:big_endian")]
    pub big_endian: bool,
    /// Pointers have 64 bits.
    #[serde(default, rename = "wire:wide")]
    pub wide: bool,
    /// Changes with each boot (`/proc/sys/kernel/random/boot_id`). Two agents with one value run on one machine.
    #[serde(default, rename = "wire:boot_id")]
    pub boot_id: String,
}

/// A file or device that a host uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostTarget {
    pub path: String,
    /// What the storage is, for comparing hosts: model and size of the device, type of the file system.
    #[serde(rename = "storage")]
    pub kind: String,
    /// The I/O scheduler of the block device; empty without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduler: String,
    /// Names the storage everywhere: `wwid:…` or `uuid:…` of a device, and the inode of a file on a shared file system.
    /// `None` if it can only be on this host, or is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_id: Option<String>,
    /// First byte that the jobs use.
    #[serde(rename = "begin_bytes")]
    pub begin: Bytes,
    /// The byte after the last one; 0 if unknown.
    #[serde(rename = "end_bytes", skip_serializing_if = "is_default")]
    pub end: Bytes,
    /// A job writes or trims it.
    #[serde(with = "zero_one")]
    pub writes: bool,
}
