//! Who uses a disk: partitions of it, devices built on it, mounts and swap of any of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::file::Device;
use crate::mount::{self, Use};
use crate::root::{Root, names, number, text};

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The kernel's name.
    pub name: String,
    /// Its number in the table.
    pub number: u64,
    /// Its device number.
    pub device: Option<Device>,
    /// First byte on the disk.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

/// What is mounted and what is swap, read once for any number of disks.
#[derive(Debug, Default)]
pub struct Users {
    mounts: HashMap<Device, Vec<PathBuf>>,
    swaps: Vec<String>,
}

impl Users {
    /// Reads the mount table and the list of swap space.
    pub fn read(root: &Root) -> Users {
        let text = std::fs::read(root.path("/proc/self/mountinfo")).unwrap_or_default();
        let mut mounts: HashMap<Device, Vec<PathBuf>> = HashMap::new();
        for mount in mount::parse(&text) {
            for device in mount.devices() {
                mounts.entry(device).or_default().push(mount.point.clone());
            }
        }
        Users { mounts, swaps: swaps(root) }
    }

    /// How a disk, its partitions and what is built on them are in use.
    pub fn of(&self, disk: &Path) -> Vec<Use> {
        let mut found = Vec::new();
        for (name, device) in family(disk) {
            for point in device.and_then(|device| self.mounts.get(&device)).into_iter().flatten() {
                found.push(Use::Mounted { device: name.clone(), point: point.clone() });
            }
            if self.swaps.contains(&name) {
                found.push(Use::Swap { device: name });
            }
        }
        found
    }
}

/// Kernel names of swap space on devices.
fn swaps(root: &Root) -> Vec<String> {
    let text = root.text("/proc/swaps").unwrap_or_default();
    let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let name = |path: &str| {
        let real = std::fs::canonicalize(root.path(path)).unwrap_or_else(|_| path.into());
        Some(
            real.strip_prefix(root.path("/dev"))
                .or_else(|_| real.strip_prefix("/dev"))
                .ok()?
                .to_str()?
                .to_owned(),
        )
    };
    paths.filter_map(name).collect()
}

/// A disk with its partitions and all that is built on any of them, each once.
fn family(disk: &Path) -> Vec<(String, Option<Device>)> {
    let mut found: Vec<(String, Option<Device>)> = Vec::new();
    let mut todo = vec![disk.to_path_buf()];
    while let Some(path) = todo.pop() {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if found.iter().any(|(known, _)| known == name) {
            continue;
        }
        found.push((name.to_owned(), device(&path)));
        todo.extend(partitions(&path).iter().rev().map(|part| path.join(&part.name)));
        let holders = names(&path.join("holders"));
        todo.extend(
            holders.iter().filter_map(|name| path.join("holders").join(name).canonicalize().ok()),
        );
    }
    found
}

/// The device number of a block device, by its sysfs directory.
pub(super) fn device(sysfs: &Path) -> Option<Device> {
    Device::parse(&text(&sysfs.join("dev"))?)
}

/// Partitions of a disk, in order of their numbers.
pub fn partitions(disk: &Path) -> Vec<Partition> {
    let Some(prefix) = disk.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let mut found: Vec<Partition> = names(disk)
        .into_iter()
        .filter(|name| name.starts_with(prefix))
        .filter_map(|name| {
            let path = disk.join(&name);
            Some(Partition {
                number: number(&path.join("partition"))?,
                device: device(&path),
                start: number(&path.join("start"))?.saturating_mul(512),
                size: number(&path.join("size"))?.saturating_mul(512),
                name,
            })
        })
        .collect();
    found.sort_by_key(|part| part.number);
    found
}

/// Devices that are built on a disk or its partitions (device mapper, md, bcache).
pub fn holders(disk: &Path, parts: &[Partition]) -> Vec<String> {
    let mut found = names(&disk.join("holders"));
    found.extend(parts.iter().flat_map(|part| names(&disk.join(&part.name).join("holders"))));
    found.sort();
    found.dedup();
    found
}
