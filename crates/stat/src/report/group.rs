//! Run status groups.

use serde::{Deserialize, Serialize};

use super::NumberStyle;
use super::direction::DirKind;

/// A run status group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Number of the group.
    pub id: u32,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// Directions in which the group did I/O.
    pub dirs: Vec<GroupDir>,
}

/// One direction of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupDir {
    /// The direction.
    pub kind: DirKind,
    /// Bytes of all jobs divided by the longest run time, bytes per second.
    pub agg_bw: u64,
    /// Bandwidth of the slowest job, bytes per second.
    pub min_bw: u64,
    /// Bandwidth of the fastest job, bytes per second.
    pub max_bw: u64,
    /// Bytes moved.
    pub io_bytes: u64,
    /// Shortest runtime, ms.
    pub min_run_ms: u64,
    /// Longest runtime, ms.
    pub max_run_ms: u64,
}
