//! Finds out whether a device is in use: whether the device, its partitions or devices built on them
//! are mounted or swap, and whether another holder keeps it that no list shows.
//!
//! If that cannot be determined, the functions return an error and never "not in use", because the
//! caller is about to destroy the data.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use fiord_types::Errno;

use crate::file::{self, Device, InodeType};
use crate::root::{Root, names, text};
use crate::{Error, Result, block, mount};

/// A way in which a block device is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceUse {
    Mounted {
        /// Name of the mounted device: the device asked about, one of its partitions, or a device built on
        /// them.
        device: String,
        /// The mount point.
        point: PathBuf,
    },
    /// The device is swap space.
    Swap {
        /// Name of the swap device: the device asked about, one of its partitions, or a device built on
        /// them.
        device: String,
    },
}

impl std::fmt::Display for DeviceUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceUse::Mounted { device, point } => {
                write!(f, "{device} is mounted on {}", point.display())
            }
            DeviceUse::Swap { device } => write!(f, "{device} is swap space"),
        }
    }
}

/// Why a device or file should not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteObstacle {
    /// The device, a partition of it, or a device built on it is mounted or swap.
    Listed(DeviceUse),
    /// Another device is built on it, or a holder has claimed it exclusively.
    Held {
        /// The kernel's name of the device.
        device: String,
        /// Devices built on it (`dm-0`, `md1`, `loop3`, `ubi0`). Empty if no list names the holder: ZFS,
        /// an external journal, a program with `O_EXCL`.
        by: Vec<String>,
    },
}

impl std::fmt::Display for WriteObstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteObstacle::Listed(listed) => listed.fmt(f),
            WriteObstacle::Held { device, by } if by.is_empty() => write!(
                f,
                "{device} is held by the kernel or a program that uses it exclusively (RAID, ZFS, LVM)"
            ),
            WriteObstacle::Held { device, by } => {
                write!(f, "{device} is held by {}", by.join(", "))
            }
        }
    }
}

/// Returns the first user of the device or file at a path. For many paths use [`Users::user`].
///
/// # Errors
/// Errors of [`Users::user`].
pub fn user(path: &Path) -> Result<Option<WriteObstacle>> {
    Users::now().user(path)
}

/// The block device that a path stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// The kernel's name of the block device.
    pub name: String,
    /// Device number.
    pub device: Device,
    /// Path at which it can be opened; `None` if `/dev` has no node for it, as in a container.
    pub node: Option<PathBuf>,
}

/// Returns the block device that a path names, or the block device of the same storage if the path
/// names an NVMe generic device, a SCSI generic device or raw flash. `None` for other files.
///
/// # Errors
/// Errors of `stat(2)`.
pub fn storage(path: &Path) -> Result<Option<Storage>> {
    let facts = file::facts(path)?;
    Ok(match (facts.kind, facts.node) {
        (InodeType::Block, Some(device)) => {
            let name = block::name(device).unwrap_or_else(|| path.display().to_string());
            Some(Storage { name, device, node: Some(path.to_owned()) })
        }
        (InodeType::Char, Some(node)) => block_device_of_char(node).map(|(name, device)| {
            let path = block::node(&name);
            let same = |found: file::FileFacts| {
                found.kind == InodeType::Block && found.node == Some(device)
            };
            let node = file::facts(&path).is_ok_and(same).then_some(path);
            Storage { name, device, node }
        }),
        _ => None,
    })
}

fn block_device_of_char(node: Device) -> Option<(String, Device)> {
    block::block_device_of_generic(node).or_else(|| block::block_device_of_flash(node))
}

/// One entry of `/proc/swaps`.
#[derive(Debug)]
struct Swap {
    /// Name below `/dev`, if the entry is a device there.
    name: Option<String>,
    device: Option<Device>,
}

/// A loop device with a backing file. If that file is a disk, neither sysfs links nor an exclusive open
/// of the disk reveal the loop device.
#[derive(Debug)]
struct Loop {
    name: String,
    sysfs: PathBuf,
    backing: PathBuf,
}

/// Mount points and swap areas.
#[derive(Debug)]
struct Tables {
    mounts: HashMap<Device, Vec<PathBuf>>,
    swaps: Vec<Swap>,
}

/// The mounts, swap areas and loop devices of the machine, for any number of lookups. Each list is read
/// once, when it is first needed: a lookup of a regular file reads no mount table.
#[derive(Debug, Default)]
pub struct Users {
    root: Root,
    tables: OnceLock<Result<Tables>>,
    loops: OnceLock<Vec<Loop>>,
    /// Device and inode of each loop device's backing file, if accessible, with the index in `loops`.
    backings: OnceLock<Vec<((Device, u64), usize)>>,
}

impl Users {
    /// Returns the lists of this machine. Each is read when it is first needed.
    #[must_use]
    pub fn now() -> Users {
        Users::below(&Root::machine())
    }

    /// Returns the lists of the machine below `root`.
    #[must_use]
    pub fn below(root: &Root) -> Users {
        Users { root: root.clone(), ..Users::default() }
    }

    /// Checks that mounts and swap areas can be determined at all.
    ///
    /// # Errors
    /// Errors of reading the mount table.
    pub fn readable(&self) -> Result<()> {
        self.tables().map(drop)
    }

    fn tables(&self) -> Result<&Tables> {
        let read = || {
            let path = self.root.path("/proc/self/mountinfo");
            let text = std::fs::read(&path).map_err(|e| no_mount_table(&e, &path))?;
            let mut mounts: HashMap<Device, Vec<PathBuf>> = HashMap::new();
            for mount in mount::parse(&text) {
                for device in mount.devices() {
                    mounts.entry(device).or_default().push(mount.point.clone());
                }
            }
            Ok(Tables { mounts, swaps: swaps(&self.root) })
        };
        self.tables.get_or_init(read).as_ref().map_err(Error::clone)
    }

    fn loops(&self) -> &[Loop] {
        self.loops.get_or_init(|| loops(&self.root))
    }

    /// Iterates over the loop devices whose backing file is this regular file.
    fn loops_of(&self, file: &file::FileFacts) -> impl Iterator<Item = &Loop> {
        let look = |(index, one): (usize, &Loop)| {
            let facts = file::facts(&self.root.path(&one.backing)).ok()?;
            Some(((facts.device, facts.inode), index))
        };
        let all = || self.loops().iter().enumerate().filter_map(look).collect();
        let key = (file.device, file.inode);
        let backings = self.backings.get_or_init(all).iter();
        backings.filter(move |(of, _)| *of == key).filter_map(|(_, index)| self.loops().get(*index))
    }

    /// Returns how a disk or partition (given by its sysfs directory), its partitions and devices built on
    /// them are mounted or used as swap.
    ///
    /// For a partition, uses of the rest of its disk do not count, because a write to the partition does
    /// not affect them.
    ///
    /// # Errors
    /// Errors of reading the mount table.
    pub fn of(&self, sysfs: &Path) -> Result<Vec<DeviceUse>> {
        self.uses_of(self.family(sysfs))
    }

    /// Returns how a device with this number, its partitions and devices built on them are mounted or used
    /// as swap. Also works for a device that sysfs does not know, but then only finds the device itself.
    ///
    /// # Errors
    /// Errors of reading the mount table.
    pub fn of_device(&self, device: Device) -> Result<Vec<DeviceUse>> {
        match self.sysfs(device) {
            Some(sysfs) => self.of(&sysfs),
            None => self.uses_of(vec![(device.to_string(), Some(device))]),
        }
    }

    fn uses_of(&self, family: Vec<(String, Option<Device>)>) -> Result<Vec<DeviceUse>> {
        let tables = self.tables()?;
        let mut found = Vec::new();
        for (name, device) in family {
            for point in device.and_then(|device| tables.mounts.get(&device)).into_iter().flatten()
            {
                found.push(DeviceUse::Mounted { device: name.clone(), point: point.clone() });
            }
            let own = |swap: &Swap| {
                swap.name.as_ref() == Some(&name) || (device.is_some() && swap.device == device)
            };
            if tables.swaps.iter().any(own) {
                found.push(DeviceUse::Swap { device: name });
            }
        }
        Ok(found)
    }

    /// Returns the names of devices built on a disk or its partitions: holders that sysfs lists, and loop
    /// devices.
    pub fn holders(&self, sysfs: &Path, parts: &[block::Partition]) -> Vec<String> {
        let parts: Vec<PathBuf> = parts.iter().map(|part| sysfs.join(&part.name)).collect();
        let mut found = Vec::new();
        for path in parts.iter().map(PathBuf::as_path).chain([sysfs]) {
            found.extend(names(&path.join("holders")));
            found.extend(self.loops_over(path).map(|one| one.name.clone()));
        }
        found.sort();
        found.dedup();
        found
    }

    /// Returns the user of the device or regular file at a path. A regular file is in use if it backs a
    /// loop device in use. `None` if it is not in use or does not exist.
    ///
    /// # Errors
    /// The use cannot be determined: no list shows a user, and the block device cannot be opened
    /// (`EACCES`) or has no node to open (`ENOENT`); or the mount table cannot be read.
    pub fn user(&self, path: &Path) -> Result<Option<WriteObstacle>> {
        let facts = match file::facts(path) {
            Err(error) if matches!(error.errno, Errno::ENOENT | Errno::ENOTDIR) => return Ok(None),
            other => other?,
        };
        if facts.kind == InodeType::Regular {
            return self.user_of_file(&facts);
        }
        match storage(path)? {
            Some(storage) => self.user_of(&storage),
            None => Ok(None),
        }
    }

    /// Returns the user of a block device.
    fn user_of(&self, storage: &Storage) -> Result<Option<WriteObstacle>> {
        if let Some(first) = self.of_device(storage.device)?.into_iter().next() {
            return Ok(Some(WriteObstacle::Listed(first)));
        }
        let holders = |path: PathBuf| self.holders(&path, &block::partitions(&path));
        let mut by = self.sysfs(storage.device).map_or(Vec::new(), holders);
        by.extend(flash_users(&self.root, &storage.name));
        if !by.is_empty() {
            return Ok(Some(WriteObstacle::Held { device: storage.name.clone(), by }));
        }
        let Some(node) = &storage.node else {
            if self.sysfs(storage.device).is_none() {
                // Flash without a block device: the lists above show its mounts and the devices built on it.
                return Ok(None);
            }
            return Err(without_node(&storage.name));
        };
        let held = WriteObstacle::Held { device: storage.name.clone(), by: Vec::new() };
        Ok(is_claimed(node)?.then_some(held))
    }

    fn user_of_file(&self, file: &file::FileFacts) -> Result<Option<WriteObstacle>> {
        for one in self.loops_of(file) {
            let Some(device) = block::device_number(&one.sysfs) else { continue };
            let node = Some(block::node(&one.name));
            let user = self.user_of(&Storage { name: one.name.clone(), device, node })?;
            if user.is_some() {
                return Ok(user);
            }
        }
        Ok(None)
    }

    fn sysfs(&self, device: Device) -> Option<PathBuf> {
        self.root.path(format!("/sys/dev/block/{device}")).canonicalize().ok()
    }

    /// Returns a disk, its partitions and all devices built on any of them, each once.
    fn family(&self, disk: &Path) -> Vec<(String, Option<Device>)> {
        let mut found: Vec<(String, Option<Device>)> = Vec::new();
        let mut todo = vec![disk.to_path_buf()];
        while let Some(path) = todo.pop() {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if found.iter().any(|(known, _)| known == name) {
                continue;
            }
            found.push((name.to_owned(), block::device_number(&path)));
            todo.extend(block::partitions(&path).iter().rev().map(|part| path.join(&part.name)));
            let holders = path.join("holders");
            todo.extend(
                names(&holders).iter().filter_map(|name| holders.join(name).canonicalize().ok()),
            );
            todo.extend(self.loops_over(&path).map(|one| one.sysfs.clone()));
        }
        found
    }

    /// Iterates over the loop devices whose backing file is this disk or partition.
    fn loops_over<'a>(&'a self, sysfs: &Path) -> impl Iterator<Item = &'a Loop> {
        let name = sysfs.file_name().map(|name| name.to_string_lossy().replace('!', "/"));
        let ask = self.root.is_machine() && !self.loops().is_empty();
        let device = if ask { block::device_number(sysfs) } else { None };
        self.loops().iter().filter(move |one| {
            // Other backing files are regular files, perhaps on a network file system that hangs.
            let Ok(below) = one.backing.strip_prefix("/dev") else { return false };
            let same =
                |found: file::FileFacts| found.kind == InodeType::Block && found.node == device;
            name.as_deref().is_some_and(|name| below == Path::new(name))
                || (device.is_some() && file::facts(&one.backing).is_ok_and(same))
        })
    }
}

/// Returns the error for a missing mount table, as in a chroot or an early boot without `/proc`.
fn no_mount_table(why: &std::io::Error, table: &Path) -> Error {
    let error = Error::from_io("read", why).at(table);
    match error.errno {
        Errno::ENOENT => error.saying(
            "the file does not exist: /proc is not mounted. To fix: mount it (`mount -t proc proc /proc`)",
        ),
        _ => error,
    }
}

/// Returns the error for a device that only has a generic node here, as in a container.
fn without_node(name: &str) -> Error {
    let node = block::node(name);
    let said = format!(
        "this block device has no node here. sysfs shows no holder and this mount namespace no mount \
         of it, but it may be mounted outside. To fix: give the container the block device as well \
         (`--device={0}`, or `mknod {0}`)",
        node.display()
    );
    Error::new("open", Errno::ENOENT).at(node).saying(said)
}

fn swaps(root: &Root) -> Vec<Swap> {
    let text = root.text("/proc/swaps").unwrap_or_default();
    let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let swap = |path: &str| {
        let here = root.path(path);
        let real = std::fs::canonicalize(&here).unwrap_or_else(|_| path.into());
        let below = real.strip_prefix(root.path("/dev")).or_else(|_| real.strip_prefix("/dev"));
        Swap {
            name: below.ok().and_then(|name| Some(name.to_str()?.to_owned())),
            device: file::facts(&here)
                .ok()
                .filter(|f| f.kind == InodeType::Block)
                .and_then(|f| f.node),
        }
    };
    paths.map(swap).collect()
}

fn loops(root: &Root) -> Vec<Loop> {
    let blocks = root.path("/sys/block");
    let one = |name: String| {
        let sysfs = blocks.join(&name).canonicalize().ok()?;
        let backing = PathBuf::from(text(&sysfs.join("loop/backing_file"))?);
        Some(Loop { name, sysfs, backing })
    };
    names(&blocks).into_iter().filter(|name| name.starts_with("loop")).filter_map(one).collect()
}

/// Returns the UBI devices attached to a flash device, given by the name of its block device
/// (`mtdblock0`).
fn flash_users(root: &Root, name: &str) -> Vec<String> {
    let Some(number) = name.strip_prefix("mtdblock").and_then(|n| n.parse::<u64>().ok()) else {
        return Vec::new();
    };
    let on_it = |ubi: &String| root.number(format!("/sys/class/ubi/{ubi}/mtd_num")) == Some(number);
    names(&root.path("/sys/class/ubi")).into_iter().filter(on_it).collect()
}

/// Whether the kernel refuses to open a block device exclusively, because the device or a part of it is
/// in use in a way that no list may show (ZFS, an external journal, RAID, another program with
/// `O_EXCL`). Plain descriptors of this process do not count. `false` if the path is not a block
/// device.
///
/// # Errors
/// `EACCES` without the right to read the device: the answer is not known then.
pub fn is_claimed(path: &Path) -> Result<bool> {
    if file::facts(path)?.kind != InodeType::Block {
        return Ok(false);
    }
    // The exclusive open holds the device for a moment. The lock keeps jobs of this process from taking
    // each other's opens for holders; the retries outlast those of other processes.
    static ASKING: Mutex<()> = Mutex::new(());
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..3 {
        match file::Open::read_only().exclusive(true).nonblocking(true).open(path) {
            Ok(_) => return Ok(false),
            Err(error) if error.errno == Errno::EBUSY => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
