//! Who uses a device: mounts and swap of it, of its partitions and of what is built on them, and what
//! holds it without being in a list.
//!
//! What cannot be told is an error, never "nobody": who asks is about to destroy what is there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
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
    Users::now().user(path)
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
            let path = block::node(&name);
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

/// What is mounted and what is swap.
#[derive(Debug)]
struct Tables {
    mounts: HashMap<Device, Vec<PathBuf>>,
    swaps: Vec<Swap>,
}

/// What is mounted, what is swap and what loop devices there are, for any number of devices. Each is
/// read when it is first asked for, and once: a regular file needs no mount table.
#[derive(Debug, Default)]
pub struct Users {
    root: Root,
    tables: OnceLock<Result<Tables>>,
    loops: OnceLock<Vec<Loop>>,
    /// Device and inode of the file of each loop device that can be looked at, with its index.
    backings: OnceLock<Vec<((Device, u64), usize)>>,
}

impl Users {
    /// On this machine, from the moment on at which it is asked.
    pub fn now() -> Users {
        Users::below(&Root::machine())
    }

    /// On the machine below `root`.
    pub fn below(root: &Root) -> Users {
        Users { root: root.clone(), ..Users::default() }
    }

    /// Whether mounts and swap can be told at all.
    ///
    /// # Errors
    /// The mount table cannot be read.
    pub fn readable(&self) -> Result<()> {
        self.tables().map(drop)
    }

    fn tables(&self) -> Result<&Tables> {
        let read = || {
            let path = self.root.path("/proc/self/mountinfo");
            let text = std::fs::read(&path).map_err(|e| untold(&e, &path))?;
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

    /// Loop devices that are made of a regular file.
    fn loops_of(&self, file: &file::Facts) -> impl Iterator<Item = &Loop> {
        let look = |(index, one): (usize, &Loop)| {
            let facts = file::facts(&self.root.path(&one.backing)).ok()?;
            Some(((facts.device, facts.inode), index))
        };
        let all = || self.loops().iter().enumerate().filter_map(look).collect();
        let key = (file.device, file.inode);
        let backings = self.backings.get_or_init(all).iter();
        backings.filter(move |(of, _)| *of == key).filter_map(|(_, index)| self.loops().get(*index))
    }

    /// How a disk or partition (its sysfs directory), its partitions and what is built on them are
    /// mounted or swap.
    ///
    /// For a partition the disk it is a part of does not count: writing to one partition leaves the
    /// others alone.
    ///
    /// # Errors
    /// The mount table cannot be read.
    pub fn of(&self, sysfs: &Path) -> Result<Vec<Use>> {
        self.uses_of(self.family(sysfs))
    }

    /// The same by number, which is all there is of a device where sysfs does not know it.
    ///
    /// # Errors
    /// As [`Users::of`].
    pub fn of_device(&self, device: Device) -> Result<Vec<Use>> {
        match self.sysfs(device) {
            Some(sysfs) => self.of(&sysfs),
            None => self.uses_of(vec![(device.to_string(), Some(device))]),
        }
    }

    fn uses_of(&self, family: Vec<(String, Option<Device>)>) -> Result<Vec<Use>> {
        let tables = self.tables()?;
        let mut found = Vec::new();
        for (name, device) in family {
            for point in device.and_then(|device| tables.mounts.get(&device)).into_iter().flatten()
            {
                found.push(Use::Mounted { device: name.clone(), point: point.clone() });
            }
            let own = |swap: &Swap| {
                swap.name.as_ref() == Some(&name) || (device.is_some() && swap.device == device)
            };
            if tables.swaps.iter().any(own) {
                found.push(Use::Swap { device: name });
            }
        }
        Ok(found)
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
        if let Some(first) = self.of_device(storage.device)?.into_iter().next() {
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
            return Err(without_node(&storage.name));
        };
        let held = User::Held { device: storage.name.clone(), by: Vec::new() };
        Ok(is_claimed(node)?.then_some(held))
    }

    fn user_of_file(&self, file: &file::Facts) -> Result<Option<User>> {
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

    /// A disk with its partitions and all that is built on any of them, each once.
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

    /// Loop devices whose file is this disk or partition.
    fn loops_over<'a>(&'a self, sysfs: &Path) -> impl Iterator<Item = &'a Loop> {
        let name = sysfs.file_name().map(|name| name.to_string_lossy().replace('!', "/"));
        let ask = self.root.is_machine() && !self.loops().is_empty();
        let device = if ask { block::device_number(sysfs) } else { None };
        self.loops().iter().filter(move |one| {
            // Others are files, which may lie where looking at them takes for ever.
            let Ok(below) = one.backing.strip_prefix("/dev") else { return false };
            let same = |found: file::Facts| found.kind == Kind::Block && found.node == device;
            name.as_deref().is_some_and(|name| below == Path::new(name))
                || (device.is_some() && file::facts(&one.backing).is_ok_and(same))
        })
    }
}

/// That there is no mount table, as in a chroot or an early boot without `/proc`.
fn untold(why: &std::io::Error, table: &Path) -> Error {
    let error = Error::from_io("read", why).at(table);
    match error.errno {
        libc::ENOENT => error.saying("it is not there; mount /proc (`mount -t proc proc /proc`)"),
        _ => error,
    }
}

/// That a device can be reached by a generic node alone, as in a container.
fn without_node(name: &str) -> Error {
    let node = block::node(name);
    let said = format!(
        "this block device is not here. No holder of it shows in sysfs and no mount in this mount \
         namespace, but outside of it the device may be mounted: give the container the block \
         device as well (`--device={0}`, or `mknod {0}`)",
        node.display()
    );
    Error::new("open", libc::ENOENT).at(node).saying(said)
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
