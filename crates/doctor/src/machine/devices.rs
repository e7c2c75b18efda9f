//! What is known of the disks under the targets.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, JobPlan, Plan};
use fiord_sys::diskstats::{self, Disk as Stack};
use fiord_sys::root::Root;
use fiord_sys::survey::{Depth, Disk, Survey, signature};
use fiord_sys::{block, file};

use super::{Evidence, Gap};

/// The disks under the targets of a plan.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    /// Each once: those that hold the targets, and those that these are made of.
    pub disks: Vec<Disk>,
    /// Names of the disks under each path of the plan.
    pub under: HashMap<PathBuf, Vec<String>>,
    /// What lies on each block device that a job writes to.
    pub signatures: Vec<(PathBuf, Evidence<Vec<String>>)>,
}

impl Devices {
    /// Of all files and devices of the plan.
    pub(super) fn survey(plan: &Plan) -> Devices {
        let mut devices = Devices::default();
        let mut seen: HashSet<&Path> = HashSet::new();
        let mut known: HashMap<&Path, Vec<String>> = HashMap::new();
        let real = |kind| matches!(kind, FileKind::Regular | FileKind::Block | FileKind::Char);
        let files = plan.jobs.iter().flat_map(|job| &job.target.files);
        for file in files.filter(|file| real(file.kind)) {
            if !seen.insert(&file.path) {
                continue;
            }
            // Files of one directory are on the same disks.
            let place = match (file.kind, file.path.parent()) {
                (FileKind::Regular, Some(directory)) => directory,
                _ => file.path.as_path(),
            };
            let names = known.entry(place).or_insert_with(|| {
                let mut names = Vec::new();
                for stack in diskstats::disks_of(&file.path).unwrap_or_default() {
                    flatten(&stack, &mut names);
                }
                names
            });
            devices.under.insert(file.path.clone(), names.clone());
        }
        let mut names: Vec<&String> = devices.under.values().flatten().collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            let survey = Survey::new(Root::machine(), Depth::Health);
            devices.disks = names.iter().filter_map(|name| survey.disk(name)).collect();
        }
        devices.signatures = signatures(plan);
        devices
    }

    /// The disks under a path of the plan.
    pub fn under(&self, path: &Path) -> impl Iterator<Item = &Disk> {
        let names = self.under.get(path).map(Vec::as_slice).unwrap_or_default();
        self.disks.iter().filter(|disk| names.contains(&disk.name))
    }

    /// The disks under a job's files, each once.
    pub fn of(&self, job: &JobPlan) -> Vec<&Disk> {
        let mut found: Vec<&Disk> = Vec::new();
        for disk in job.target.files.iter().flat_map(|file| self.under(&file.path)) {
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

/// Marks at the start of the block devices that jobs write to: 136 KiB are read of what udev does
/// not know, past the page cache.
fn signatures(plan: &Plan) -> Vec<(PathBuf, Evidence<Vec<String>>)> {
    let mut found: Vec<(PathBuf, Evidence<Vec<String>>)> = Vec::new();
    let writers = plan.jobs.iter().filter(|job| job.load.mix.changes_data());
    let files = writers.flat_map(|job| &job.target.files);
    for file in files.filter(|file| file.kind == FileKind::Block) {
        if found.iter().any(|(path, _)| *path == file.path) {
            continue;
        }
        let number = file::facts(&file.path).ok().and_then(|facts| facts.node);
        let known = number.and_then(|number| signature::by_udev(&Root::machine(), number));
        let logical = number.and_then(|n| block::queue_number(n, "logical_block_size"));
        let marks = match known {
            Some(marks) => Ok(marks),
            None => signature::on_device(&file.path, logical.unwrap_or(512) as usize)
                .map(|marks| marks.into_iter().map(str::to_owned).collect())
                .map_err(|error| Gap::of(&error)),
        };
        found.push((file.path.clone(), marks));
    }
    found
}

fn flatten(stack: &Stack, names: &mut Vec<String>) {
    if !names.contains(&stack.name) {
        names.push(stack.name.clone());
    }
    stack.members.iter().for_each(|member| flatten(member, names));
}
