//! The disks under the targets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, FilePlan, JobPlan, Plan};
use fiord_sys::block;
use fiord_sys::diskstats::{self, CountedDisk as Stack};
use fiord_sys::in_use::{self, Storage, Users};
use fiord_sys::root::Root;
use fiord_sys::survey::{Disk, DiskSurvey, SurveyDepth, signature};

use super::{Evidence, Unavailable};

/// The disks under the targets of a plan.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    /// The disks that hold the targets, and their member disks. Each disk appears once.
    pub disks: Vec<Disk>,
    /// The names of the disks under each device of the plan, and under each directory with a regular
    /// file of the plan: files of one directory are on the same disks.
    pub under: HashMap<PathBuf, Vec<String>>,
    /// The names of the disks under the directories in which jobs look up names.
    pub under_names: HashMap<PathBuf, Vec<String>>,
    /// The path of each device of the plan after following symbolic links such as `/dev/disk/by-id/…`.
    /// The file name is the name that the kernel uses for the device.
    pub nodes: HashMap<PathBuf, PathBuf>,
    /// The disk behind each SCSI or NVMe generic device that jobs write to. The counters of the block layer
    /// do not include passthrough commands, so checks of these counters must ignore this map.
    pub behind_generic: HashMap<PathBuf, String>,
    /// The signatures on each device that a job writes to.
    pub signatures: Vec<(PathBuf, Evidence<Vec<String>>)>,
    /// The uses of each partition that a job writes to, in words: `sda1 is mounted on /srv`.
    pub partitions: HashMap<PathBuf, Vec<String>>,
    /// The reason why mounts and swap are unknown for all disks; `None` if they are known.
    pub unchecked: Option<Unavailable>,
}

impl Devices {
    /// Examines the disks under all files and devices of the plan.
    pub(super) fn survey(plan: &Plan) -> Devices {
        let mut devices = Devices::default();
        let real = |kind| matches!(kind, FileKind::Regular | FileKind::Block | FileKind::Char);
        let files = plan.jobs.iter().flat_map(|job| &job.target.files);
        let mut last: Option<&FilePlan> = None;
        for file in files.filter(|file| real(file.kind)) {
            if last.replace(file).is_some_and(|last| on_same_disks(file, last)) {
                continue;
            }
            let place = place(file);
            if devices.under.contains_key(place) {
                continue;
            }
            if let (FileKind::Block | FileKind::Char, Ok(node)) =
                (file.kind, std::fs::canonicalize(&file.path))
            {
                devices.nodes.insert(file.path.clone(), node);
            }
            let mut names = Vec::new();
            for stack in diskstats::disks_of(&file.path).unwrap_or_default() {
                flatten(&stack, &mut names);
            }
            devices.under.insert(place.to_owned(), names);
        }
        devices.under_names = under_names(plan);
        devices.behind_generic = behind_generic(plan, &devices.under);
        let mut names: Vec<&String> =
            devices.under.values().flatten().chain(devices.behind_generic.values()).collect();
        names.sort();
        names.dedup();
        if !names.is_empty() {
            let survey = DiskSurvey::new(Root::machine(), SurveyDepth::Health);
            devices.disks = names.iter().filter_map(|name| survey.disk(name)).collect();
            devices.unchecked = survey.unchecked().map(|error| Unavailable::of(&error));
        }
        devices.signatures = signatures(plan);
        devices.partitions = partitions(devices.signatures.iter().map(|(path, _)| path));
        devices
    }

    /// Returns the path of a device after following symbolic links. Returns the path itself if it did not
    /// exist.
    pub fn node<'p>(&'p self, path: &'p Path) -> &'p Path {
        self.nodes.get(path).map_or(path, PathBuf::as_path)
    }

    /// Returns the names of the disks under a path of the plan.
    fn names_under(&self, path: &Path) -> Option<&[String]> {
        let names = self.under.get(path).or_else(|| self.under.get(path.parent()?));
        names.map(Vec::as_slice)
    }

    /// Returns the disks under a path of the plan.
    pub fn under(&self, path: &Path) -> impl Iterator<Item = &Disk> {
        let names = self.names_under(path).unwrap_or_default();
        self.disks.iter().filter(|disk| names.contains(&disk.name))
    }

    /// Returns the disk that a path of the plan is, or is a part of. Does not return member disks.
    #[must_use]
    pub fn written(&self, path: &Path) -> Option<&Disk> {
        let top = self.names_under(path).and_then(|names| names.first());
        self.named(top.or_else(|| self.behind_generic.get(path))?)
    }

    /// Returns the disks under the files of a job. Each disk appears once.
    #[must_use]
    pub fn of(&self, job: &JobPlan) -> Vec<&Disk> {
        let mut found: Vec<&Disk> = Vec::new();
        // The path of a file on the same disks.
        let mut places: Vec<&FilePlan> = job.target.files.iter().collect();
        places.dedup_by(|file, last| on_same_disks(file, last));
        for disk in places.iter().flat_map(|file| self.under(&file.path)) {
            if !found.iter().any(|known| known.name == disk.name) {
                found.push(disk);
            }
        }
        found
    }

    /// Returns the disk with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Disk> {
        self.disks.iter().find(|disk| disk.name == name)
    }
}

/// Returns the names of the disks under the first name of each job that works on names: a job has all of them
/// on one file system.
fn under_names(plan: &Plan) -> HashMap<PathBuf, Vec<String>> {
    let on_names = plan.jobs.iter().filter(|job| job.engine.def().access.name_call().is_some());
    let mut under = HashMap::new();
    for path in on_names.filter_map(|job| Some(&job.target.files.first()?.path)) {
        under.entry(path.clone()).or_insert_with(|| {
            let mut names = Vec::new();
            for stack in diskstats::disks_of(path).unwrap_or_default() {
                flatten(&stack, &mut names);
            }
            names
        });
    }
    under
}

/// Returns whether two files certainly have one entry in [`Devices::under`].
fn on_same_disks(a: &FilePlan, b: &FilePlan) -> bool {
    a.kind == b.kind && a.kind.is_file() && a.lies_beside(b)
}

/// Returns the key of a file in [`Devices::under`]: its directory, or the device itself.
fn place(file: &FilePlan) -> &Path {
    match (file.kind, file.path.parent()) {
        (FileKind::Regular, Some(directory)) => directory,
        _ => &file.path,
    }
}

/// Returns the devices that jobs write to.
fn written(plan: &Plan) -> impl Iterator<Item = &Path> {
    let writers = plan.jobs.iter().filter(|job| job.load.mix.changes_data());
    let device = |kind| matches!(kind, FileKind::Block | FileKind::Char);
    let files = writers.flat_map(|job| &job.target.files).filter(move |file| device(file.kind));
    files.map(|file| file.path.as_path())
}

/// Returns the disks behind generic (character) devices for which sysfs shows no disk.
fn behind_generic(plan: &Plan, under: &HashMap<PathBuf, Vec<String>>) -> HashMap<PathBuf, String> {
    let mut found = HashMap::new();
    for path in written(plan).filter(|path| under.get(*path).is_none_or(Vec::is_empty)) {
        let storage = in_use::storage(path).ok().flatten();
        let disk = storage.and_then(|storage| block::whole_disk_path(storage.device));
        if let Some(name) = disk.as_ref().and_then(|disk| disk.file_name()?.to_str()) {
            found.insert(path.to_owned(), name.to_owned());
        }
    }
    found
}

/// Returns the signatures at the start of the devices that jobs write to. If udev does not know them,
/// reads 136 KiB without the page cache; for a generic device, from its block device.
fn signatures(plan: &Plan) -> Vec<(PathBuf, Evidence<Vec<String>>)> {
    let mut found: Vec<(PathBuf, Evidence<Vec<String>>)> = Vec::new();
    for path in written(plan) {
        if found.iter().any(|(known, _)| known == path) {
            continue;
        }
        let storage = match in_use::storage(path) {
            Ok(Some(storage)) => storage,
            // Not storage, for example `/dev/null`.
            Ok(None) => continue,
            Err(error) => {
                found.push((path.to_owned(), Err(Unavailable::of(&error))));
                continue;
            }
        };
        let marks = match signature::by_udev(&Root::machine(), storage.device) {
            Some(marks) => Ok(marks),
            None => read_marks(&storage),
        };
        found.push((path.to_owned(), marks));
    }
    found
}

/// Returns the mounts, the swap space and the holders of those devices that are partitions.
fn partitions<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> HashMap<PathBuf, Vec<String>> {
    // Reads the tables, which are long on some machines, only when a partition needs them.
    let users = Users::now();
    let mut found = HashMap::new();
    for path in paths {
        let number = in_use::storage(path).ok().flatten().map(|storage| storage.device);
        let Some((number, sysfs)) = number.and_then(|n| Some((n, block::sysfs_path(n)?))) else {
            continue;
        };
        if !sysfs.join("partition").exists() {
            continue;
        }
        let Ok(uses) = users.of_device(number) else { continue };
        let mut words: Vec<String> = uses.iter().map(ToString::to_string).collect();
        let holders = users.holders(&sysfs, &[]);
        if !holders.is_empty() {
            words.push(format!("{} is built on it", holders.join(", ")));
        }
        found.insert(path.clone(), words);
    }
    found
}

fn read_marks(storage: &Storage) -> Evidence<Vec<String>> {
    let node = storage.node.as_deref();
    let node =
        node.ok_or_else(|| Unavailable(format!("there is no device node for {}", storage.name)))?;
    let logical = block::queue_number(storage.device, "logical_block_size").unwrap_or(512);
    let marks =
        signature::on_device(node, logical as usize).map_err(|error| Unavailable::of(&error))?;
    Ok(marks.into_iter().map(str::to_owned).collect())
}

fn flatten(stack: &Stack, names: &mut Vec<String>) {
    if !names.contains(&stack.name) {
        names.push(stack.name.clone());
    }
    stack.members.iter().for_each(|member| flatten(member, names));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{plan, scratch};

    #[test]
    fn links_to_devices_are_followed_in_the_survey() {
        let link = scratch();
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let (plan, _) =
            plan(&format!("--name=a --rw=read --size=4k --filename={}", link.display()));
        let devices = Devices::survey(&plan);
        std::fs::remove_file(&link).unwrap();
        assert_eq!(
            devices.node(&link),
            Path::new("/dev/null"),
            "the survey keeps the target of the removed link"
        );
        assert_eq!(devices.node(Path::new("/dev/else")), Path::new("/dev/else"));
    }
}
