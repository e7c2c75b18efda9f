//! Targets: their properties, the data on them, and the checks that refuse them.

use std::path::{Path, PathBuf};

use fiord_sys::block;
use fiord_sys::file::{self, Device, InodeType};
use fiord_sys::root::Root;
use fiord_sys::survey::{Bus, Disk, DiskSurvey, Partition, QueueZones, SurveyDepth, signature};
use fiord_sys::zone::Model;
use fiord_types::Bytes;

use crate::amount::decimal_short;
use crate::target::{TargetError, check_unused, facts};

/// Why a target is refused.
#[derive(Debug, thiserror::Error)]
pub enum Unsuitable {
    /// The target does not exist or is in use.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The data on it cannot be examined.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// Two targets share bytes.
    #[error(
        "{first} and {second} overlap: the same bytes would be written twice in parallel\n  To fix: \
         name either the disk or its partitions, and each only once"
    )]
    Overlap { first: PathBuf, second: PathBuf },
    /// A file without a size.
    #[error("{path} is empty\n  To fix: give the file its size first: `truncate -s 10G {path}`")]
    Empty { path: PathBuf },
    /// A directory, a pipe or a character device.
    #[error(
        "{path} is neither a block device nor a regular file\n  To fix: name a disk, a partition or a file"
    )]
    Neither { path: PathBuf },
    /// The kernel reports no number for the device.
    #[error("{path} has no device number")]
    NoNumber { path: PathBuf },
    /// The node names no disk of the kernel.
    #[error(
        "the kernel has no disk {path} ({number})\n  To fix: check that the disk is still connected (`dmesg`)"
    )]
    NoDisk { path: PathBuf, number: Device },
    /// A host-managed zoned device.
    #[error(
        "{name} has zones, which accept only sequential writes\n  To fix: this job fills all of them, \
         and destroys what they hold: fiord --name=fill --filename={path} --direct=1 --zonemode=zbd \
         --rw=write --bs=128k --write_zone_remainder=1"
    )]
    Zoned {
        /// The kernel's name of the device.
        name: String,
        path: PathBuf,
    },
    /// A write-protected device.
    #[error("{0} is read-only\n  To fix: run `blockdev --setrw`, if the medium permits writes")]
    ReadOnly(String),
    /// A device without a medium.
    #[error(
        "{0} has no capacity: it has no medium or is not set up\n  To fix: insert a medium, or set the device \
         up"
    )]
    NoCapacity(String),
}

/// A device or file to fill.
#[derive(Debug, Clone)]
pub struct FillTarget {
    pub path: PathBuf,
    /// Short name: `nvme0n1`, or the name of the file.
    pub name: String,
    pub size: Bytes,
    /// Identity of the device, by which a later call recognises it.
    pub key: String,
    /// Facts about the disk; `None` for a file.
    pub disk: Option<Disk>,
    /// File systems and other signatures on the target.
    pub marks: Vec<String>,
    /// Partitions of a whole disk, with the signatures on each.
    pub parts: Vec<(Partition, Vec<&'static str>)>,
    /// Key of the backing file of a loop device.
    backing: Option<String>,
}

/// Examines and checks all targets.
///
/// # Errors
/// A path is neither a block device nor a file, is in use, cannot be examined, or overlaps another.
pub fn all(paths: &[PathBuf]) -> Result<Vec<FillTarget>, Unsuitable> {
    let mut targets: Vec<FillTarget> = Vec::new();
    for path in paths {
        let target = one(path)?;
        if let Some(known) = targets.iter().find(|known| known.overlaps(&target)) {
            return Err(Unsuitable::Overlap { first: known.path.clone(), second: path.clone() });
        }
        targets.push(target);
    }
    Ok(targets)
}

fn one(path: &Path) -> Result<FillTarget, Unsuitable> {
    let facts = facts(path)?;
    if matches!(facts.kind, InodeType::Block | InodeType::Regular) {
        check_unused(path)?;
    }
    match facts.kind {
        InodeType::Block => device(path, facts.node),
        InodeType::Regular if facts.size == Bytes::ZERO => {
            Err(Unsuitable::Empty { path: path.into() })
        }
        InodeType::Regular => Ok(FillTarget {
            path: path.into(),
            name: path.display().to_string(),
            size: facts.size,
            key: file_key(&facts),
            disk: None,
            marks: Vec::new(),
            parts: Vec::new(),
            backing: None,
        }),
        _ => Err(Unsuitable::Neither { path: path.into() }),
    }
}

fn device(path: &Path, number: Option<Device>) -> Result<FillTarget, Unsuitable> {
    let number = number.ok_or_else(|| Unsuitable::NoNumber { path: path.into() })?;
    let unknown = || Unsuitable::NoDisk { path: path.into(), number };
    let name = block::name(number).ok_or_else(unknown)?;
    let whole = block::whole_disk_path(number);
    let whole = whole.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let sequence = whole.as_deref().and_then(|whole| sequence(&Root::machine(), whole));
    let disk =
        whole.and_then(|whole| DiskSurvey::new(Root::machine(), SurveyDepth::Health).disk(&whole));
    if let Some(disk) = &disk {
        let managed = |zones: &QueueZones| zones.model == Model::HostManaged;
        if disk.queue.zones.as_ref().is_some_and(managed) {
            return Err(Unsuitable::Zoned { name, path: path.into() });
        }
        if disk.read_only {
            return Err(Unsuitable::ReadOnly(name));
        }
    }
    let size = block::sysfs_size(number).unwrap_or(0);
    if size == 0 {
        return Err(Unsuitable::NoCapacity(name));
    }
    let logical = disk.as_ref().map_or(512, |disk| disk.queue.logical.0);
    let marks = signature::on_device(path, logical as usize)?;
    let mut parts = Vec::new();
    for part in disk.iter().filter(|disk| disk.name == name).flat_map(|disk| &disk.partitions) {
        let marks = signature::on_part(path, part.start.0, logical as usize)?;
        parts.push((part.clone(), marks));
    }
    Ok(FillTarget {
        path: path.into(),
        key: key(&name, disk.as_ref(), size, sequence.as_deref()),
        name,
        size: Bytes(size),
        marks: marks.into_iter().map(str::to_owned).collect(),
        parts,
        backing: disk.as_ref().and_then(backing),
        disk,
    })
}

fn file_key(facts: &file::FileFacts) -> String {
    format!("file {}:{} {}", facts.device, facts.inode, facts.size.0)
}

/// The key of the backing file of a loop device.
fn backing(disk: &Disk) -> Option<String> {
    let path = disk.identity.model.as_ref().filter(|_| disk.bus == Bus::Loop)?;
    file::facts(Path::new(path)).ok().map(|facts| file_key(&facts))
}

/// Identifies a target by its properties and not only by its name, which another disk may get after
/// a reboot. A disk without an identity (a loop device, many virtual disks) is identified by its
/// sequence number since boot (`diskseq`, Linux 5.14) and the boot id. If the kernel has no
/// sequence numbers, the key is unique, so that no later call resumes.
fn key(name: &str, disk: Option<&Disk>, size: u64, sequence: Option<&str>) -> String {
    let id = disk.map(|disk| &disk.identity);
    let known = id.and_then(|id| id.wwid.clone().or_else(|| id.serial.clone()));
    match (known, sequence) {
        (Some(known), _) => format!("{known} {name} {size}"),
        (None, Some(sequence)) => format!("{sequence} {name} {size}"),
        (None, None) => format!("{} {name} {size}", once()),
    }
}

/// Returns the boot id and the sequence number of a disk since boot.
fn sequence(root: &Root, disk: &str) -> Option<String> {
    let start = root.text("/proc/sys/kernel/random/boot_id")?;
    let number = root.number(format!("/sys/class/block/{disk}/diskseq"))?;
    Some(format!("{start}/{number}"))
}

/// Returns a word that no other call returns.
fn once() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("once/{}/{}", std::process::id(), now.map_or(0, |since| since.as_nanos()))
}

impl FillTarget {
    /// Whether both targets share bytes.
    fn overlaps(&self, other: &FillTarget) -> bool {
        let whole =
            |target: &FillTarget| target.disk.as_ref().is_some_and(|d| d.name == target.name);
        let disk = |target: &FillTarget| target.disk.as_ref().map(|disk| disk.name.clone());
        let shared = disk(self).is_some() && disk(self) == disk(other);
        let below = |a: &FillTarget, b: &FillTarget| a.backing.as_ref() == Some(&b.key);
        self.key == other.key
            || self.name == other.name
            || (shared && (whole(self) || whole(other)))
            || below(self, other)
            || below(other, self)
    }

    /// Describes the target and the data that will be lost, one line for each property.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = format!("{}\n", self.path.display());
        let mut add = |name: &str, what: Option<String>| {
            if let Some(what) = what.filter(|what| !what.is_empty()) {
                text.push_str(&format!("  {name:<14}{what}\n"));
            }
        };
        if let Some(disk) = &self.disk {
            add("model", disk.identity.model.clone());
            add("serial", disk.identity.serial.clone());
        }
        add("size", Some(decimal_short(self.size)));
        let disk = self.disk.as_ref().filter(|disk| disk.name != self.name);
        add("partition of", disk.map(|disk| disk.name.clone()));
        for (i, (part, marks)) in self.parts.iter().enumerate() {
            let mut what = vec![decimal_short(part.size)];
            what.extend(marks.iter().map(|mark| mark.to_string()));
            let name = if i == 0 { "partitions" } else { "" };
            add(name, Some(format!("{} ({})", part.name, what.join(", "))));
        }
        match (self.marks.as_slice(), self.disk.is_some()) {
            ([], true) => add("on it", Some("no known file system or partition table".into())),
            ([], false) => add("on it", Some("the contents of the file".into())),
            (marks, _) => add("on it", Some(marks.join(", "))),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_an_identity_is_recognised_until_it_is_removed() {
        let place = std::env::temp_dir().join(format!("fiord-diskseq-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = place.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(&place);
        let now = || sequence(&root, "vda").map(|word| key("vda", None, 4096, Some(&word)));
        assert_eq!(now(), None);
        write("proc/sys/kernel/random/boot_id", "b-1\n");
        write("sys/class/block/vda/diskseq", "9\n");
        let first = now().unwrap();
        assert_eq!(first, "b-1/9 vda 4096");
        assert_eq!(now().unwrap(), first);
        // Another disk with the same name, and the same number after a reboot.
        write("sys/class/block/vda/diskseq", "10\n");
        assert_ne!(now().unwrap(), first);
        write("sys/class/block/vda/diskseq", "9\n");
        write("proc/sys/kernel/random/boot_id", "b-2\n");
        assert_ne!(now().unwrap(), first);
        // Without sequence numbers no call resumes.
        assert_ne!(key("vda", None, 4096, None), key("vda", None, 4096, None));
        std::fs::remove_dir_all(place).unwrap();
    }
}
