//! Block devices, and character devices that stand for storage: sizes, discard, buffer flush,
//! I/O scheduler.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use fiord_types::{Bytes, Errno};

use crate::error::check;
use crate::node::{self, Device};
use crate::root::{Root, names, number, text};
use crate::scsi::generic;
use crate::{Error, Result};

// Request numbers of <linux/fs.h>. An `_IO` request encodes no size and has one number on every
// architecture; BLKGETSIZE64 is `_IOR(0x12, 114, size_t)`.
const BLKFLSBUF: u32 = 0x1261;
const BLKSSZGET: u32 = 0x1268;
const BLKDISCARD: u32 = 0x1277;
const BLKZEROOUT: u32 = 0x127f;
const BLKPBSZGET: u32 = 0x127b;
#[cfg(not(any(target_arch = "mips64", target_arch = "powerpc64", target_arch = "sparc64")))]
const BLKGETSIZE64: u32 = 0x8008_1272;
#[cfg(any(target_arch = "mips64", target_arch = "powerpc64", target_arch = "sparc64"))]
const BLKGETSIZE64: u32 = 0x4008_1272;

/// Calls an ioctl that takes a pointer to a `T`. `op` names the call in the error.
fn ioctl<T>(op: &'static str, file: impl AsFd, request: u32, argument: &mut T) -> Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: each caller in this module passes the type its request reads and writes.
    let rc = unsafe { libc::ioctl(fd, libc::Ioctl::from(request), std::ptr::from_mut(argument)) };
    check(op, rc).map(drop)
}

/// Returns the capacity of an open block device in bytes (`BLKGETSIZE64`).
///
/// # Errors
/// `ENOTTY` if the file is not a block device.
pub fn size(file: impl AsFd) -> Result<u64> {
    let mut bytes = 0u64;
    ioctl("ioctl BLKGETSIZE64", file, BLKGETSIZE64, &mut bytes)?;
    Ok(bytes)
}

/// Returns the logical block size in bytes: the smallest unit that the device can address
/// (`BLKSSZGET`).
///
/// # Errors
/// `ENOTTY` if the file is not a block device.
pub fn logical_block(file: impl AsFd) -> Result<u32> {
    let mut bytes = 0i32;
    ioctl("ioctl BLKSSZGET", file, BLKSSZGET, &mut bytes)?;
    Ok(bytes.unsigned_abs())
}

/// Returns the physical block size in bytes: the smallest unit that the device can write without
/// reading first (`BLKPBSZGET`).
///
/// # Errors
/// `ENOTTY` if the file is not a block device.
pub fn physical_block(file: impl AsFd) -> Result<u32> {
    let mut bytes = 0u32;
    ioctl("ioctl BLKPBSZGET", file, BLKPBSZGET, &mut bytes)?;
    Ok(bytes)
}

/// Writes back and drops the device's buffer cache (`BLKFLSBUF`).
///
/// # Errors
/// `EACCES` without `CAP_SYS_ADMIN`; `ENOTTY` if the file is not a block device.
pub fn flush_buffers(file: impl AsFd) -> Result<()> {
    ioctl("ioctl BLKFLSBUF", file, BLKFLSBUF, &mut 0u64)
}

/// Discards a range given in bytes (`BLKDISCARD`): the device may forget its contents.
///
/// # Errors
/// `EOPNOTSUPP` if the device has no discard; `EINVAL` if the range does not consist of whole
/// blocks; `EBADF` if the descriptor is not open for writing.
pub fn discard(file: impl AsFd, offset: u64, length: u64) -> Result<()> {
    ioctl("ioctl BLKDISCARD", file, BLKDISCARD, &mut [offset, length])
}

/// Makes a range, given in bytes, read as zeroes (`BLKZEROOUT`). The kernel uses the device's own
/// command if the device has one, and writes zeroes otherwise.
///
/// # Errors
/// `EINVAL` if the range does not consist of whole blocks; `EBADF` if the descriptor is not open
/// for writing.
pub fn write_zeroes(file: impl AsFd, offset: u64, length: u64) -> Result<()> {
    ioctl("ioctl BLKZEROOUT", file, BLKZEROOUT, &mut [offset, length])
}

/// Returns the sysfs directory of a block device or partition, with links resolved
/// (`/sys/devices/…/block/sda`). `None` if sysfs does not know the device.
#[must_use]
pub fn sysfs_path(device: Device) -> Option<PathBuf> {
    std::fs::canonicalize(format!("/sys/dev/block/{device}")).ok()
}

/// Returns the kernel's name of a block device (`sda1`, `dm-0`). `None` if sysfs does not know it.
#[must_use]
pub fn name(device: Device) -> Option<String> {
    Some(sysfs_path(device)?.file_name()?.to_str()?.to_owned())
}

/// Reads the device number from the `dev` file of a block device's sysfs directory.
#[must_use]
pub fn device_number(sysfs: &Path) -> Option<Device> {
    Device::parse(&text(&sysfs.join("dev"))?)
}

/// Returns the path below `/dev` of the block device with this kernel name. sysfs writes the slash
/// in a device name as an exclamation mark (`cciss!c0d0`).
#[must_use]
pub fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// Returns the sysfs directory of the whole disk: the device itself, or the parent of a partition.
pub fn whole_disk_path(device: Device) -> Option<PathBuf> {
    let path = sysfs_path(device)?;
    if path.join("partition").exists() { path.parent().map(Path::to_path_buf) } else { Some(path) }
}

/// Returns the capacity in bytes that sysfs reports; this needs no permission on the device.
#[must_use]
pub fn sysfs_size(device: Device) -> Option<u64> {
    let sectors = read_number(&sysfs_path(device)?.join("size"))?;
    Some(sectors.saturating_mul(512))
}

/// One partition of a disk, as sysfs describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The kernel's name (`sda1`).
    pub name: String,
    /// Number of the partition in the partition table.
    pub number: u64,
    /// Device number.
    pub device: Option<Device>,
    /// Offset of the partition on the disk.
    pub start: Bytes,
    pub size: Bytes,
}

/// Lists the partitions of a disk, given by its sysfs directory, ordered by number.
#[must_use]
pub fn partitions(disk: &Path) -> Vec<Partition> {
    let Some(prefix) = disk.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let mut found: Vec<Partition> = names(disk)
        .into_iter()
        .filter(|name| name.starts_with(prefix))
        .filter_map(|name| {
            let path = disk.join(&name);
            Some(Partition {
                number: number(&path.join("partition"))?,
                device: device_number(&path),
                start: Bytes::from_sectors(number(&path.join("start"))?),
                size: Bytes::from_sectors(number(&path.join("size"))?),
                name,
            })
        })
        .collect();
    found.sort_by_key(|part| part.number);
    found
}

/// Reads a number from the disk's `queue/` directory in sysfs (`logical_block_size`,
/// `nr_requests`, `max_sectors_kb`, `rotational` …). For a partition it reads the disk's.
#[must_use]
pub fn queue_number(device: Device, attribute: &str) -> Option<u64> {
    read_number(&whole_disk_path(device)?.join("queue").join(attribute))
}

/// Returns the capacity in bytes of a character device that stands for storage: an NVMe generic
/// node (`/dev/ng0n1`), raw flash (`/dev/mtd0`) or device DAX (`/dev/dax0.0`). `None` for other
/// devices.
#[must_use]
pub fn char_size(device: Device) -> Option<u64> {
    if let Some((_, block)) = node::nvme_block_sibling(device) {
        return sysfs_size(block);
    }
    let path = std::fs::canonicalize(format!("/sys/dev/char/{device}")).ok()?;
    let name = path.file_name()?.to_str()?;
    if name.starts_with("mtd") || name.starts_with("dax") {
        return read_number(&path.join("size"));
    }
    None
}

/// Returns the alignment of mappings of a device-DAX character device (`/dev/dax0.0`). A mapping must begin and end at
/// multiples of it. `None` for other devices. Kernels that do not state the alignment use huge pages of 2 MiB.
#[must_use]
pub fn dax_alignment(device: Device) -> Option<Bytes> {
    let path = std::fs::canonicalize(format!("/sys/dev/char/{device}")).ok()?;
    path.file_name()?.to_str()?.starts_with("dax").then(|| {
        let align = read_number(&path.join("align"));
        Bytes(align.filter(|align| align.is_power_of_two()).unwrap_or(2 << 20))
    })
}

/// Finds the block device of the same storage as a generic character device: an NVMe namespace's
/// (`/dev/ng0n1`) or a SCSI disk's (`/dev/sg0`, `/dev/bsg/...`). Returns its name and number;
/// `None` for other devices. Use it to check for mounts and holders, which the kernel records for
/// block devices only.
#[must_use]
pub fn block_device_of_generic(device: Device) -> Option<(String, Device)> {
    block_device_of_generic_in(&Root::machine(), device)
}

fn block_device_of_generic_in(root: &Root, device: Device) -> Option<(String, Device)> {
    let nvme = node::nvme_block_sibling_in(root, device);
    nvme.or_else(|| generic::block_sibling_in(root, device))
}

/// Returns the name and number of the block device that belongs to a raw flash device
/// (`/dev/mtd0`, `/dev/mtd0ro`), even if the kernel has not created that block device. The mount
/// table shows this number for a file system that is mounted from the flash itself (JFFS2).
pub(crate) fn block_device_of_flash(device: Device) -> Option<(String, Device)> {
    let path = std::fs::canonicalize(format!("/sys/dev/char/{device}")).ok()?;
    flash_block(path.file_name()?.to_str()?)
}

fn flash_block(name: &str) -> Option<(String, Device)> {
    /// `MTD_BLOCK_MAJOR` of `linux/major.h`.
    const MAJOR: u32 = 31;
    let minor = name.strip_prefix("mtd")?.trim_end_matches("ro").parse().ok()?;
    Some((format!("mtdblock{minor}"), Device { major: MAJOR, minor }))
}

fn read_number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The I/O scheduler of a disk, and the schedulers that the kernel offers for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduler {
    /// The scheduler in use; `none` if there is none.
    pub current: String,
    /// All schedulers that can be set.
    pub available: Vec<String>,
}

/// Parses `queue/scheduler`: `none [mq-deadline] kyber`. The brackets mark the one in use.
pub(crate) fn parse_scheduler(text: &str) -> Scheduler {
    let bare = |word: &str| word.trim_matches(|c| c == '[' || c == ']').to_owned();
    let current = text.split_whitespace().find(|word| word.starts_with('['));
    Scheduler {
        current: current.or(text.split_whitespace().next()).map(bare).unwrap_or_default(),
        available: text.split_whitespace().map(bare).collect(),
    }
}

fn scheduler_path(device: Device) -> Result<PathBuf> {
    let disk = whole_disk_path(device)
        .ok_or_else(|| Error::new("open", Errno::ENOENT).at(format!("/sys/dev/block/{device}")))?;
    Ok(disk.join("queue/scheduler"))
}

/// Reads the I/O scheduler of a disk; for a partition, that of its disk.
///
/// # Errors
/// `ENOENT` if sysfs does not know the device or the disk has no scheduler file.
pub fn scheduler(device: Device) -> Result<Scheduler> {
    let path = scheduler_path(device)?;
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(parse_scheduler(&text)),
        Err(error) => Err(Error::from_io("read", &error).at(path)),
    }
}

/// Sets the I/O scheduler of a disk and reads it back. Needs root.
///
/// # Errors
/// `EINVAL` if the kernel has no scheduler with this name, or if another one is in use afterwards;
/// `EACCES` without root; `ENOENT` if sysfs does not know the device.
pub fn set_scheduler(device: Device, name: &str) -> Result<()> {
    let path = scheduler_path(device)?;
    std::fs::write(&path, name).map_err(|error| Error::from_io("write", &error).at(&path))?;
    let now = scheduler(device)?;
    if now.current != name {
        return Err(Error::new("set I/O scheduler", Errno::EINVAL).at(path));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_scheduler_finds_the_one_in_brackets() {
        let parsed = parse_scheduler("none [mq-deadline] kyber\n");
        assert_eq!(parsed.current, "mq-deadline");
        assert_eq!(parsed.available, ["none", "mq-deadline", "kyber"]);
        assert_eq!(parse_scheduler("none\n").current, "none");
        assert_eq!(parse_scheduler("").current, "");
    }

    #[test]
    fn slashes_in_device_names_are_restored() {
        assert_eq!(node("sda1"), Path::new("/dev/sda1"));
        assert_eq!(node("cciss!c0d0p1"), Path::new("/dev/cciss/c0d0p1"));
    }

    #[test]
    fn a_flash_device_maps_to_the_block_device_with_its_number() {
        let third = Some(("mtdblock3".to_owned(), Device { major: 31, minor: 3 }));
        assert_eq!(flash_block("mtd3"), third);
        assert_eq!(flash_block("mtd3ro"), third);
        assert_eq!(flash_block("mtdblock3"), None);
        assert_eq!(flash_block("null"), None);
    }

    #[test]
    fn generic_devices_stand_for_block_devices() {
        let place = std::env::temp_dir().join(format!("fiord-beside-{}", std::process::id()));
        let make = |path: &str| std::fs::create_dir_all(place.join(path)).unwrap();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, place.join(at)).unwrap();
        let number = |block: &str, number: &str| {
            make(&format!("sys/class/block/{block}"));
            std::fs::write(place.join(format!("sys/class/block/{block}/dev")), number).unwrap();
        };
        make("sys/dev/char");
        make("sys/class/scsi_generic");
        make("sys/class/nvme-generic");
        // A SCSI disk, a SCSI device without a block device (an enclosure), and an NVMe namespace.
        make("sys/devices/0:0:0:0/scsi_generic/sg3");
        make("sys/devices/0:0:0:0/block/sdb");
        make("sys/devices/0:0:1:0/scsi_generic/sg4");
        make("sys/devices/nvme0/ng0n1");
        for (at, class) in [
            ("0:0:0:0/scsi_generic/sg3", "../../../../class/scsi_generic"),
            ("0:0:1:0/scsi_generic/sg4", "../../../../class/scsi_generic"),
            ("nvme0/ng0n1", "../../../class/nvme-generic"),
        ] {
            link(class, &format!("sys/devices/{at}/subsystem"));
        }
        link("../..", "sys/devices/0:0:0:0/scsi_generic/sg3/device");
        link("../..", "sys/devices/0:0:1:0/scsi_generic/sg4/device");
        link("../../devices/0:0:0:0/scsi_generic/sg3", "sys/dev/char/21:3");
        link("../../devices/0:0:1:0/scsi_generic/sg4", "sys/dev/char/21:4");
        link("../../devices/nvme0/ng0n1", "sys/dev/char/240:0");
        number("sdb", "8:16\n");
        number("nvme0n1", "259:0\n");
        let root = Root::at(&place);
        let beside = |major, minor| block_device_of_generic_in(&root, Device { major, minor });
        assert_eq!(beside(21, 3), Some(("sdb".into(), Device { major: 8, minor: 16 })));
        assert_eq!(beside(21, 4), None);
        assert_eq!(beside(240, 0), Some(("nvme0n1".into(), Device { major: 259, minor: 0 })));
        assert_eq!(beside(1, 3), None);
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_regular_file_has_no_block_size() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(size(&file).unwrap_err().errno, Errno::ENOTTY);
        assert!(size(&file).unwrap_err().to_string().contains("BLKGETSIZE64"));
    }

    #[test]
    fn zero_and_null_have_no_size() {
        assert_eq!(char_size(Device { major: 1, minor: 5 }), None);
        assert_eq!(char_size(Device { major: 1, minor: 3 }), None);
    }
}
