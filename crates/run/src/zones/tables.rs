//! The zone tables of a run: one for each device, whatever path leads to it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fiord_plan::{FileKind, FilePlan, Plan, Zones};
use fiord_sys::file::Device;
use fiord_sys::{block, file, zone};
use fiord_types::Bytes;

use super::ZoneTable;
use super::block_layer_sync::BlockLayerSync;
use crate::error::{JobError, Stage};

/// All zone tables of a run.
#[derive(Debug, Default)]
pub(crate) struct ZoneTables {
    list: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    identity: Identity,
    path: PathBuf,
    kind: FileKind,
    zones: Zones,
    /// At least one job writes or trims.
    write: bool,
    /// End of the last byte that any job uses.
    end: Bytes,
    table: OnceLock<Result<Arc<ZoneTable>, JobError>>,
}

impl ZoneTables {
    /// Tables for all zoned files of a plan. Opens nothing yet.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut list: Vec<Entry> = Vec::new();
        for job in &plan.jobs {
            for file in &job.target.files {
                let Some(zones) = file.zones else { continue };
                let identity = Identity::of(file);
                let end = file.offset.saturating_add(file.len);
                let write = !job.target.open.read_only && !job.only_verifies();
                match list.iter_mut().find(|entry| entry.identity == identity) {
                    Some(entry) => {
                        entry.end = entry.end.max(end);
                        entry.write |= write;
                    }
                    None => list.push(Entry {
                        identity,
                        path: file.path.clone(),
                        kind: file.kind,
                        zones,
                        write,
                        end,
                        table: OnceLock::new(),
                    }),
                }
            }
        }
        ZoneTables { list }
    }

    /// The table of a file. The first call for a device reads its zone report. Fails if that fails, or if the
    /// jobs disagree on the zone size.
    pub(crate) fn get(&self, file: &FilePlan) -> Result<Arc<ZoneTable>, JobError> {
        let identity = Identity::of(file);
        let entry = self.list.iter().find(|entry| entry.identity == identity);
        let entry = entry.ok_or_else(|| {
            JobError::new(
                Stage::ZoneSetUp,
                None,
                "the plan lacks zones for this file: this is a bug, please report it",
            )
            .at(&file.path)
        })?;
        if Some(entry.zones) != file.zones {
            let what = "the jobs of this run have different zone sizes or capacities for this file. \
                        To fix: give them the same zonesize and zonecapacity";
            return Err(JobError::new(Stage::ZoneSetUp, None, what).at(&file.path));
        }
        entry.table.get_or_init(|| entry.make().map(Arc::new)).clone()
    }
}

impl Entry {
    fn make(&self) -> Result<ZoneTable, JobError> {
        if let Some(capacity) = self.zones.emulated {
            let (size, count) = (self.zones.size, self.end.div_ceil(self.zones.size));
            // If a job of this run writes, all zones start empty, as in fio.
            if self.write || self.kind != FileKind::Regular {
                return Ok(ZoneTable::emulated(&self.path, size, capacity, count));
            }
            let written = contents(&self.path, size, capacity, count).map_err(|e| {
                JobError::new(Stage::ZoneSetUp, e.errno, error_words(&e)).at(&self.path)
            })?;
            return Ok(ZoneTable::emulated_with(&self.path, size, capacity, &written));
        }
        let device = zone::ZonedNode::open(&self.path, self.write).map_err(|e| {
            JobError::new(
                Stage::ZoneReport,
                e.errno,
                format!("{}{}", error_words(&e), advice(self.kind)),
            )
            .at(&self.path)
        })?;
        ZoneTable::of_device(&self.path, Box::new(device), |zones| {
            let written = self.write.then_some(zones)?;
            BlockLayerSync::of(&self.path, self.kind, written)
        })
    }
}

/// Bytes written in each emulated zone of a file: from the start of the zone to the first hole.
fn contents(
    path: &Path,
    size: Bytes,
    capacity: Bytes,
    count: u64,
) -> fiord_sys::Result<Vec<Bytes>> {
    let file = file::Open::read_only().open(path)?;
    let parts = file::written(&file, Bytes::ZERO, size * count)?;
    let mut parts = parts.iter().peekable();
    let held = |zone: u64| {
        let start = size * zone;
        while parts.next_if(|part| part.end <= start).is_some() {}
        let part = parts.peek().filter(|part| part.contains(&start));
        part.map_or(Bytes::ZERO, |part| (part.end - start).min(capacity))
    };
    Ok((0..count).map(held).collect())
}

/// The failed operation and the device's message.
pub(super) fn error_words(error: &fiord_sys::Error) -> String {
    match &error.said {
        Some(said) => format!("{}: {said}", error.op),
        None => error.op.to_string(),
    }
}

fn advice(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Char => {
            ". To fix: run as root (NVMe commands need CAP_SYS_ADMIN, SCSI commands CAP_SYS_RAWIO)"
        }
        _ => "",
    }
}

/// Identifies a device whatever path leads to it.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// A block device, by its number. A generic character device counts as its block device.
    Device(Device),
    /// Any other file, with symbolic links resolved.
    Path(PathBuf),
}

impl Identity {
    fn of(file: &FilePlan) -> Identity {
        let path = || {
            let path = file.path.canonicalize();
            path.or_else(|_| std::path::absolute(&file.path)).unwrap_or(file.path.clone())
        };
        let node = file::facts(&file.path).ok().and_then(|facts| facts.node);
        match (file.kind, node) {
            (kind, _) if !kind.has_path() => Identity::Path(file.path.clone()),
            (FileKind::Block, Some(node)) => Identity::Device(node),
            (FileKind::Char, Some(node)) => block::block_device_of_generic(node)
                .map_or_else(|| Identity::Path(path()), |(_, block)| Identity::Device(block)),
            _ => Identity::Path(path()),
        }
    }
}
