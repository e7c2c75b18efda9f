//! The serialized form of [`DeviceView`]: an object for each direction, with the means and differences that readers want.

use fiord_types::{Bytes, Dir, PerDir};
use serde::{Deserialize, Serialize};

use super::{DeviceDir, DeviceView, Issued};
use crate::maps::is_default;
use crate::ramp::SyncCount;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StoredView {
    name: String,
    seconds: f64,
    depth: f64,
    util: f64,
    flushes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trim: Option<Row>,
    #[serde(skip_serializing_if = "is_default")]
    issued_syncs: u64,
    #[serde(skip_serializing_if = "is_default")]
    issued_zone_commands: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    issued_depth: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<DeviceView>,
    /// What the jobs issued is known, even if they issued nothing.
    #[serde(rename = "wire:issued")]
    is_issued_known: bool,
}

/// One direction, in which the device or the jobs counted an I/O.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
struct Row {
    ios: u64,
    bytes: Bytes,
    mean_bytes: f64,
    merges: u64,
    mean_ms: f64,
    #[serde(skip_serializing_if = "is_default")]
    seconds: f64,
    #[serde(skip_serializing_if = "is_default")]
    empty_ios: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    splits: Option<u64>,
    #[serde(flatten)]
    issued: Option<IssuedRow>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct IssuedRow {
    issued_ios: u64,
    #[serde(default)]
    issued_bytes: Bytes,
    #[serde(default)]
    issued_mean_bytes: f64,
    #[serde(default, skip_serializing_if = "is_default")]
    issued_ramp_ios: u64,
    #[serde(default, rename = "wire:failed_bytes")]
    failed_bytes: Bytes,
}

impl From<DeviceView> for StoredView {
    fn from(view: DeviceView) -> StoredView {
        let row = |dir: Dir| {
            let seen = view.dirs[dir];
            let issued = view.issued.map(|issued| IssuedRow {
                issued_ios: issued.ios[dir],
                issued_bytes: issued.bytes[dir],
                issued_mean_bytes: issued.size(dir),
                issued_ramp_ios: issued.ramp_ios[dir],
                failed_bytes: issued.failed_bytes[dir],
            });
            let is_used = seen.ios > 0 || issued.is_some_and(|row| row.issued_ios > 0);
            is_used.then(|| Row {
                ios: seen.ios,
                bytes: seen.bytes,
                mean_bytes: view.size(dir),
                merges: seen.merges,
                mean_ms: seen.mean_ms,
                seconds: view.dir_seconds[dir],
                empty_ios: view.empty(dir),
                splits: view.splits(dir),
                issued,
            })
        };
        let [read, write, trim] = Dir::ALL.map(row);
        let issued = view.issued.unwrap_or_default();
        StoredView {
            name: view.name,
            seconds: view.seconds,
            depth: view.depth,
            util: view.util,
            flushes: view.flushes,
            read,
            write,
            trim,
            issued_syncs: issued.syncs.0,
            issued_zone_commands: issued.zone_commands,
            issued_depth: issued.depth,
            members: view.members,
            is_issued_known: view.issued.is_some(),
        }
    }
}

impl From<StoredView> for DeviceView {
    fn from(stored: StoredView) -> DeviceView {
        let rows =
            PerDir::from([stored.read, stored.write, stored.trim].map(Option::unwrap_or_default));
        let is_known = stored.is_issued_known
            || stored.issued_depth.is_some()
            || rows.values().any(|row| row.issued.is_some());
        let issued = rows.map(|row| row.issued.unwrap_or_default());
        let issued = Issued {
            ios: issued.map(|row| row.issued_ios),
            bytes: issued.map(|row| row.issued_bytes),
            failed_bytes: issued.map(|row| row.failed_bytes),
            zone_commands: stored.issued_zone_commands,
            syncs: SyncCount(stored.issued_syncs),
            ramp_ios: issued.map(|row| row.issued_ramp_ios),
            depth: stored.issued_depth,
        };
        let seen = |row: Row| DeviceDir {
            ios: row.ios,
            merges: row.merges,
            bytes: row.bytes,
            mean_ms: row.mean_ms,
        };
        DeviceView {
            name: stored.name,
            seconds: stored.seconds,
            dirs: rows.map(seen),
            dir_seconds: rows.map(|row| row.seconds),
            flushes: stored.flushes,
            depth: stored.depth,
            util: stored.util,
            issued: is_known.then_some(issued),
            members: stored.members,
            parts: Vec::new(),
        }
    }
}
