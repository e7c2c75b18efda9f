//! Attributes of the kernel's queue in front of a device: `/sys/block/*/queue` (Linux:
//! Documentation/ABI/stable/sysfs-block).

use std::path::Path;

use fiord_types::Bytes;

use crate::root::{names, number, text};
use crate::zone;

/// The queue of one disk. `None` means that the kernel does not report the attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    /// Logical block size: the smallest addressable unit.
    pub logical: Bytes,
    /// Physical block size: the smallest unit that the device writes without reading first.
    pub physical: Bytes,
    /// The smallest I/O that the device prefers.
    pub minimum_io: Bytes,
    /// The I/O size that the device prefers for streams; 0 if it reports none.
    pub optimal_io: Bytes,
    /// The scheduler in use, and all that are available.
    pub scheduler: Option<(String, Vec<String>)>,
    /// `write back`: the kernel sends flushes to a volatile cache. `write through`: the kernel sends no
    /// flushes.
    pub write_cache: Option<String>,
    /// Whether the device supports Force Unit Access (FUA).
    pub fua: Option<bool>,
    /// Number of requests that the scheduler holds or, without one, each hardware queue.
    pub nr_requests: Option<u64>,
    /// Largest I/O that the kernel sends to the device: (present setting, hardware limit).
    pub max_io: Option<(Bytes, Bytes)>,
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
    /// Smallest discard; 0 if the device does not support discard.
    pub discard_granularity: Bytes,
    /// Number of hardware queues (directories below `mq`).
    pub hardware_queues: usize,
    /// Zones; `None` if the device is not zoned.
    pub zones: Option<QueueZones>,
}

/// The zones of a zoned device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueZones {
    pub model: zone::Model,
    /// Number of zones.
    pub count: u64,
    pub size: Bytes,
    /// Largest number of open zones; 0 means no limit.
    pub max_open: u64,
    /// Largest number of active zones (open or closed); 0 means no limit.
    pub max_active: u64,
    /// Largest zone append.
    pub max_append: Option<Bytes>,
}

impl Queue {
    /// Reads the queue of a whole disk, given by its sysfs directory.
    #[must_use]
    pub fn of(disk: &Path) -> Queue {
        let queue = disk.join("queue");
        let n = |name: &str| number(&queue.join(name));
        let size = |name: &str| n(name).map(Bytes);
        let flag = |name: &str| n(name).map(|value| value != 0);
        Queue {
            logical: size("logical_block_size").unwrap_or(Bytes(512)),
            physical: size("physical_block_size").unwrap_or(Bytes(512)),
            minimum_io: size("minimum_io_size").unwrap_or(Bytes::ZERO),
            optimal_io: size("optimal_io_size").unwrap_or(Bytes::ZERO),
            scheduler: text(&queue.join("scheduler")).map(|text| {
                let parsed = crate::block::parse_scheduler(&text);
                (parsed.current, parsed.available)
            }),
            write_cache: text(&queue.join("write_cache")),
            fua: flag("fua"),
            nr_requests: n("nr_requests"),
            max_io: n("max_sectors_kb")
                .zip(n("max_hw_sectors_kb"))
                .map(|(set, hardware)| (Bytes::from_kib(set), Bytes::from_kib(hardware))),
            max_segments: n("max_segments"),
            wbt_lat_us: n("wbt_lat_usec"),
            nomerges: n("nomerges"),
            iostats: flag("iostats"),
            rotational: flag("rotational"),
            io_poll: flag("io_poll"),
            discard_granularity: size("discard_granularity").unwrap_or(Bytes::ZERO),
            hardware_queues: names(&disk.join("mq")).len(),
            zones: zones(&queue),
        }
    }
}

fn zones(queue: &Path) -> Option<QueueZones> {
    let model = match text(&queue.join("zoned"))?.as_str() {
        "host-managed" => zone::Model::HostManaged,
        "host-aware" => zone::Model::HostAware,
        _ => return None,
    };
    let n = |name: &str| number(&queue.join(name));
    Some(QueueZones {
        model,
        count: n("nr_zones").unwrap_or(0),
        size: Bytes::from_sectors(n("chunk_sectors").unwrap_or(0)),
        max_open: n("max_open_zones").unwrap_or(0),
        max_active: n("max_active_zones").unwrap_or(0),
        max_append: n("zone_append_max_bytes").filter(|bytes| *bytes > 0).map(Bytes),
    })
}
