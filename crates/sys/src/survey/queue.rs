//! Attributes of the kernel's queue in front of a device: `/sys/block/*/queue` (Linux:
//! Documentation/ABI/stable/sysfs-block).

use std::path::Path;

use crate::root::{names, number, text};
use crate::zone;

/// The queue of one disk. `None` means that the kernel does not report the attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    /// Logical block size: the smallest addressable unit, in bytes.
    pub logical: u64,
    /// Physical block size: the smallest unit that the device writes without reading first, in bytes.
    pub physical: u64,
    /// The smallest I/O that the device prefers, in bytes.
    pub minimum_io: u64,
    /// The I/O size that the device prefers for streams, in bytes; 0 if it reports none.
    pub optimal_io: u64,
    /// The scheduler in use, and all that are available.
    pub scheduler: Option<(String, Vec<String>)>,
    /// `write back`: the kernel sends flushes to a volatile cache. `write through`: the kernel sends no
    /// flushes.
    pub write_cache: Option<String>,
    /// Whether the device supports Force Unit Access (FUA).
    pub fua: Option<bool>,
    /// Number of requests that the scheduler holds or, without one, each hardware queue.
    pub nr_requests: Option<u64>,
    /// Largest I/O that the kernel sends to the device, in bytes: (present setting, hardware limit).
    pub max_io: Option<(u64, u64)>,
    /// Largest number of memory segments in one I/O.
    pub max_segments: Option<u64>,
    /// Target latency of writeback throttling, µs; 0 is off.
    pub wbt_lat_us: Option<u64>,
    /// Merging of I/Os: 0 merges all it can, 1 only simple cases, 2 none.
    pub nomerges: Option<u64>,
    /// Whether the kernel keeps I/O counters.
    pub iostats: Option<bool>,
    /// Whether the disk has rotating platters.
    pub rotational: Option<bool>,
    /// Whether it has queues for polled I/O.
    pub io_poll: Option<bool>,
    /// Smallest discard, in bytes; 0 if the device does not support discard.
    pub discard_granularity: u64,
    /// Number of hardware queues (directories below `mq`).
    pub hardware_queues: usize,
    /// Zones; `None` if the device is not zoned.
    pub zones: Option<Zones>,
}

/// The zones of a zoned device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    /// Zone model.
    pub model: zone::Model,
    /// Number of zones.
    pub count: u64,
    /// Size of a zone in bytes.
    pub size: u64,
    /// Largest number of open zones; 0 means no limit.
    pub max_open: u64,
    /// Largest number of active zones (open or closed); 0 means no limit.
    pub max_active: u64,
    /// Largest zone append, in bytes.
    pub max_append: Option<u64>,
}

impl Queue {
    /// Reads the queue of a whole disk, given by its sysfs directory.
    #[must_use]
    pub fn of(disk: &Path) -> Queue {
        let queue = disk.join("queue");
        let n = |name: &str| number(&queue.join(name));
        let flag = |name: &str| n(name).map(|value| value != 0);
        Queue {
            logical: n("logical_block_size").unwrap_or(512),
            physical: n("physical_block_size").unwrap_or(512),
            minimum_io: n("minimum_io_size").unwrap_or(0),
            optimal_io: n("optimal_io_size").unwrap_or(0),
            scheduler: text(&queue.join("scheduler")).map(|text| {
                let parsed = crate::block::parse_scheduler(&text);
                (parsed.current, parsed.available)
            }),
            write_cache: text(&queue.join("write_cache")),
            fua: flag("fua"),
            nr_requests: n("nr_requests"),
            max_io: n("max_sectors_kb")
                .zip(n("max_hw_sectors_kb"))
                .map(|(set, hardware)| (set.saturating_mul(1024), hardware.saturating_mul(1024))),
            max_segments: n("max_segments"),
            wbt_lat_us: n("wbt_lat_usec"),
            nomerges: n("nomerges"),
            iostats: flag("iostats"),
            rotational: flag("rotational"),
            io_poll: flag("io_poll"),
            discard_granularity: n("discard_granularity").unwrap_or(0),
            hardware_queues: names(&disk.join("mq")).len(),
            zones: zones(&queue),
        }
    }
}

fn zones(queue: &Path) -> Option<Zones> {
    let model = match text(&queue.join("zoned"))?.as_str() {
        "host-managed" => zone::Model::HostManaged,
        "host-aware" => zone::Model::HostAware,
        _ => return None,
    };
    let n = |name: &str| number(&queue.join(name));
    Some(Zones {
        model,
        count: n("nr_zones").unwrap_or(0),
        size: n("chunk_sectors").unwrap_or(0).saturating_mul(512),
        max_open: n("max_open_zones").unwrap_or(0),
        max_active: n("max_active_zones").unwrap_or(0),
        max_append: n("zone_append_max_bytes").filter(|bytes| *bytes > 0),
    })
}
