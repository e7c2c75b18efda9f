//! The device's view of a run, for comparison with the application's view.

mod stored;

use fiord_types::{Bytes, Dir, JobIndex, PerDir};
use serde::{Deserialize, Serialize};

use crate::ramp::SyncCount;

/// The counters of a block device while jobs ran on it, and the I/Os that the jobs issued to it in the same time.
/// Both include ramps: a device cannot tell which of its I/Os belong to one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "stored::StoredView", from = "stored::StoredView")]
pub struct DeviceView {
    /// Kernel name.
    pub name: String,
    /// Time in which at least one job ran on the device, ramps included, seconds.
    pub seconds: f64,
    /// Reads, writes and discards as they reached the device.
    pub dirs: PerDir<DeviceDir>,
    /// Time in which jobs on the device did I/O in each direction, ramps included, seconds; 0 if it is not known.
    pub dir_seconds: PerDir<f64>,
    /// Cache flushes.
    pub flushes: u64,
    /// Mean number of I/Os in the device and its queue.
    pub depth: f64,
    /// Percent of the time in which at least one I/O was in flight.
    pub util: f64,
    /// I/Os that the jobs on the device issued; `None` if one of them also uses other devices, or makes calls that
    /// move no data.
    pub issued: Option<Issued>,
    /// Member devices (device mapper, md, multipath).
    pub members: Vec<DeviceView>,
    /// The intervals of the run in which jobs used the device, each with these jobs alone. Empty if there is only one, and
    /// in a report that was read.
    pub parts: Vec<DevicePart>,
}

/// A device in an interval in which some jobs used it without a break.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DevicePart {
    /// These jobs.
    pub jobs: Vec<JobIndex>,
    /// The device in this interval.
    pub view: DeviceView,
}

/// One direction at the device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceDir {
    /// I/Os that the device completed.
    pub ios: u64,
    /// I/Os that the block layer merged into others.
    pub merges: u64,
    /// Amount of data.
    pub bytes: Bytes,
    /// Mean time of an I/O, including queueing in the kernel, ms.
    pub mean_ms: f64,
}

impl DeviceDir {
    /// Mean size of an I/O, bytes; 0 if there was none.
    #[must_use]
    pub fn size(&self) -> f64 {
        if self.ios == 0 { 0.0 } else { self.bytes.0 as f64 / self.ios as f64 }
    }
}

/// I/Os that jobs issued.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Issued {
    /// Number of reads, writes, trims.
    pub ios: PerDir<u64>,
    /// Bytes of reads, writes, trims.
    pub bytes: PerDir<Bytes>,
    /// Bytes of I/Os that failed, not included in `bytes`. The device may have moved any part of them.
    pub failed_bytes: PerDir<Bytes>,
    /// Commands to zones (reset, finish, close), which the kernel counts as writes of no bytes.
    pub zone_commands: u64,
    /// Flushes that the jobs asked for: syncs, and writes with `sync` by synchronous engines. For each of them the
    /// kernel counts at most one write of no bytes.
    pub syncs: SyncCount,
    /// How many of `ios` belong to ramps, which the results of the jobs leave out.
    pub ramp_ios: PerDir<u64>,
    /// Mean number of I/Os in flight; `None` if latencies were not measured.
    pub depth: Option<f64>,
}

impl Issued {
    /// Mean size of an I/O in a direction, bytes; 0 if there was none.
    #[must_use]
    pub fn size(&self, dir: Dir) -> f64 {
        if self.ios[dir] == 0 { 0.0 } else { self.bytes[dir].0 as f64 / self.ios[dir] as f64 }
    }
}

impl DeviceView {
    /// Extra I/Os that arose because the kernel split larger ones: arrived I/Os, merged or not, minus issued
    /// I/Os. `None` if nothing was issued, or if other programs may have caused part of them. Excludes
    /// [`DeviceView::empty`] I/Os.
    #[must_use]
    pub fn splits(&self, dir: Dir) -> Option<u64> {
        let issued = self.issued.filter(|issued| issued.ios[dir] > 0)?;
        let more = self.arrived(dir).saturating_sub(issued.ios[dir]);
        self.ours(dir, more.saturating_sub(self.empty(dir)))
    }

    /// I/Os without data that the kernel counts as writes: flushes and commands to zones.
    ///
    /// The kernel counts a flush that a program asks for as a write of no bytes, unless the device has no volatile
    /// cache. The device itself may serve several of them with one flush, so that the device's own number of
    /// flushes can be much smaller. If it is not known exactly, this is the largest number that fits.
    #[must_use]
    pub fn empty(&self, dir: Dir) -> u64 {
        if dir != Dir::Write {
            return 0;
        }
        let Some(issued) = self.issued else { return self.flushes.min(self.dirs[dir].ios) };
        let most = self.flushes.max(issued.syncs.0).saturating_add(issued.zone_commands);
        most.min(self.arrived(dir).saturating_sub(issued.ios[dir])).min(self.dirs[dir].ios)
    }

    /// I/Os with data that the device completed.
    #[must_use]
    pub fn with_data(&self, dir: Dir) -> u64 {
        self.dirs[dir].ios.saturating_sub(self.empty(dir))
    }

    /// Mean size of the I/Os with data, bytes; 0 if there was none.
    #[must_use]
    pub fn size(&self, dir: Dir) -> f64 {
        match self.with_data(dir) {
            0 => 0.0,
            ios => self.dirs[dir].bytes.0 as f64 / ios as f64,
        }
    }

    /// I/Os that reached the block layer: those that the device completed, and those that were merged into them.
    fn arrived(&self, dir: Dir) -> u64 {
        self.dirs[dir].ios.saturating_add(self.dirs[dir].merges)
    }

    /// I/Os of the jobs that the kernel merged into others. `None` in the cases of [`DeviceView::splits`].
    #[must_use]
    pub fn merged(&self, dir: Dir) -> Option<u64> {
        self.issued.filter(|issued| issued.ios[dir] > 0)?;
        self.ours(dir, self.dirs[dir].merges)
    }

    /// Returns `count` if the jobs caused nearly all of it. The difference between the bytes of the device and
    /// the bytes of the jobs limits how many I/Os other programs can have made.
    fn ours(&self, dir: Dir, count: u64) -> Option<u64> {
        /// Smallest I/O, bytes: a sector.
        const SECTOR: u64 = 512;
        /// Share of the count that other programs may have caused.
        const FEW: f64 = 0.05;
        let issued = self.issued?;
        if issued.failed_bytes[dir] > Bytes::ZERO {
            return None;
        }
        let others = self.dirs[dir].bytes.0.abs_diff(issued.bytes[dir].0).div_ceil(SECTOR);
        (others as f64 <= count as f64 * FEW).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(ios: u64, merges: u64, bytes: u64, failed: u64) -> DeviceView {
        let read = DeviceDir { ios, merges, bytes: Bytes(bytes), mean_ms: 1.0 };
        let issued = Issued {
            ios: PerDir::new(100, 0, 0),
            bytes: PerDir::new(100 << 20, 0, 0).map(Bytes),
            failed_bytes: PerDir::new(failed, 0, 0).map(Bytes),
            ..Issued::default()
        };
        DeviceView {
            dirs: PerDir::new(read, DeviceDir::default(), DeviceDir::default()),
            issued: Some(issued),
            ..DeviceView::default()
        }
    }

    #[test]
    fn splits_are_counted_only_if_no_other_program_can_have_caused_them() {
        assert_eq!(view(800, 0, 100 << 20, 0).splits(Dir::Read), Some(700));
        assert_eq!(view(100, 0, 100 << 20, 0).splits(Dir::Read), Some(0));
        // 700 reads of a sector by another program, and one of 1 MiB.
        assert_eq!(view(800, 0, (100 << 20) + 700 * 512, 0).splits(Dir::Read), None);
        assert_eq!(view(101, 0, 101 << 20, 0).splits(Dir::Read), None);
        // A few sectors of metadata do not matter.
        assert_eq!(view(1700, 0, (100 << 20) + 4096, 0).splits(Dir::Read), Some(1600));
        assert_eq!(view(800, 0, 100 << 20, 4096).splits(Dir::Read), None, "some have failed");
    }

    /// 295 zones of 64 writes each, of which 42 were reset first.
    #[test]
    fn zone_commands_do_not_count_as_splits_of_writes() {
        let writes = DeviceDir { ios: 18_922, merges: 0, bytes: Bytes(18_880 << 12), mean_ms: 1.0 };
        let mut view = DeviceView {
            dirs: PerDir::new(DeviceDir::default(), writes, DeviceDir::default()),
            issued: Some(Issued {
                ios: PerDir::new(0, 18_880, 0),
                bytes: PerDir::new(0, 18_880 << 12, 0).map(Bytes),
                zone_commands: 42,
                ..Issued::default()
            }),
            ..DeviceView::default()
        };
        assert_eq!(view.splits(Dir::Write), Some(0));
        view.dirs[Dir::Write].ios += 100;
        assert_eq!(view.splits(Dir::Write), Some(100));
    }

    /// 5698 writes, each with an fsync, at depth 8 on a device that served many flushes together.
    #[test]
    fn empty_flushes_are_neither_pieces_nor_halved_blocks() {
        let writes =
            DeviceDir { ios: 10_258, merges: 1137, bytes: Bytes(5698 << 12), mean_ms: 0.1 };
        let mut view = DeviceView {
            dirs: PerDir::new(DeviceDir::default(), writes, DeviceDir::default()),
            flushes: 900,
            issued: Some(Issued {
                ios: PerDir::new(0, 5698, 0),
                bytes: PerDir::new(0, 5698 << 12, 0).map(Bytes),
                syncs: SyncCount(5698),
                ..Issued::default()
            }),
            ..DeviceView::default()
        };
        assert_eq!((view.empty(Dir::Write), view.splits(Dir::Write)), (5697, Some(0)));
        assert_eq!((view.with_data(Dir::Write), view.merged(Dir::Write)), (4561, Some(1137)));
        assert_eq!(view.size(Dir::Write), f64::from(5698 << 12) / 4561.0);
        // Without a volatile cache there are no flushes.
        view.dirs[Dir::Write].ios = 4561;
        assert_eq!((view.empty(Dir::Write), view.splits(Dir::Write)), (0, Some(0)));
        view.dirs[Dir::Write].ios = 4561 + 5698 + 2000;
        assert_eq!(view.splits(Dir::Write), Some(2000));
    }

    #[test]
    fn merges_are_counted_only_if_no_other_program_can_have_caused_them() {
        assert_eq!(view(25, 75, 100 << 20, 0).merged(Dir::Read), Some(75));
        assert_eq!(view(25, 75, 200 << 20, 0).merged(Dir::Read), None);
        assert_eq!(view(25, 75, 100 << 20, 0).merged(Dir::Write), None, "nothing was issued");
    }
}
