//! Run status groups.

use fiord_types::{Bytes, Nanos};
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
    pub kind: DirKind,
    /// Bytes of all jobs divided by the longest run time, bytes per second.
    pub agg_bw: Bytes,
    /// Bandwidth of the slowest job, bytes per second.
    pub min_bw: Bytes,
    /// Bandwidth of the fastest job, bytes per second.
    pub max_bw: Bytes,
    /// Bytes moved.
    pub io_bytes: Bytes,
    /// Shortest run time of a job, in whole milliseconds.
    pub min_run: Nanos,
    /// Longest run time of a job, in whole milliseconds.
    pub max_run: Nanos,
}
