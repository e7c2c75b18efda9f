//! The survey as JSON: bytes and SI units, unrounded, and `null` for unknown values.

use fiord_sys::survey::pcie::{Function, Speed};
use fiord_sys::survey::{Disk, SharedLink, Smart};
use serde_json::{Value, json};

use crate::devices::{Shown, words};

/// Version of the document; increases when a key changes its meaning.
const SCHEMA: u32 = 1;

pub(crate) fn text(shown: &Shown) -> String {
    let mut devices: Vec<Value> = shown.disks.iter().map(disk).collect();
    if shown.unchecked.is_some() {
        devices.iter_mut().for_each(|disk| disk["uses"] = Value::Null);
    }
    let links: Vec<Value> = shown.links.iter().map(shared).collect();
    let document = json!({
        "schema": SCHEMA,
        "devices": devices,
        "links": links,
        "not_permitted": words::missing(&shown.disks),
        "uses_unchecked": shown.unchecked,
    });
    format!("{document:#}\n")
}

fn disk(disk: &Disk) -> Value {
    let id = &disk.identity;
    json!({
        "name": disk.name,
        "node": disk.device.map(|_| disk.node()),
        "generic": disk.generic.as_ref().map(|name| format!("/dev/{name}")),
        "device_number": disk.device.map(|device| device.to_string()),
        "bus": disk.bus.word(),
        "model": id.model,
        "firmware": id.firmware,
        "serial": id.serial,
        "wwid": id.wwid,
        "namespace": disk.nsid,
        "format": disk.format,
        "allocation": disk.allocation.as_ref().map(|allocation| json!({
            "size": allocation.size,
            "capacity": allocation.capacity,
            "used": allocation.used,
            "thin": allocation.thin,
        })),
        "capacity": disk.capacity.0,
        "read_only": disk.read_only,
        "removable": disk.removable,
        "queue": queue(disk),
        "zones": zones(disk),
        "numa_node": disk.numa_node,
        "pcie": disk.pcie.iter().map(function).collect::<Vec<_>>(),
        "cable_bytes_per_second": disk.cable,
        "temperature_celsius": disk.health.temperature,
        "smart": disk.health.smart.as_ref().map(smart),
        "scsi_errors": disk.health.scsi_errors,
        "partitions": disk.partitions.iter().map(|part| json!({
            "name": part.name, "number": part.number, "start": part.start, "size": part.size,
        })).collect::<Vec<_>>(),
        "signatures": disk.signatures,
        "holders": disk.holders,
        "members": disk.members,
        "uses": disk.uses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "not_permitted": disk.missing,
    })
}

fn queue(disk: &Disk) -> Value {
    let q = &disk.queue;
    json!({
        "logical_block": q.logical.0,
        "physical_block": q.physical.0,
        "minimum_io": q.minimum_io.0,
        "optimal_io": q.optimal_io.0,
        "scheduler": q.scheduler.as_ref().map(|(now, _)| now),
        "schedulers": q.scheduler.as_ref().map(|(_, all)| all),
        "write_cache": q.write_cache,
        "fua": q.fua,
        "requests": q.nr_requests,
        "hardware_queues": q.hardware_queues,
        "device_depth": disk.device_depth,
        "max_io": q.max_io.map(|(set, _)| set.0),
        "max_io_of_hardware": q.max_io.map(|(_, hardware)| hardware.0),
        "max_segments": q.max_segments,
        "wbt_lat_us": q.wbt_lat_us,
        "nomerges": q.nomerges,
        "iostats": q.iostats,
        "rotational": q.rotational,
        "discard_granularity": q.discard_granularity.0,
    })
}

fn zones(disk: &Disk) -> Value {
    disk.queue.zones.as_ref().map_or(Value::Null, |zones| {
        json!({
            "model": zones.model.word(),
            "count": zones.count,
            "size": zones.size.0,
            "max_open": zones.max_open,
            "max_active": zones.max_active,
            "max_append": zones.max_append.map(|size| size.0),
        })
    })
}

fn speed(speed: Option<Speed>) -> Value {
    speed.map_or(Value::Null, |speed| {
        json!({
            "gigatransfers": f64::from(speed.tenths) / 10.0,
            "generation": speed.generation(),
            "width": speed.width,
            "bytes_per_second": speed.bytes(),
        })
    })
}

fn function(function: &Function) -> Value {
    json!({
        "address": function.address,
        "class": format!("0x{:06x}", function.class),
        "driver": function.driver,
        "link": speed(function.now),
        "best": speed(function.own_best),
        "best_of_link": speed(function.link_best()),
    })
}

fn shared(link: &SharedLink) -> Value {
    json!({
        "address": link.address,
        "bytes_per_second": link.bytes,
        "demand": link.demand,
        "oversubscription": link.ratio(),
        "disks": link.disks,
    })
}

fn smart(smart: &Smart) -> Value {
    // Not all JSON parsers read 128-bit numbers, and no drive writes 2^64 bytes.
    let wide = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
    json!({
        "critical_warning": smart.critical_warning,
        "percent_used": smart.percent_used,
        "spare_percent": smart.spare,
        "spare_threshold_percent": smart.spare_threshold,
        "bytes_written": wide(smart.bytes_written),
        "bytes_read": wide(smart.bytes_read),
        "power_on_hours": wide(smart.power_on_hours),
        "unsafe_shutdowns": wide(smart.unsafe_shutdowns),
        "media_errors": wide(smart.media_errors),
        "error_log_entries": wide(smart.error_entries),
        "warning_temperature_minutes": smart.warning_minutes,
        "critical_temperature_minutes": smart.critical_minutes,
        "thermal_transitions": smart.throttled,
        "thermal_seconds": smart.throttled_seconds,
    })
}
