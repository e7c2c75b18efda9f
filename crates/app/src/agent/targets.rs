//! Which storage the jobs use, and how it is named, so that the coordinator notices when two hosts would write the same.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use fiord_fabric::message::HostTarget;
use fiord_plan::{FileKind, Plan};
use fiord_sys::block;
use fiord_sys::file::{self, Device, FileFacts, InodeType};
use fiord_sys::mount::{self, Mount};
use fiord_sys::root::Root;
use fiord_sys::survey::{Disk, DiskSurvey, SurveyDepth};
use fiord_types::Bytes;

use super::facts::boot_id;

/// Maximum number of targets in the answer to the coordinator. A job may have millions of files, but those of one job lie
/// in one directory and are alike.
const MAX_TARGETS: usize = 4096;

/// File systems that several hosts can mount at a time, by their names in the mount table.
const SHARED: [&str; 24] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.ceph",
    "fuse.cephfs",
    "fuse.glusterfs",
    "fuse.juicefs",
    "fuse.s3fs",
    "fuse.sshfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "panfs",
    "pvfs2",
    "smb3",
    "virtiofs",
    "wekafs",
];

/// The files and devices that the jobs use, sorted by path: one entry for each range.
pub(super) fn of(plan: &Plan) -> Vec<HostTarget> {
    let mut ranges: BTreeMap<&Path, Vec<UsedRange>> = BTreeMap::new();
    let jobs = plan.jobs.iter();
    for (job, file) in jobs.flat_map(|job| job.target.files.iter().map(move |file| (job, file))) {
        if !file.kind.has_path()
            || (ranges.len() >= MAX_TARGETS && !ranges.contains_key(&*file.path))
        {
            continue;
        }
        let lays_out = file.size_needed > file.size_now.or(Some(Bytes::ZERO));
        // A name is created or removed as a whole.
        let (begin, end) = match job.engine.def().access.name_call() {
            Some(_) => (Bytes::ZERO, Bytes(u64::MAX)),
            None => (file.offset, file.end()),
        };
        let writes = job.changes_files() || lays_out;
        let range = UsedRange { kind: file.kind, begin, end, writes };
        ranges.entry(&file.path).or_default().push(range);
    }
    let mut naming = StorageNames::default();
    let mut targets = Vec::new();
    for (path, ranges) in ranges {
        let Some(kind) = ranges.first().map(|range| range.kind) else { continue };
        let storage = naming.storage(path, kind);
        targets.extend(merged(ranges).into_iter().map(|range| HostTarget {
            path: path.display().to_string(),
            shared_id: storage.id.clone(),
            kind: storage.kind.clone(),
            scheduler: storage.scheduler.clone(),
            begin: range.begin,
            end: range.end,
            writes: range.writes,
        }));
    }
    targets.truncate(MAX_TARGETS);
    targets
}

/// A part of a file that a job uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UsedRange {
    kind: FileKind,
    begin: Bytes,
    end: Bytes,
    writes: bool,
}

/// Joins the ranges that touch each other and are both written, or both only read.
fn merged(mut ranges: Vec<UsedRange>) -> Vec<UsedRange> {
    ranges.sort_by_key(|range| (range.writes, range.begin, range.end));
    let mut out: Vec<UsedRange> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.writes == range.writes && range.begin <= last.end => {
                last.end = last.end.max(range.end);
            }
            _ => out.push(range),
        }
    }
    out
}

/// What a target lies on.
#[derive(Debug, Clone, Default)]
struct StorageName {
    /// See [`HostTarget::shared_id`].
    id: Option<String>,
    kind: String,
    scheduler: String,
}

/// Names storage, and remembers what it found: a job may have many files on one file system.
#[derive(Debug, Default)]
struct StorageNames {
    mounts: HashMap<Device, Option<Mount>>,
    disks: HashMap<Device, StorageName>,
    boot_id: String,
}

impl StorageNames {
    fn storage(&mut self, path: &Path, kind: FileKind) -> StorageName {
        let facts = file::facts(path).ok();
        let node = facts.and_then(|facts| facts.node.map(|device| (facts.kind, device)));
        match (kind, node) {
            (FileKind::Pipe | FileKind::Endpoint | FileKind::Virtual, _) => StorageName::default(),
            (_, Some((InodeType::Block, device))) => self.device(device),
            (_, Some((_, device))) => match block::block_device_of_generic(device) {
                Some((_, device)) => self.device(device),
                None => StorageName { kind: "character device".into(), ..StorageName::default() },
            },
            _ => self.file(path),
        }
    }

    /// A file on a file system. It need not exist.
    fn file(&mut self, path: &Path) -> StorageName {
        let Some((existing, missing)) = nearest(path) else { return StorageName::default() };
        let place = || mount::holding(path).ok().flatten();
        let mount = self.mounts.entry(existing.device).or_insert_with(place).clone();
        let Some(mount) = mount else { return StorageName::default() };
        let disk = mount.devices().first().map(|device| self.device(*device)).unwrap_or_default();
        let behind =
            if disk.kind.is_empty() { String::new() } else { format!(" on {}", disk.kind) };
        let file = format!("inode {}{}", existing.inode, shown(&missing));
        let id = match SHARED.contains(&mount.kind.as_str()) {
            true if disk.id.is_some() => disk.id.map(|id| format!("{id} {file}")),
            true => Some(format!("{}:{} {file}", mount.kind, mount.source.display())),
            false => self.local(&format!("{} {file}", existing.device)),
        };
        StorageName { id, kind: format!("{}{behind}", mount.kind), scheduler: disk.scheduler }
    }

    /// Names something that only agents on this machine can share. `None` if the machine has no name.
    fn local(&mut self, what: &str) -> Option<String> {
        if self.boot_id.is_empty() {
            self.boot_id = boot_id();
        }
        (!self.boot_id.is_empty()).then(|| format!("boot:{} {what}", self.boot_id))
    }

    /// A block device.
    fn device(&mut self, device: Device) -> StorageName {
        if let Some(known) = self.disks.get(&device) {
            return known.clone();
        }
        let disk = block::whole_disk_path(device)
            .and_then(|sysfs| Some(sysfs.file_name()?.to_str()?.to_owned()))
            .and_then(|name| DiskSurvey::new(Root::machine(), SurveyDepth::Files).disk(&name));
        let wwid = disk.as_ref().and_then(|disk| disk.identity.wwid.as_ref());
        let id = match (wwid, &disk) {
            (Some(wwid), Some(disk)) => Some(format!("wwid:{wwid}{}", partition(disk, device))),
            _ => self.local(&format!("device {device}")),
        };
        let name = StorageName {
            id,
            kind: disk.as_ref().map(description).unwrap_or_default(),
            scheduler: block::scheduler(device).map(|found| found.current).unwrap_or_default(),
        };
        self.disks.insert(device, name.clone());
        name
    }
}

/// Which partition of a disk a device is; empty for the whole disk.
fn partition(disk: &Disk, device: Device) -> String {
    let part = disk.partitions.iter().find(|part| part.device == Some(device));
    part.map(|part| format!(" partition {}", part.number)).unwrap_or_default()
}

/// Model and size of a disk.
fn description(disk: &Disk) -> String {
    let model = disk.identity.model.as_deref().unwrap_or(disk.bus.word());
    format!("{model}, {} bytes", disk.capacity)
}

/// The file, or the nearest directory above it that exists, and the names below that directory, the last one first.
fn nearest(path: &Path) -> Option<(FileFacts, Vec<OsString>)> {
    let mut at: PathBuf = std::path::absolute(path).ok()?;
    let mut missing = Vec::new();
    loop {
        if let Ok(facts) = file::facts(&at) {
            return Some((facts, missing));
        }
        missing.push(at.file_name()?.to_owned());
        at.pop();
    }
}

fn shown(missing: &[OsString]) -> String {
    missing.iter().rev().map(|name| format!("/{}", name.display())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(begin: u64, end: u64, writes: bool) -> UsedRange {
        UsedRange { kind: FileKind::Regular, begin: Bytes(begin), end: Bytes(end), writes }
    }

    #[test]
    fn ranges_that_touch_are_joined_unless_one_is_only_read() {
        let ranges = vec![range(8, 12, true), range(0, 4, true), range(4, 6, true)];
        assert_eq!(merged(ranges), [range(0, 6, true), range(8, 12, true)]);
        let ranges = vec![range(0, 4, true), range(2, 6, false), range(3, 9, false)];
        assert_eq!(merged(ranges), [range(2, 9, false), range(0, 4, true)]);
    }

    #[test]
    fn a_file_has_one_name_by_all_its_paths_whether_it_exists_or_not() {
        let directory = std::env::temp_dir().join(format!("fiord-agent-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("a")).unwrap();
        let name =
            |path: &str| StorageNames::default().storage(&directory.join(path), FileKind::Regular);
        let missing = name("a/b/c");
        assert!(missing.id.is_some() && !missing.kind.is_empty(), "{missing:?}");
        assert_eq!(name("a/../a/b/c").id, missing.id);
        assert_ne!(name("a/b/d").id, missing.id);
        std::fs::write(directory.join("x"), "x").unwrap();
        std::fs::hard_link(directory.join("x"), directory.join("y")).unwrap();
        assert_eq!(name("x").id, name("y").id);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn devices_that_keep_nothing_are_not_shared() {
        let null = StorageNames::default().storage(Path::new("/dev/null"), FileKind::Char);
        assert_eq!((null.id, null.kind.as_str()), (None, "character device"));
    }
}
