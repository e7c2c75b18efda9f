//! Raw flash (MTD character devices): properties, bad blocks, erases, counts of corrected bits.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use fiord_types::{Bytes, Errno};

use crate::error::check;
use crate::node::Device;
use crate::root::Root;
use crate::{Error, Result};

// Requests of <mtd/mtd-abi.h>.
const MEMGETINFO: libc::Ioctl = libc::_IOR::<MtdInfo>(b'M' as u32, 1);
const MEMGETBADBLOCK: libc::Ioctl = libc::_IOW::<i64>(b'M' as u32, 11);
const ECCGETSTATS: libc::Ioctl = libc::_IOR::<EccStats>(b'M' as u32, 18);
const MEMERASE64: libc::Ioctl = libc::_IOW::<[u64; 2]>(b'M' as u32, 20);

/// `MTD_WRITEABLE`: the device can be written.
const MTD_WRITEABLE: u64 = 0x400;
/// `MTD_NO_ERASE`: a write needs no erased flash (RAM).
const MTD_NO_ERASE: u64 = 0x1000;

/// `struct mtd_info_user`.
#[derive(Debug, Default)]
#[repr(C)]
struct MtdInfo {
    kind: u8,
    flags: u32,
    size: u32,
    erase_size: u32,
    write_size: u32,
    oob_size: u32,
    padding: u64,
}

#[derive(Debug, Default)]
#[repr(C)]
struct EccStats {
    corrected: u32,
    failed: u32,
    bad_blocks: u32,
    table_blocks: u32,
}

/// The properties of a raw flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    /// The kernel's word for its type: `nand`, `nor`, `ram` …
    pub kind: String,
    /// Capacity.
    pub size: Bytes,
    /// Size of an erase block: the smallest unit that can be erased.
    pub erase_block: Bytes,
    /// Offsets and lengths of writes are multiples of this: a page, or a part of one.
    pub write_unit: Bytes,
    /// A write can only clear bits, so that the flash must be erased before it. False for RAM.
    pub needs_erase: bool,
    /// The device can be written.
    pub writable: bool,
}

/// The properties of an open flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Size of an erase block.
    pub erase_block: Bytes,
    /// See [`Flash::needs_erase`].
    pub needs_erase: bool,
}

/// How many bits the flash could correct and how many reads it could not, since it was attached to the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EccCounts {
    corrected: u64,
    failed: u64,
}

impl EccCounts {
    /// Number of wrong bits that were corrected since `then`, and of errors that could not be corrected. The kernel
    /// delivers data with such errors to a reader without an error.
    #[must_use]
    pub const fn since(self, then: EccCounts) -> (u64, u64) {
        (self.corrected.saturating_sub(then.corrected), self.failed.saturating_sub(then.failed))
    }
}

/// Returns the properties of the raw flash with this device number; `None` for other devices.
#[must_use]
pub fn describe(device: Device) -> Option<Flash> {
    describe_in(&Root::machine(), device)
}

fn describe_in(root: &Root, device: Device) -> Option<Flash> {
    let path = std::fs::canonicalize(root.path(format!("/sys/dev/char/{device}"))).ok()?;
    let name = path.file_name()?.to_str()?;
    let number: u32 = name.strip_prefix("mtd")?.trim_end_matches("ro").parse().ok()?;
    // The node for reading (`mtd0ro`) has no attributes of its own.
    let at = |attribute: &str| Path::new("/sys/class/mtd").join(format!("mtd{number}/{attribute}"));
    let flags = flags(&root.text(at("flags"))?)?;
    let bytes = |attribute| root.number(at(attribute)).filter(|bytes| *bytes > 0).map(Bytes);
    let page = bytes("writesize").unwrap_or(Bytes(1));
    Some(Flash {
        kind: root.text(at("type"))?,
        size: root.number(at("size")).map(Bytes)?,
        erase_block: bytes("erasesize")?,
        write_unit: bytes("subpagesize").unwrap_or(page),
        needs_erase: flags & MTD_NO_ERASE == 0,
        writable: flags & MTD_WRITEABLE != 0 && !name.ends_with("ro"),
    })
}

/// Parses the flags, which sysfs writes as `0x400`.
fn flags(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// Calls an ioctl that takes a pointer to a `T`. `op` names the call in the error.
fn ioctl<T>(
    op: &'static str,
    file: impl AsFd,
    request: libc::Ioctl,
    argument: &mut T,
) -> Result<i64> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: each caller in this module passes the type its request reads and writes.
    let rc = unsafe { libc::ioctl(fd, request, std::ptr::from_mut(argument)) };
    check(op, rc)
}

/// Returns the properties of an open flash (`MEMGETINFO`).
///
/// # Errors
/// `ENOTTY` if the file is not raw flash.
pub fn geometry(file: impl AsFd) -> Result<Geometry> {
    let mut info = MtdInfo::default();
    ioctl("ioctl MEMGETINFO", file, MEMGETINFO, &mut info)?;
    if info.erase_size == 0 {
        return Err(Error::new("ioctl MEMGETINFO", Errno::ENOTTY));
    }
    Ok(Geometry {
        erase_block: Bytes(info.erase_size.into()),
        needs_erase: u64::from(info.flags) & MTD_NO_ERASE == 0,
    })
}

/// Whether the erase block at `offset` is marked as bad (`MEMGETBADBLOCK`). Flash without such marks has no bad
/// blocks.
///
/// # Errors
/// `EINVAL` if the offset lies outside the flash.
pub fn is_bad(file: impl AsFd, offset: u64) -> Result<bool> {
    let mut at = offset.cast_signed();
    match ioctl("ioctl MEMGETBADBLOCK", file, MEMGETBADBLOCK, &mut at) {
        Ok(bad) => Ok(bad > 0),
        Err(error) if error.errno == Errno::EOPNOTSUPP => Ok(false),
        Err(error) => Err(error),
    }
}

/// Erases whole erase blocks (`MEMERASE64`): all bits are 1 afterwards.
///
/// # Errors
/// `EIO` if a block is bad or cannot be erased; `EINVAL` if the range does not consist of whole erase blocks; `EPERM`
/// if the descriptor is not open for writing; `EROFS` if the flash is read-only.
pub fn erase(file: impl AsFd, offset: u64, length: u64) -> Result<()> {
    ioctl("ioctl MEMERASE64", file, MEMERASE64, &mut [offset, length]).map(drop)
}

/// Returns the counts of the flash's error correction (`ECCGETSTATS`).
///
/// # Errors
/// `ENOTTY` if the file is not raw flash.
pub fn ecc(file: impl AsFd) -> Result<EccCounts> {
    let mut stats = EccStats::default();
    ioctl("ioctl ECCGETSTATS", file, ECCGETSTATS, &mut stats)?;
    Ok(EccCounts { corrected: stats.corrected.into(), failed: stats.failed.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<MtdInfo>(), size_of::<EccStats>()), (32, 16));
        if cfg!(target_arch = "x86_64") {
            let all = [MEMGETINFO, MEMGETBADBLOCK, ECCGETSTATS, MEMERASE64];
            assert_eq!(all, [0x8020_4d01, 0x4008_4d0b, 0x8010_4d12, 0x4010_4d14]);
        }
    }

    #[test]
    fn the_node_for_reading_has_the_properties_of_the_flash() {
        let place = std::env::temp_dir().join(format!("fiord-flash-{}", std::process::id()));
        let class = place.join("sys/class/mtd/mtd3");
        std::fs::create_dir_all(&class).unwrap();
        std::fs::create_dir_all(place.join("sys/class/mtd/mtd3ro")).unwrap();
        std::fs::create_dir_all(place.join("sys/dev/char")).unwrap();
        for (name, text) in [
            ("type", "nand\n"),
            ("size", "1048576\n"),
            ("erasesize", "16384\n"),
            ("writesize", "512\n"),
            ("subpagesize", "256\n"),
            ("flags", "0x400\n"),
        ] {
            std::fs::write(class.join(name), text).unwrap();
        }
        for (number, name) in [("90:6", "mtd3"), ("90:7", "mtd3ro")] {
            let link = place.join("sys/dev/char").join(number);
            std::os::unix::fs::symlink(format!("../../class/mtd/{name}"), link).unwrap();
        }
        let root = Root::at(&place);
        let of = |minor| describe_in(&root, Device { major: 90, minor });
        let flash = of(6).unwrap();
        assert_eq!((flash.size, flash.erase_block), (Bytes(1 << 20), Bytes(16384)));
        assert_eq!((flash.write_unit, flash.kind.as_str()), (Bytes(256), "nand"));
        assert!(flash.needs_erase && flash.writable);
        assert_eq!(of(7), Some(Flash { writable: false, ..flash }));
        assert_eq!(of(8), None);
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn other_devices_are_no_flash() {
        assert_eq!(describe(Device { major: 1, minor: 3 }), None);
        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(geometry(&null).unwrap_err().errno, Errno::ENOTTY);
        assert!(is_bad(&null, 0).is_err());
        let zero = std::fs::File::open("/dev/zero").unwrap();
        assert_eq!(erase(&zero, 0, 512).unwrap_err().errno, Errno::ENOTTY);
    }
}
