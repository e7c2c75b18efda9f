//! Formats sizes, links, caches and users.

use fiord_sys::survey::pcie::{self, Function, Speed};
use fiord_sys::survey::{Disk, SharedLink};
use fiord_sys::thread;

use crate::devices::Shown;

/// Formats the block size: `4096`, or `512/4096` if the physical block is larger.
#[must_use]
pub fn blocks(disk: &Disk) -> String {
    let (logical, physical) = (disk.queue.logical.0, disk.queue.physical.0);
    if logical == physical { logical.to_string() } else { format!("{logical}/{physical}") }
}

/// Formats a link speed: `Gen4 x4`.
#[must_use]
pub fn speed(speed: Speed) -> String {
    match speed.generation() {
        Some(generation) => format!("Gen{generation} x{}", speed.width),
        None => speed.to_string(),
    }
}

/// Formats a link with its maximum if that is higher: `Gen4 x2 of x4`, `Gen3 x4 of Gen4 x4`.
#[must_use]
pub fn link(function: &Function) -> Option<String> {
    let now = function.now?;
    Some(match function.own_best {
        Some(best) if best.tenths != now.tenths => format!("{} of {}", speed(now), speed(best)),
        Some(best) if best.width != now.width => format!("{} of x{}", speed(now), best.width),
        _ => speed(now),
    })
}

/// Formats the link of the disk's controller.
pub fn own_link(disk: &Disk) -> Option<String> {
    pcie::links(&disk.pcie).last().and_then(link)
}

/// Formats an oversubscription ratio: `3.0:1`.
#[must_use]
pub fn ratio(link: &SharedLink) -> String {
    format!("{:.1}:1", link.ratio())
}

/// Returns the most oversubscribed link above a disk.
#[must_use]
pub fn narrowest<'a>(disk: &Disk, links: &'a [SharedLink]) -> Option<&'a SharedLink> {
    let above = links.iter().filter(|link| link.disks.contains(&disk.name));
    above.max_by(|a, b| a.ratio().total_cmp(&b.ratio()))
}

/// Short name of the write cache mode.
#[must_use]
pub fn cache(disk: &Disk) -> Option<&'static str> {
    Some(match disk.queue.write_cache.as_deref()? {
        "write back" => "back",
        "write through" => "through",
        _ => "?",
    })
}

/// Formats the queue depth, with the number of hardware queues if there are several.
#[must_use]
pub fn depth(disk: &Disk) -> Option<String> {
    let depth = disk.device_depth.or(disk.queue.nr_requests)?;
    Some(match disk.queue.hardware_queues {
        0 | 1 => depth.to_string(),
        queues => format!("{queues}x{depth}"),
    })
}

/// Short name of the zone model; `None` for a device without zones.
#[must_use]
pub fn zones(disk: &Disk) -> Option<&'static str> {
    Some(disk.queue.zones.as_ref()?.model.word())
}

/// Formats the users of a disk: mount points and holders.
#[must_use]
pub fn used(disk: &Disk) -> Option<String> {
    use fiord_sys::in_use::DeviceUse;
    let mut words: Vec<String> = Vec::new();
    for one in &disk.uses {
        words.push(match one {
            DeviceUse::Mounted { point, .. } => point.display().to_string(),
            DeviceUse::Swap { .. } => "swap".into(),
        });
    }
    let uses_of_holders = !words.is_empty();
    words.extend(disk.holders.iter().filter(|_| !uses_of_holders).cloned());
    if words.is_empty() {
        match (disk.partitions.len(), disk.signatures.as_deref()) {
            (0, Some([first, ..])) => words.push(format!("({first})")),
            (0, _) => {}
            (1, _) => words.push("(1 partition)".into()),
            (n, _) => words.push(format!("({n} partitions)")),
        }
    }
    let more = words.len().saturating_sub(2);
    words.truncate(2);
    if more > 0 {
        words.push(format!("+{more}"));
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns the facts that only root can read about these disks.
#[must_use]
pub fn missing(disks: &[Disk]) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    for what in disks.iter().flat_map(|disk| &disk.missing) {
        if !all.contains(what) {
            all.push(what);
        }
    }
    all
}

/// Formats a line about facts that could not be read; empty if there are none.
#[must_use]
pub fn missing_line(disks: &[Disk]) -> String {
    match missing(disks).as_slice() {
        [] => String::new(),
        all if thread::user() == 0 => {
            format!(
                "\ncould not read, although running as root (container or kernel restriction): {}\n",
                all.join(", ")
            )
        }
        all => format!("\nrun as root to also see: {}\n", all.join(", ")),
    }
}

/// Formats a warning if mounts and swap space are unknown; empty otherwise.
pub(crate) fn unchecked_line(shown: &Shown) -> String {
    let line =
        |why| format!("\nmounts and swap could not be checked, any disk may be in use: {why}\n");
    shown.unchecked.as_ref().map(line).unwrap_or_default()
}
