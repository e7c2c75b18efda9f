//! What is known of the disks under the targets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, FilePlan, JobPlan, Plan};
use fiord_sys::block;
use fiord_sys::diskstats::{self, Disk as Stack};
use fiord_sys::in_use::{self, Storage, Users};
use fiord_sys::root::Root;
use fiord_sys::survey::{Depth, Disk, Survey, signature};

use super::{Evidence, Unavailable};

/// The disks under the targets of a plan.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    /// Each once: those that hold the targets, and those that these are made of.
    pub disks: Vec<Disk>,
    /// Names of the disks under each device of the plan, and under each directory that holds a regular file
    /// of it: files of one directory are on the same disks.
    pub under: HashMap<PathBuf, Vec<String>>,
    /// Each device of the plan behind its symbolic links, as `/dev/disk/by-id/…` has them, where
    /// there are any: the file name is the kernel's name of the device.
    pub nodes: HashMap<PathBuf, PathBuf>,
    /// Of SCSI generic devices that jobs write to, the disk. Commands are in no counter of the block
    /// layer: what is judged by those does not look at it.
    pub beside: HashMap<PathBuf, String>,
    /// What lies on each device that a job writes to.
    pub signatures: Vec<(PathBuf, Evidence<Vec<String>>)>,
    /// Of each partition that a job writes to: how it is used, in words (`sda1 is mounted on /srv`).
    pub partitions: HashMap<PathBuf, Vec<String>>,
    /// Why mounts and swap could be told of none of them.
    pub unchecked: Option<Unavailable>,
}

impl Devices {
    /// Of all files and devices of the plan.
    pub(super) fn survey(plan: &Plan) -> Devices {
        let mut devices = Devices::default();
        let real = |kind| matches!(kind, FileKind::Regular | FileKind::Block | FileKind::Char);
        let files = plan.jobs.iter().flat_map(|job| &job.target.files);
        let mut last = None;
        for file in files.filter(|file| real(file.kind)) {
            let place = place(file);
            if last.replace(place.as_os_str()) == Some(place.as_os_str())
                || devices.under.contains_key(place)
            {
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
        devices.beside = beside(plan, &devices.under);
        let mut names: Vec<&String> =
            devices.under.values().flatten().chain(devices.beside.values()).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            let survey = Survey::new(Root::machine(), Depth::Health);
            devices.disks = names.iter().filter_map(|name| survey.disk(name)).collect();
            devices.unchecked = survey.unchecked().map(|error| Unavailable::of(&error));
        }
        devices.signatures = signatures(plan);
        devices.partitions = partitions(devices.signatures.iter().map(|(path, _)| path));
        devices
    }

    /// A device of the plan behind its symbolic links; the path itself where nothing was there.
    pub fn node<'p>(&'p self, path: &'p Path) -> &'p Path {
        self.nodes.get(path).map_or(path, PathBuf::as_path)
    }

    /// Names of the disks under a path of the plan.
    fn names_under(&self, path: &Path) -> Option<&[String]> {
        let names = self.under.get(path).or_else(|| self.under.get(path.parent()?));
        names.map(Vec::as_slice)
    }

    /// The disks under a path of the plan.
    pub fn under(&self, path: &Path) -> impl Iterator<Item = &Disk> {
        let names = self.names_under(path).unwrap_or_default();
        self.disks.iter().filter(|disk| names.contains(&disk.name))
    }

    /// The disk that a path of the plan is or is a part of: not one of those that it is made of.
    pub fn written(&self, path: &Path) -> Option<&Disk> {
        let top = self.names_under(path).and_then(|names| names.first());
        self.named(top.or_else(|| self.beside.get(path))?)
    }

    /// The disks under a job's files, each once.
    pub fn of(&self, job: &JobPlan) -> Vec<&Disk> {
        let mut found: Vec<&Disk> = Vec::new();
        let mut places: Vec<&FilePlan> = job.target.files.iter().collect();
        places.dedup_by_key(|file| place(file).as_os_str());
        for disk in places.iter().flat_map(|file| self.under(&file.path)) {
            if !found.iter().any(|known| known.name == disk.name) {
                found.push(disk);
            }
        }
        found
    }

    /// The disk with this name.
    pub fn named(&self, name: &str) -> Option<&Disk> {
        self.disks.iter().find(|disk| disk.name == name)
    }
}

/// What decides which disks a file is on: its directory, or the device itself.
fn place(file: &FilePlan) -> &Path {
    match (file.kind, file.path.parent()) {
        (FileKind::Regular, Some(directory)) => directory,
        _ => &file.path,
    }
}

/// Devices that jobs write to.
fn written(plan: &Plan) -> impl Iterator<Item = &Path> {
    let writers = plan.jobs.iter().filter(|job| job.load.mix.changes_data());
    let device = |kind| matches!(kind, FileKind::Block | FileKind::Char);
    let files = writers.flat_map(|job| &job.target.files).filter(move |file| device(file.kind));
    files.map(|file| file.path.as_path())
}

/// Disks of character devices under which none was found.
fn beside(plan: &Plan, under: &HashMap<PathBuf, Vec<String>>) -> HashMap<PathBuf, String> {
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

/// Marks at the start of the devices that jobs write to, read of the block device beside a generic
/// one: 136 KiB of what udev does not know, past the page cache.
fn signatures(plan: &Plan) -> Vec<(PathBuf, Evidence<Vec<String>>)> {
    let mut found: Vec<(PathBuf, Evidence<Vec<String>>)> = Vec::new();
    for path in written(plan) {
        if found.iter().any(|(known, _)| known == path) {
            continue;
        }
        let storage = match in_use::storage(path) {
            Ok(Some(storage)) => storage,
            // No storage: `/dev/null`.
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

/// Mounts, swap space and what is built on those of some devices that are partitions.
fn partitions<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> HashMap<PathBuf, Vec<String>> {
    // The tables are long on some machines: they are read when a partition asks for them.
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
    let node = node.ok_or_else(|| Unavailable(format!("there is no node of {}", storage.name)))?;
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
    use crate::fixture::{plan, scratch};

    #[test]
    fn links_to_devices_are_followed_once_for_all() {
        let link = scratch();
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let (plan, _) =
            plan(&format!("--name=a --rw=read --size=4k --filename={}", link.display()));
        let devices = Devices::survey(&plan);
        std::fs::remove_file(&link).unwrap();
        assert_eq!(devices.node(&link), Path::new("/dev/null"), "it is gone, and known");
        assert_eq!(devices.node(Path::new("/dev/else")), Path::new("/dev/else"));
    }
}
