//! How much of what jobs read beyond write pointers was written: the zones of their devices.

use std::path::{Path, PathBuf};

use fiord_plan::{Dir, FileKind, JobPlan, Plan};
use fiord_sys::zone::{Device, Zone, ZonedDevice};

use super::{Evidence, Unavailable};

/// More zones than these are not asked for: a report of all of them can take seconds.
const MOST: usize = 4096;

/// The zones of a range that have a write pointer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// How many there are.
    pub zones: u64,
    /// How many of them are not written to their end.
    pub partly: u64,
    /// Bytes that they hold in all, when they are full.
    pub capacity: u64,
    /// Bytes that they hold.
    pub bytes: u64,
}

impl Written {
    /// Adds a zone up.
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
    /// Both together.
    pub(crate) fn with(self, more: &Written) -> Written {
        Written {
            zones: self.zones + more.zones,
            partly: self.partly + more.partly,
            capacity: self.capacity + more.capacity,
            bytes: self.bytes + more.bytes,
        }
    }
}

/// Whether a job may read what was never written.
pub(crate) fn reads_beyond(job: &JobPlan) -> bool {
    job.load.mix.has(Dir::Read) && job.load.zoned.is_some_and(|zoned| zoned.read_beyond)
}

/// Of each device that jobs read beyond write pointers. (Zones that a file is made believe to have
/// are the run's own.)
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

fn written(path: &Path, from: u64, to: u64) -> Evidence<Written> {
    let device = Device::open(path, false).map_err(|e| Unavailable::of(&e))?;
    let zones = device.report(from, MOST).map_err(|e| Unavailable::of(&e))?;
    if zones.len() == MOST && zones.last().is_some_and(|zone| zone.end() < to) {
        return Err(Unavailable(format!("more than {MOST} zones")));
    }
    Ok(zones.iter().filter(|zone| zone.start < to).fold(Written::default(), Written::add))
}
