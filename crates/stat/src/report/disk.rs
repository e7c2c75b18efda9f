//! Activity of the block devices under the targets.

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

/// Activity of a block device during the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Kernel name.
    pub name: String,
    /// Counters of the device.
    pub counts: DiskCounts,
    /// Means over the member devices (device mapper, md, multipath); `None` if there are none.
    pub aggregate: Option<DiskCounts>,
    /// The member devices.
    pub members: Vec<DiskReport>,
}

/// Differences of a block device's counters over the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskCounts {
    /// Reads, writes.
    pub ios: [u64; 2],
    /// Sectors of 512 bytes.
    pub sectors: [u64; 2],
    /// Merged I/Os.
    pub merges: [u64; 2],
    /// Time spent, in whole milliseconds.
    pub time: [Nanos; 2],
    /// Time in the queue, summed over the I/Os, in whole milliseconds.
    pub in_queue: Nanos,
    /// Percent of the run in which the device was busy.
    pub util: f64,
}

impl DiskCounts {
    /// Means over the members, and the highest utilisation, as fio aggregates them. `None` without members.
    #[must_use]
    pub fn aggregate(members: &[DiskReport]) -> Option<DiskCounts> {
        let n = members.len() as u64;
        if n == 0 {
            return None;
        }
        let mut sum = DiskCounts::default();
        for c in members.iter().map(|m| &m.counts) {
            for i in 0..2 {
                sum.ios[i] += c.ios[i];
                sum.sectors[i] += c.sectors[i];
                sum.merges[i] += c.merges[i];
                sum.time[i] = sum.time[i].saturating_add(c.time[i]);
            }
            sum.in_queue = sum.in_queue.saturating_add(c.in_queue);
            sum.util = sum.util.max(c.util);
        }
        let mean = |v: [u64; 2]| v.map(|x| x / n);
        // Rounds down to whole milliseconds, as fio does.
        let mean_time = |time: Nanos| Nanos::from_millis(time.as_millis() / n);
        Some(DiskCounts {
            ios: mean(sum.ios),
            sectors: mean(sum.sectors),
            merges: mean(sum.merges),
            time: sum.time.map(mean_time),
            in_queue: mean_time(sum.in_queue),
            util: sum.util,
        })
    }
}
