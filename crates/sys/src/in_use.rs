//! Who uses a device: mounts and swap of it, of its partitions and of what is built on them, and what
//! holds it without being in a list.
//!
//! What cannot be told is an error, never "nobody": who asks is about to destroy what is there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::file::{self, Device, Kind};
use crate::root::{Root, names, text};
use crate::{Error, Result, block, mount};

/// One way in which a block device is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// The device is mounted here.
    Mounted {
        /// Name of the device that is mounted: the one asked about, or a part of it, or one that
        /// is built on it.
        device: String,
        /// The mount point.
        point: PathBuf,
    },
    /// It is swap space.
    Swap {
        /// Name of the device, as above.
        device: String,
    },
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Use::Mounted { device, point } => {
                write!(f, "{device} is mounted on {}", point.display())
            }
            Use::Swap { device } => write!(f, "{device} is swap space"),
        }
    }
}

/// Why a device or file is better left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User {
    /// It, a part of it, or something built on it is mounted or swap.
    Listed(Use),
    /// Something is built on it, or wants it alone.
    Held {
        /// The kernel's name of the device.
        device: String,
        /// What is built on it (`dm-0`, `md1`, `loop3`, `ubi0`). Empty where no list says: ZFS, an
        /// external journal, a program with `O_EXCL`.
        by: Vec<String>,
    },
}

impl std::fmt::Display for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            User::Listed(listed) => listed.fmt(f),
            User::Held { device, by } if by.is_empty() => write!(
                f,
                "{device} is held by the kernel or a program that wants it alone (RAID, ZFS, LVM)"
            ),
            User::Held { device, by } => write!(f, "{device} is held by {}", by.join(", ")),
        }
    }
}

/// Who uses what a path names; of several the first. For many paths see [`Users::user`].
///
/// # Errors
/// As [`Users::user`].
pub fn user(path: &Path) -> Result<Option<User>> {
    Users::now()?.user(path)
}

/// The storage that a path stands for: a block device of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// Its name.
    pub name: String,
    /// Its number.
    pub device: Device,
    /// Where it can be opened; `None` where `/dev` has no node of it, as in a container.
    pub node: Option<PathBuf>,
}

/// The block device that a path names, or that a character device stands beside: an NVMe generic
/// device, a SCSI generic device, raw flash. `None` for what is no storage.
///
/// # Errors
/// The path cannot be looked at.
pub fn storage(path: &Path) -> Result<Option<Storage>> {
    let facts = file::facts(path)?;
    Ok(match (facts.kind, facts.node) {
        (Kind::Block, Some(device)) => {
            let name = block::name(device).unwrap_or_else(|| path.display().to_string());
            Some(Storage { name, device, node: Some(path.to_owned()) })
        }
        (Kind::Char, Some(node)) => beside(node).map(|(name, device)| {
            // Slashes in names of devices are exclamation marks in sysfs (`cciss!c0d0`).
            let path = Path::new("/dev").join(name.replace('!', "/"));
            let same = |found: file::Facts| found.kind == Kind::Block && found.node == Some(device);
            let node = file::facts(&path).is_ok_and(same).then_some(path);
            Storage { name, device, node }
        }),
        _ => None,
    })
}

fn beside(node: Device) -> Option<(String, Device)> {
    block::beside_generic(node).or_else(|| block::beside_flash(node))
}

/// One entry of `/proc/swaps`.
#[derive(Debug)]
struct Swap {
    /// Of a device below `/dev`: its name there.
    name: Option<String>,
    device: Option<Device>,
}

/// A loop device that has a file: neither a link nor a claim shows it on a device it is made of.
#[derive(Debug)]
struct Loop {
    name: String,
    sysfs: PathBuf,
    backing: PathBuf,
}

/// What is mounted, what is swap and what loop devices there are, read once for any number of
/// devices.
#[derive(Debug, Default)]
pub struct Users {
    root: Root,
    mounts: HashMap<Device, Vec<PathBuf>>,
    swaps: Vec<Swap>,
    loops: Vec<Loop>,
}

impl Users {
    /// On this machine, at this moment.
    ///
    /// # Errors
    /// As [`Users::read`].
    pub fn now() -> Result<Users> {
        Users::read(&Root::machine())
    }

    /// Reads the mount table, the list of swap space, and the loop devices.
    ///
    /// # Errors
    /// The mount table cannot be read.
    pub fn read(root: &Root) -> Result<Users> {
        let path = root.path("/proc/self/mountinfo");
        let text = std::fs::read(&path).map_err(|e| Error::from_io("read", &e).at(&path))?;
        let mut mounts: HashMap<Device, Vec<PathBuf>> = HashMap::new();
        for mount in mount::parse(&text) {
            for device in mount.devices() {
                mounts.entry(device).or_default().push(mount.point.clone());
            }
        }
        Ok(Users { root: root.clone(), mounts, swaps: swaps(root), loops: loops(root) })
    }

    /// How a disk or partition (its sysfs directory), its partitions and what is built on them are
    /// mounted or swap.
    ///
    /// For a partition the disk it is a part of does not count: writing to one partition leaves the
    /// others alone.
    pub fn of(&self, sysfs: &Path) -> Vec<Use> {
        self.uses_of(self.family(sysfs))
    }

    /// The same by number, which is all there is of a device where sysfs does not know it.
    pub fn of_device(&self, device: Device) -> Vec<Use> {
        match self.sysfs(device) {
            Some(sysfs) => self.of(&sysfs),
            None => self.uses_of(vec![(device.to_string(), Some(device))]),
        }
    }

    fn uses_of(&self, family: Vec<(String, Option<Device>)>) -> Vec<Use> {
        let mut found = Vec::new();
        for (name, device) in family {
            for point in device.and_then(|device| self.mounts.get(&device)).into_iter().flatten() {
                found.push(Use::Mounted { device: name.clone(), point: point.clone() });
            }
            let own = |swap: &Swap| {
                swap.name.as_ref() == Some(&name) || (device.is_some() && swap.device == device)
            };
            if self.swaps.iter().any(own) {
                found.push(Use::Swap { device: name });
            }
        }
        found
    }

    /// What is built on a disk or its partitions: holders that the kernel lists, and loop devices.
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

    /// Who uses what a path names: a device, or a regular file that is the storage of a loop device in
    /// use. `None` too for what is not there.
    ///
    /// # Errors
    /// It cannot be told: the block device cannot be opened (`EACCES`), or has no node to open it by
    /// (`ENOENT`), and no list shows a user.
    pub fn user(&self, path: &Path) -> Result<Option<User>> {
        let facts = match file::facts(path) {
            Err(error) if matches!(error.errno, libc::ENOENT | libc::ENOTDIR) => return Ok(None),
            other => other?,
        };
        if facts.kind == Kind::Regular {
            return self.user_of_file(&facts);
        }
        match storage(path)? {
            Some(storage) => self.user_of(&storage),
            None => Ok(None),
        }
    }

    /// Of a block device.
    fn user_of(&self, storage: &Storage) -> Result<Option<User>> {
        if let Some(first) = self.of_device(storage.device).into_iter().next() {
            return Ok(Some(User::Listed(first)));
        }
        let holders = |path: PathBuf| self.holders(&path, &block::partitions(&path));
        let mut by = self.sysfs(storage.device).map_or(Vec::new(), holders);
        by.extend(flash_users(&self.root, &storage.name));
        if !by.is_empty() {
            return Ok(Some(User::Held { device: storage.name.clone(), by }));
        }
        let Some(node) = &storage.node else {
            if self.sysfs(storage.device).is_none() {
                // Flash without a block device: what is mounted from it or built on it was listed.
                return Ok(None);
            }
            let path = Path::new("/dev").join(&storage.name);
            return Err(Error::new("open", libc::ENOENT).at(path));
        };
        let held = User::Held { device: storage.name.clone(), by: Vec::new() };
        Ok(is_claimed(node)?.then_some(held))
    }

    fn user_of_file(&self, file: &file::Facts) -> Result<Option<User>> {
        let same = |found: file::Facts| (found.device, found.inode) == (file.device, file.inode);
        for one in &self.loops {
            if !file::facts(&self.root.path(&one.backing)).is_ok_and(same) {
                continue;
            }
            let device = text(&one.sysfs.join("dev")).and_then(|text| Device::parse(&text));
            let node = Path::new("/dev").join(&one.name);
            if let Some(device) = device {
                let storage = Storage { name: one.name.clone(), device, node: Some(node) };
                if let Some(user) = self.user_of(&storage)? {
                    return Ok(Some(user));
                }
            }
        }
        Ok(None)
    }

    fn sysfs(&self, device: Device) -> Option<PathBuf> {
        self.root.path(format!("/sys/dev/block/{device}")).canonicalize().ok()
    }

    /// A disk with its partitions and all that is built on any of them, each once.
    fn family(&self, disk: &Path) -> Vec<(String, Option<Device>)> {
        let mut found: Vec<(String, Option<Device>)> = Vec::new();
        let mut todo = vec![disk.to_path_buf()];
        while let Some(path) = todo.pop() {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if found.iter().any(|(known, _)| known == name) {
                continue;
            }
            found.push((name.to_owned(), device_of(&path)));
            todo.extend(block::partitions(&path).iter().rev().map(|part| path.join(&part.name)));
            let holders = path.join("holders");
            todo.extend(
                names(&holders).iter().filter_map(|name| holders.join(name).canonicalize().ok()),
            );
            todo.extend(self.loops_over(&path).map(|one| one.sysfs.clone()));
        }
        found
    }

    /// Loop devices whose file is this disk or partition.
    fn loops_over<'a>(&'a self, sysfs: &Path) -> impl Iterator<Item = &'a Loop> {
        let name = sysfs.file_name().map(|name| name.to_string_lossy().replace('!', "/"));
        let ask = self.root.is_machine() && !self.loops.is_empty();
        let device = if ask { device_of(sysfs) } else { None };
        self.loops.iter().filter(move |one| {
            // Others are files, which may lie where looking at them takes for ever.
            let Ok(below) = one.backing.strip_prefix("/dev") else { return false };
            let same = |found: file::Facts| found.kind == Kind::Block && found.node == device;
            name.as_deref().is_some_and(|name| below == Path::new(name))
                || (device.is_some() && file::facts(&one.backing).is_ok_and(same))
        })
    }
}

fn device_of(sysfs: &Path) -> Option<Device> {
    Device::parse(&text(&sysfs.join("dev"))?)
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
            device: file::facts(&here).ok().filter(|f| f.kind == Kind::Block).and_then(|f| f.node),
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

/// UBI devices that are attached to a flash device, by the name of its block device (`mtdblock0`).
fn flash_users(root: &Root, name: &str) -> Vec<String> {
    let Some(number) = name.strip_prefix("mtdblock").and_then(|n| n.parse::<u64>().ok()) else {
        return Vec::new();
    };
    let on_it = |ubi: &String| root.number(format!("/sys/class/ubi/{ubi}/mtd_num")) == Some(number);
    names(&root.path("/sys/class/ubi")).into_iter().filter(on_it).collect()
}

/// Whether the kernel refuses a block device to an exclusive opener: something uses it or a part
/// of it that may show in no list (ZFS, an external journal, RAID, another program with `O_EXCL`).
/// The process's own plain descriptors do not count. `false` for what is no block device.
///
/// # Errors
/// `EACCES` without the right to read the device: then there is no answer.
pub fn is_claimed(path: &Path) -> Result<bool> {
    if file::facts(path)?.kind != Kind::Block {
        return Ok(false);
    }
    // One question at a time: asking holds the device for a moment, and the jobs of a process must
    // not take each other's questions for holders. Those of other processes are over soon.
    static ASKING: Mutex<()> = Mutex::new(());
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..3 {
        match file::Open::read_only().exclusive(true).nonblocking(true).open(path) {
            Ok(_) => return Ok(false),
            Err(error) if error.errno == libc::EBUSY => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
