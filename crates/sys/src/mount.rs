//! The mount table.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use crate::file::Device;
use crate::{Error, Result, file};

/// One line of `/proc/self/mountinfo` (format: `proc_pid_mountinfo(5)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's mount id.
    pub id: u64,
    /// Device number of the file system; major 0 if it does not lie on one block device.
    pub device: Device,
    /// The mounted directory of the file system: `/`, or another one for a bind mount.
    pub root: PathBuf,
    pub point: PathBuf,
    /// File system type.
    pub kind: String,
    /// Mount source: a device path if the file system lies on a disk.
    pub source: PathBuf,
    /// Options of the mount itself (`rw,noatime`).
    pub options: String,
    /// Options of the file system (for an overlay they include `upperdir=`).
    pub super_options: String,
}

impl Mount {
    /// Returns the value of a file system option, such as `upperdir`.
    #[must_use]
    pub fn super_option(&self, name: &str) -> Option<&str> {
        self.super_options
            .split(',')
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns the block devices of the file system: one by its number or, for file systems with their
    /// own number (btrfs, bcachefs), all that its source and sysfs name. Empty if it lies on no block
    /// device.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        if self.device.major != 0 {
            return vec![self.device];
        }
        let mut devices = Vec::new();
        // bcachefs lists all its devices, separated by colons.
        for part in self.source.to_string_lossy().split(':').filter(|part| part.starts_with('/')) {
            if let Ok(facts) = file::facts(Path::new(part)) {
                devices.extend(facts.node.filter(|_| facts.kind == file::InodeType::Block));
            }
        }
        if self.kind == "btrfs" {
            for device in btrfs_siblings(&devices) {
                if !devices.contains(&device) {
                    devices.push(device);
                }
            }
        }
        devices
    }
}

/// Returns all devices of the btrfs file systems that use one of the known devices.
fn btrfs_siblings(known: &[Device]) -> Vec<Device> {
    let mut all = Vec::new();
    for system in std::fs::read_dir("/sys/fs/btrfs").into_iter().flatten().flatten() {
        let links = std::fs::read_dir(system.path().join("devices")).into_iter().flatten();
        let devices: Vec<Device> = links
            .filter_map(|link| std::fs::read_to_string(link.ok()?.path().join("dev")).ok())
            .filter_map(|text| Device::parse(&text))
            .collect();
        if devices.iter().any(|device| known.contains(device)) {
            all.extend(devices);
        }
    }
    all
}

/// Reads all mounts that this process sees.
///
/// # Errors
/// Errors of reading `/proc/self/mountinfo`.
pub fn mounts() -> Result<Vec<Mount>> {
    let path = "/proc/self/mountinfo";
    let text = std::fs::read(path).map_err(|error| Error::from_io("read", &error).at(path))?;
    Ok(parse(&text))
}

/// Parses mountinfo. Lines in an unknown format are skipped.
pub fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let mut text = || Some(String::from_utf8_lossy(fields.next()?).into_owned());
    let id = text()?.parse().ok()?;
    let _parent = text()?;
    let device = Device::parse(&text()?)?;
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let options = String::from_utf8_lossy(fields.next()?).into_owned();
    // Any number of optional fields come before a single hyphen.
    fields.by_ref().find(|field| *field == b"-")?;
    let kind = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape(fields.next()?);
    let super_options = unescape(fields.next().unwrap_or_default());
    Some(Mount {
        id,
        device,
        root: PathBuf::from(root),
        point: PathBuf::from(point),
        kind,
        source: PathBuf::from(source),
        options,
        super_options: super_options.to_string_lossy().into_owned(),
    })
}

/// Replaces the kernel's octal escapes of space, tab, newline and backslash (`\040`).
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [byte, tail @ ..] = rest {
        let octal = (*byte == b'\\').then(|| tail.get(..3)).flatten();
        let value = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match value {
            Some(value) => {
                bytes.push(value);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes)
}

/// Returns the mount that holds a path. The path need not exist.
///
/// Uses the kernel's mount id if `statx(2)` returns it (Linux 5.8), else the longest mount point that
/// the path begins with.
///
/// # Errors
/// Errors of reading `/proc/self/mountinfo`.
pub fn holding(path: &Path) -> Result<Option<Mount>> {
    let mut mounts = mounts()?;
    let existing = nearest_existing(path);
    let found = match mount_id(CWD, &existing, AtFlags::empty()) {
        Some(id) => mounts.iter().position(|mount| mount.id == id),
        None => None,
    };
    let found = found.or_else(|| by_prefix(&mounts, &existing));
    Ok(found.map(|index| mounts.swap_remove(index)))
}

/// Returns the absolute path with links resolved, or the nearest existing directory above it.
pub(crate) fn nearest_existing(path: &Path) -> PathBuf {
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    loop {
        if let Ok(real) = std::fs::canonicalize(&path) {
            return real;
        }
        if !path.pop() {
            return PathBuf::from("/");
        }
    }
}

/// Finds the mount with the longest mount point that the path begins with. Among mounts on one mount
/// point it takes the last, which hides the others.
fn by_prefix(mounts: &[Mount], path: &Path) -> Option<usize> {
    mounts
        .iter()
        .enumerate()
        .filter(|(_, mount)| path.starts_with(&mount.point))
        .max_by_key(|(_, mount)| mount.point.components().count())
        .map(|(index, _)| index)
}

/// Returns the id of the mount through which a file was opened (Linux 5.8).
pub(crate) fn id_of(fd: BorrowedFd) -> Option<u64> {
    mount_id(fd, Path::new(""), AtFlags::EMPTY_PATH)
}

fn mount_id(at: BorrowedFd, path: &Path, flags: AtFlags) -> Option<u64> {
    let facts = statx(at, path, flags, StatxFlags::MNT_ID).ok()?;
    (facts.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(facts.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURE: &[u8] = b"\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
36 27 0:30 /@home /home rw - btrfs /dev/mapper/vg-home rw,subvol=/@home
40 27 259:3 / /mnt/with\\040space rw - xfs /dev/nvme0n1p3 rw
41 27 0:55 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/mnt/up,workdir=/w
broken line
";

    #[test]
    fn mountinfo_is_parsed() {
        let mounts = parse(FIXTURE);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[1].device, Device { major: 254, minor: 0 });
        assert_eq!((mounts[1].kind.as_str(), mounts[1].options.as_str()), ("ext4", "rw,relatime"));
        assert_eq!(mounts[2].source, Path::new("/dev/mapper/vg-home"));
        assert_eq!(mounts[3].point, Path::new("/mnt/with space"));
        assert_eq!(mounts[4].super_option("upperdir"), Some("/mnt/up"));
        assert_eq!(mounts[4].super_option("upper"), None);
        assert_eq!(by_prefix(&mounts, Path::new("/home/x")), Some(2));
        assert_eq!(by_prefix(&mounts, Path::new("/homework")), Some(1));
    }

    #[test]
    fn the_mount_of_a_path_is_found_on_this_machine() {
        let mounts = mounts().unwrap();
        assert!(!mounts.is_empty());
        let proc = holding(Path::new("/proc/self/status")).unwrap().unwrap();
        assert_eq!(proc.kind, "proc");
        assert!(holding(Path::new("/no/such/file")).unwrap().is_some());
    }
}
