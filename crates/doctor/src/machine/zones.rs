//! The zones of devices on which jobs read beyond write pointers: how much of them is written.

use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, JobPlan, Plan};
use fiord_sys::zone::{Zone, ZonedDevice, ZonedNode};
use fiord_types::{Bytes, Dir};

use super::{Evidence, Unavailable};

/// Maximum number of zones in a report: a report of all zones can take seconds.
const MAX_ZONES: usize = 4096;

/// Totals of the zones of a range that have a write pointer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of zones.
    pub zones: u64,
    /// Number of zones that are not full.
    pub partly: u64,
    /// Total capacity.
    pub capacity: Bytes,
    pub bytes: Bytes,
}

impl Written {
    /// Adds a zone to the totals.
    pub(crate) fn add(mut self, zone: &Zone) -> Written {
        if zone.is_sequential() {
            let bytes = zone.written();
            self.zones += 1;
            self.partly += u64::from(bytes < zone.capacity);
            self.capacity += zone.capacity;
            self.bytes += bytes;
        }
        self
    }
}

impl Written {
    /// Returns the sum of two totals.
    pub(crate) fn with(self, more: &Written) -> Written {
        Written {
            zones: self.zones + more.zones,
            partly: self.partly + more.partly,
            capacity: self.capacity + more.capacity,
            bytes: self.bytes + more.bytes,
        }
    }
}

/// Returns whether a job may read unwritten space of zones.
pub(crate) fn reads_beyond(job: &JobPlan) -> bool {
    job.load.mix.has(Dir::Read) && job.load.zoned.is_some_and(|zoned| zoned.read_beyond)
}

/// Examines each device on which jobs read beyond write pointers. Emulated zones on files belong to the
/// run and are not included.
pub(super) fn survey(plan: &Plan) -> Vec<(PathBuf, Evidence<Written>)> {
    let mut found: Vec<(PathBuf, Evidence<Written>)> = Vec::new();
    let jobs = plan.jobs.iter().filter(|job| reads_beyond(job));
    for file in jobs.flat_map(|job| &job.target.files) {
        let device = matches!(file.kind, FileKind::Block | FileKind::Char);
        if device && found.iter().all(|(path, _)| *path != file.path) {
            let end = file.offset.saturating_add(file.len);
            found.push((file.path.clone(), written(&file.path, file.offset, end)));
        }
    }
    found
}

fn written(path: &Path, from: Bytes, to: Bytes) -> Evidence<Written> {
    let device = ZonedNode::open(path, false).map_err(|e| Unavailable::of(&e))?;
    let zones = device.report(from, MAX_ZONES).map_err(|e| Unavailable::of(&e))?;
    if zones.len() == MAX_ZONES && zones.last().is_some_and(|zone| zone.end() < to) {
        return Err(Unavailable(format!("more than {MAX_ZONES} zones")));
    }
    Ok(zones.iter().filter(|zone| zone.start < to).fold(Written::default(), Written::add))
}
