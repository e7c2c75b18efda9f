//! What the kernel's queue in front of a device is set to: `/sys/block/*/queue` (Linux:
//! Documentation/ABI/stable/sysfs-block).

use std::path::Path;

use crate::root::{names, number, text};
use crate::zone;

/// The queue of one disk. `None`: the kernel does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    /// Smallest addressable unit, bytes.
    pub logical: u64,
    /// Smallest unit written without reading first, bytes.
    pub physical: u64,
    /// The device's preferred smallest I/O, bytes.
    pub minimum_io: u64,
    /// The device's preferred I/O for streams, bytes; 0 where it names none.
    pub optimal_io: u64,
    /// The scheduler in use, and those that could be.
    pub scheduler: Option<(String, Vec<String>)>,
    /// `write back`: the kernel sees to it that flushes reach a volatile cache. `write through`: the
    /// kernel sends none.
    pub write_cache: Option<String>,
    /// Whether the device writes through its cache by itself when asked (FUA).
    pub fua: Option<bool>,
    /// Requests that the scheduler (or, without one, each hardware queue) holds.
    pub nr_requests: Option<u64>,
    /// Largest I/O that is sent to the device, bytes: as set, and as the hardware could.
    pub max_io: Option<(u64, u64)>,
    /// Stretches of memory in one I/O.
    pub max_segments: Option<u64>,
    /// Target latency of writeback throttling, µs; 0 is off.
    pub wbt_lat_us: Option<u64>,
    /// Whether I/Os are merged: 0 all that can, 1 only the obvious, 2 none.
    pub nomerges: Option<u64>,
    /// Whether counters are kept.
    pub iostats: Option<bool>,
    /// Turning platters.
    pub rotational: Option<bool>,
    /// Polling queues exist.
    pub io_poll: Option<bool>,
    /// Smallest discard, bytes; 0 where there is none.
    pub discard_granularity: u64,
    /// Hardware queues (directories of `mq`).
    pub hardware_queues: usize,
    /// Zones; `None` for what has none.
    pub zones: Option<Zones>,
}

/// The zones of a zoned device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    /// Who must write sequentially.
    pub model: zone::Model,
    /// How many.
    pub count: u64,
    /// Length of one, bytes.
    pub size: u64,
    /// Most that may be open at a time; 0 without limit.
    pub max_open: u64,
    /// Most that may hold data and not be full; 0 without limit.
    pub max_active: u64,
    /// Largest zone append, bytes.
    pub max_append: Option<u64>,
}

impl Queue {
    /// Of a whole disk, by its sysfs directory.
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
