//! Formats all facts about each disk, one fact for each line.

use fiord_sys::survey::{Disk, Smart, pcie};
use fiord_types::{Bytes, plural};

use crate::amount::{binary, decimal};
use crate::devices::{Shown, words};

/// Width of the column with the names of facts.
const NAMES: usize = 12;

pub(crate) fn text(shown: &Shown) -> String {
    let sheets: Vec<String> = shown.disks.iter().map(|disk| sheet(disk, shown)).collect();
    sheets.join("\n")
}

/// Collects facts and omits unknown ones.
struct Facts(String);

impl Facts {
    fn add(&mut self, name: &str, fact: Option<String>) {
        if let Some(fact) = fact.filter(|fact| !fact.is_empty()) {
            self.0.push_str(&format!("  {name:<NAMES$}{fact}\n"));
        }
    }
}

fn sheet(disk: &Disk, shown: &Shown) -> String {
    let mut facts = Facts(format!("{}\n", disk.name));
    let id = &disk.identity;
    facts.add("model", id.model.clone());
    facts.add("firmware", id.firmware.clone());
    facts.add("serial", id.serial.clone());
    facts.add("wwid", id.wwid.clone());
    facts.add("node", Some(node(disk)));
    facts.add("capacity", Some(capacity(disk)));
    facts.add("block", Some(block(disk)));
    facts.add("format", disk.format.clone());
    facts.add("allocated", allocated(disk));
    facts.add("queue", queue(disk));
    facts.add("largest I/O", largest(disk));
    facts.add("cache", cache(disk));
    facts.add("zones", zones(disk));
    facts.add("NUMA node", disk.numa_node.map(|node| node.to_string()));
    for (name, fact) in links(disk, shown) {
        facts.add(name, Some(fact));
    }
    facts.add("temperature", disk.health.temperature.map(|c| format!("{c:.1} °C")));
    if let Some(smart) = &disk.health.smart {
        facts.add("health", Some(health(smart)));
        facts.add("heat", Some(heat(smart)));
    }
    let errors = disk.health.scsi_errors;
    facts.add("errors", errors.map(|n| format!("{n} commands failed since the disk was found")));
    facts.add("built on", Some(disk.members.join(", ")));
    facts.add("on it", Some(content(disk)));
    let uses: Vec<String> = disk.uses.iter().map(ToString::to_string).collect();
    facts.add("in use", Some(uses.join(", ")));
    facts.add("held by", Some(disk.holders.join(", ")));
    let unread = if fiord_sys::thread::user() == 0 { "unreadable" } else { "root adds" };
    facts.add(unread, Some(disk.missing.join(", ")));
    facts.0
}

fn node(disk: &Disk) -> String {
    let mut parts = vec![disk.node().display().to_string()];
    parts.extend(disk.generic.as_ref().map(|name| format!("/dev/{name}")));
    parts.extend(disk.device.map(|device| device.to_string()));
    parts.extend(disk.nsid.map(|nsid| format!("namespace {nsid}")));
    parts.push(disk.bus.word().into());
    if disk.read_only {
        parts.push("read-only".into());
    }
    if disk.removable {
        parts.push("removable".into());
    }
    parts.join(", ")
}

fn capacity(disk: &Disk) -> String {
    format!("{} ({} bytes)", decimal(disk.capacity.0.into()), disk.capacity.0)
}

/// Allocated share of an NVMe namespace, if below 100 %: many drives always report 100 %.
fn allocated(disk: &Disk) -> Option<String> {
    let allocation = disk.allocation?;
    let share = allocation.short_of_full()?;
    let (used, capacity) = (allocation.used.0.into(), allocation.capacity.0.into());
    let (used, capacity) = (decimal(used), decimal(capacity));
    Some(format!("{used} of {capacity} ({:.0} %)", share * 100.0))
}

fn block(disk: &Disk) -> String {
    let q = &disk.queue;
    let mut text = format!("{} logical, {} physical", q.logical.0, q.physical.0);
    if q.optimal_io > Bytes::ZERO {
        text.push_str(&format!(", {} optimal", binary(q.optimal_io)));
    }
    text
}

fn queue(disk: &Disk) -> Option<String> {
    let q = &disk.queue;
    let mut parts = Vec::new();
    if let Some((now, all)) = &q.scheduler {
        let others: Vec<&str> =
            all.iter().filter(|name| *name != now).map(String::as_str).collect();
        match others.is_empty() {
            true => parts.push(format!("scheduler {now}")),
            false => parts.push(format!("scheduler {now} (could be {})", others.join(", "))),
        }
    }
    parts.extend(q.nr_requests.map(|n| format!("{n} requests")));
    match q.hardware_queues {
        0 => {}
        1 => parts.push("1 hardware queue".into()),
        n => parts.push(format!("{n} hardware queues")),
    }
    parts.extend(disk.device_depth.map(|n| format!("the device takes {n} at a time")));
    match q.wbt_lat_us {
        None | Some(0) => {}
        Some(us) => parts.push(format!("writeback throttled at {us} µs")),
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn largest(disk: &Disk) -> Option<String> {
    let (set, hardware) = disk.queue.max_io?;
    // The kernel reports 2 TiB for no limit.
    let hardware = match hardware {
        size if size >= Bytes(1 << 40) => "no hardware limit".into(),
        size => format!("hardware limit {}", binary(size)),
    };
    let segments = disk.queue.max_segments.map(|n| format!(", {n} segments")).unwrap_or_default();
    Some(format!("{} ({hardware}{segments})", binary(set)))
}

fn cache(disk: &Disk) -> Option<String> {
    let word = disk.queue.write_cache.clone()?;
    Some(match (word.as_str(), disk.queue.fua) {
        ("write back", Some(true)) => "volatile (write back), with FUA".into(),
        ("write back", _) => "volatile (write back)".into(),
        ("write through", _) => "not volatile (write through)".into(),
        _ => word,
    })
}

fn zones(disk: &Disk) -> Option<String> {
    let zones = disk.queue.zones.as_ref()?;
    let limit = |n: u64| if n == 0 { "any number".to_owned() } else { format!("at most {n}") };
    Some(format!(
        "{}, {} of {}, {} open, {} active",
        zones.model.word(),
        zones.count,
        binary(zones.size),
        limit(zones.max_open),
        limit(zones.max_active)
    ))
}

/// Formats the links from the root complex to the disk, with the disks that share each.
fn links(disk: &Disk, shown: &Shown) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(function) = disk.pcie.last() {
        lines.push(("PCI address", function.address.clone()));
    }
    for function in pcie::links(&disk.pcie) {
        let (Some(now), Some(words)) = (function.now, words::link(function)) else { continue };
        let mut text = format!("{} {words}, {}/s", function.address, decimal(now.bytes().into()));
        let shared = shown.links.iter().find(|link| link.address == function.address);
        if let Some(shared) = shared.filter(|shared| shared.disks.len() > 1) {
            let others = shared.disks.len() - 1;
            text.push_str(&format!(
                ", shared with {others} other disk{}: {}",
                plural(others),
                words::ratio(shared)
            ));
        }
        lines.push(("link", text));
    }
    if let Some(bytes) = disk.cable {
        lines.push(("cable", format!("{}/s", decimal(bytes.into()))));
    }
    lines
}

fn health(smart: &Smart) -> String {
    let mut parts = vec![
        format!("{} % of its endurance used", smart.percent_used),
        format!("{} written", decimal(smart.bytes_written)),
        format!("{} read", decimal(smart.bytes_read)),
        format!("spare {} % (warns at {} %)", smart.spare, smart.spare_threshold),
        format!("{} media errors", smart.media_errors),
        format!("{} error log entries", smart.error_entries),
        format!("on for {} h", smart.power_on_hours),
    ];
    if smart.critical_warning != 0 {
        parts.push(format!("critical warning 0x{:02x}", smart.critical_warning));
    }
    parts.join(", ")
}

fn heat(smart: &Smart) -> String {
    let [light, heavy] = smart.throttled;
    format!(
        "{} min above warning, {} min above critical, slowed lightly {light} times ({} s), \
         heavily {heavy} times ({} s)",
        smart.warning_minutes,
        smart.critical_minutes,
        smart.throttled_seconds[0],
        smart.throttled_seconds[1]
    )
}

fn content(disk: &Disk) -> String {
    let mut parts: Vec<String> = disk.signatures.clone().unwrap_or_default();
    for part in &disk.partitions {
        parts.push(format!("{} ({})", part.name, decimal(part.size.0.into())));
    }
    match (parts.is_empty(), &disk.signatures) {
        (true, Some(_)) => "no known signature".into(),
        _ => parts.join(", "),
    }
}
