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
    /// Bytes of I/Os that failed, beside those. The device may have moved any part of them.
    #[serde(default)]
    pub failed_bytes: [u64; 3],
    /// Commands to zones (reset, finish, close), which the kernel counts as writes of no bytes.
    #[serde(default)]
    pub zone_commands: u64,
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
    /// I/Os that came to be because larger ones were cut: those that arrived, merged or not, less
    /// those that were issued. `None` where that is not known: nothing was issued, or the bytes at
    /// the device leave room for I/Os of other programs. The kernel counts a flush that comes without
    /// data, and a command to a zone, as a write of no bytes too.
    pub fn splits(&self, dir: usize) -> Option<u64> {
        const WRITE: usize = 1;
        let issued = self.issued.filter(|issued| issued.ios[dir] > 0)?;
        let arrived = self.dirs[dir].ios.saturating_add(self.dirs[dir].merges);
        let empty = match dir {
            WRITE => self.flushes.saturating_add(issued.zone_commands),
            _ => 0,
        };
        let more = arrived.saturating_sub(issued.ios[dir]).saturating_sub(empty);
        self.ours(dir, more)
    }

    /// I/Os that the jobs issued and that were merged into others. `None` where that is not known,
    /// as for [`DeviceView::splits`].
    pub fn merged(&self, dir: usize) -> Option<u64> {
        self.issued.filter(|issued| issued.ios[dir] > 0)?;
        self.ours(dir, self.dirs[dir].merges)
    }

    /// The count, if nearly all of it must be the jobs' own: those that other programs can have made
    /// with the bytes that the device moved more, or less, than the jobs are too few to matter.
    fn ours(&self, dir: usize, count: u64) -> Option<u64> {
        /// The least that an I/O moves: a sector.
        const SECTOR: u64 = 512;
        /// The share of the count that does not matter.
        const FEW: f64 = 0.05;
        let issued = self.issued?;
        if issued.failed_bytes[dir] > 0 {
            return None;
        }
        let others = self.dirs[dir].bytes.abs_diff(issued.bytes[dir]).div_ceil(SECTOR);
        (others as f64 <= count as f64 * FEW).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(ios: u64, merges: u64, bytes: u64, failed: u64) -> DeviceView {
        let read = DeviceDir { ios, merges, bytes, mean_ms: 1.0 };
        let issued = Issued {
            ios: [100, 0, 0],
            bytes: [100 << 20, 0, 0],
            failed_bytes: [failed, 0, 0],
            ..Issued::default()
        };
        DeviceView {
            dirs: [read, DeviceDir::default(), DeviceDir::default()],
            issued: Some(issued),
            ..DeviceView::default()
        }
    }

    #[test]
    fn pieces_are_counted_only_where_nobody_else_can_have_made_them() {
        assert_eq!(view(800, 0, 100 << 20, 0).splits(0), Some(700));
        assert_eq!(view(100, 0, 100 << 20, 0).splits(0), Some(0));
        // 700 reads of a sector by another program, and one of 1 MiB.
        assert_eq!(view(800, 0, (100 << 20) + 700 * 512, 0).splits(0), None);
        assert_eq!(view(101, 0, 101 << 20, 0).splits(0), None);
        // A few sectors of metadata do not matter.
        assert_eq!(view(1700, 0, (100 << 20) + 4096, 0).splits(0), Some(1600));
        assert_eq!(view(800, 0, 100 << 20, 4096).splits(0), None, "some have failed");
    }

    /// 295 zones of 64 writes each, of which 42 were reset first.
    #[test]
    fn zone_commands_are_no_pieces_of_writes() {
        let writes = DeviceDir { ios: 18_922, merges: 0, bytes: 18_880 << 12, mean_ms: 1.0 };
        let mut view = DeviceView {
            dirs: [DeviceDir::default(), writes, DeviceDir::default()],
            issued: Some(Issued {
                ios: [0, 18_880, 0],
                bytes: [0, 18_880 << 12, 0],
                zone_commands: 42,
                ..Issued::default()
            }),
            ..DeviceView::default()
        };
        assert_eq!(view.splits(1), Some(0));
        view.dirs[1].ios += 100;
        assert_eq!(view.splits(1), Some(100));
    }

    #[test]
    fn merges_are_the_jobs_own_likewise() {
        assert_eq!(view(25, 75, 100 << 20, 0).merged(0), Some(75));
        assert_eq!(view(25, 75, 200 << 20, 0).merged(0), None);
        assert_eq!(view(25, 75, 100 << 20, 0).merged(1), None, "nothing was issued");
    }
}
