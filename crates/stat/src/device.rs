//! The device's own view of a run beside the application's.

use serde::{Deserialize, Serialize};

/// What a block device counted over the measured time, and what was asked of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceView {
    /// Kernel name.
    pub name: String,
    /// Time from the first measured I/O to the last, seconds.
    pub seconds: f64,
    /// Reads, writes, discards as they reached the device.
    pub dirs: [DeviceDir; 3],
    /// Cache flushes.
    pub flushes: u64,
    /// I/Os at the device and in its queue, mean over the time.
    pub depth: f64,
    /// Percent of the time in which there was any.
    pub util: f64,
    /// What the jobs on it issued, where all of their files are on it.
    pub issued: Option<Issued>,
    /// Devices below it (device mapper, md, multipath).
    pub members: Vec<DeviceView>,
}

/// One direction at the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceDir {
    /// I/Os that the device completed.
    pub ios: u64,
    /// I/Os that were merged into others on the way.
    pub merges: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time of each, queueing in the kernel included, mean, ms.
    pub mean_ms: f64,
}

impl DeviceDir {
    /// Mean size, bytes; 0 where there was none.
    pub fn size(&self) -> f64 {
        if self.ios == 0 { 0.0 } else { self.bytes as f64 / self.ios as f64 }
    }
}

/// What jobs asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Issued {
    /// Reads, writes, trims.
    pub ios: [u64; 3],
    /// Their bytes.
    pub bytes: [u64; 3],
    /// In flight, mean over the time; `None` where latencies were not measured.
    pub depth: Option<f64>,
}

impl Issued {
    /// Mean size, bytes; 0 where there was none.
    pub fn size(&self, dir: usize) -> f64 {
        if self.ios[dir] == 0 { 0.0 } else { self.bytes[dir] as f64 / self.ios[dir] as f64 }
    }
}

impl DeviceView {
    /// I/Os that came to be because larger ones were cut: what arrived, merged or not, less what
    /// was issued. `None` where that is not known, and where nothing was issued: what came then is
    /// somebody else's. The kernel counts a flush that comes without data as a write of no bytes too.
    pub fn splits(&self, dir: usize) -> Option<u64> {
        const WRITE: usize = 1;
        let issued = self.issued.filter(|issued| issued.ios[dir] > 0)?;
        let arrived = self.dirs[dir].ios.saturating_add(self.dirs[dir].merges);
        let empty = if dir == WRITE { self.flushes } else { 0 };
        Some(arrived.saturating_sub(issued.ios[dir]).saturating_sub(empty))
    }
}
