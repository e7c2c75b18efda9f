//! Signatures at the start of a device, by which file systems, partition tables, RAID, volume managers
//! and encryption can be recognised.
//!
//! The signatures suffice to tell what a write would destroy, not to mount it. The magic numbers come from each
//! format's on-disk documentation. The device is read with `O_DIRECT`, which leaves the page cache
//! unchanged.

use std::path::Path;

use fiord_types::Errno;

use crate::Result;
use crate::error::Named;
use crate::file::{Device, Open};
use crate::memory::{MemoryRegion, MemorySource};
use crate::root::Root;

/// Number of bytes read from the start; they contain all signatures below.
const HEAD: usize = 136 * 1024;

/// A signature: offset in bytes, magic number, name of the format.
type Mark = (usize, &'static [u8], &'static str);

const MARKS: &[Mark] = &[
    (0x438, &[0x53, 0xef], "ext2/3/4"),
    (0, b"XFSB", "xfs"),
    (0x10040, b"_BHRfS_M", "btrfs"),
    (0x400, &[0x10, 0x20, 0xf5, 0xf2], "f2fs"),
    (0x400, &[0xe2, 0xe1, 0xf5, 0xe0], "erofs"),
    (4096 - 10, b"SWAPSPACE2", "swap"),
    (0, b"LUKS\xba\xbe", "LUKS encryption"),
    (0, b"hsqs", "squashfs"),
    (3, b"NTFS    ", "ntfs"),
    (3, b"EXFAT   ", "exfat"),
    (82, b"FAT32   ", "vfat"),
    (54, b"FAT16   ", "vfat"),
    (54, b"FAT12   ", "vfat"),
    (0x8001, b"CD001", "iso9660"),
    // linux_raid_member: version 1.2 at 4 KiB, 1.1 at 0.
    (4096, &[0xfc, 0x4e, 0x2b, 0xa9], "Linux RAID member"),
    (0, &[0xfc, 0x4e, 0x2b, 0xa9], "Linux RAID member"),
    // Superblocks of bcache and bcachefs begin at 4 KiB, their magic 24 bytes in.
    (
        4096 + 24,
        &[
            0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba,
            0x6d, 0x81,
        ],
        "bcache or bcachefs",
    ),
    (0, b"BlueFS", "Ceph BlueFS"),
    (0, b"bluestore block device", "Ceph BlueStore"),
];

/// Returns the formats whose signatures are in the first bytes of a device, each once. `logical` is the
/// logical block size in bytes.
#[must_use]
pub fn in_head(head: &[u8], logical: usize) -> Vec<&'static str> {
    let has = |at: usize, magic: &[u8]| head.get(at..at + magic.len()) == Some(magic);
    let mut found: Vec<&'static str> = Vec::new();
    let mut add = |name: &'static str| {
        if !found.contains(&name) {
            found.push(name);
        }
    };
    let gpt = has(logical, b"EFI PART") || has(512, b"EFI PART");
    if gpt {
        add("GPT partition table");
    }
    for (at, magic, name) in MARKS {
        if has(*at, magic) {
            add(name);
        }
    }
    // The label of an LVM physical volume is in one of the first four sectors.
    if (0..4).any(|sector| has(sector * 512, b"LABELONE") && has(sector * 512 + 24, b"LVM2 001")) {
        add("LVM physical volume");
    }
    if has_zfs_uberblock(head) {
        add("ZFS member");
    }
    // Boot sectors of file systems end with the same signature, so require a partition entry too.
    if !gpt && has(510, &[0x55, 0xaa]) && found_partition(head) {
        add("MBR partition table");
    }
    found
}

/// Whether a boot sector contains a plausible partition table: all four entries have a valid state, and
/// at least one has a type and a length.
fn found_partition(head: &[u8]) -> bool {
    let entries = head.get(446..510).unwrap_or_default();
    entries
        .chunks_exact(16)
        .any(|entry| matches!(entry[0], 0 | 0x80) && entry[4] != 0 && entry[12..16] != [0; 4])
        && entries.chunks_exact(16).all(|entry| matches!(entry[0], 0 | 0x80))
}

/// Whether the first 256 KiB label contains a ZFS uberblock. Uberblocks fill its second half, which
/// starts at 128 KiB.
fn has_zfs_uberblock(head: &[u8]) -> bool {
    let label = head.get(128 * 1024..).unwrap_or_default();
    label.chunks(1024).filter_map(|block| block.get(..8)).any(|magic| {
        magic == 0x00ba_b10c_u64.to_le_bytes() || magic == 0x00ba_b10c_u64.to_be_bytes()
    })
}

/// Returns the signatures that udev found on a device when it last examined it (`/run/udev/data/b8:0`).
/// This needs no privilege and does not access the device. `None` if udev does not know the device.
pub fn by_udev(root: &Root, device: Device) -> Option<Vec<String>> {
    let text = root.text(format!("/run/udev/data/b{device}"))?;
    let value = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('='))
    };
    let mut found = Vec::new();
    if let Some(table) = value("ID_PART_TABLE_TYPE") {
        let name = match table {
            "gpt" => "GPT partition table",
            "dos" => "MBR partition table",
            other => other,
        };
        found.push(name.to_owned());
    }
    found.extend(value("ID_FS_TYPE").map(str::to_owned));
    Some(found)
}

/// Reads the start of a device and returns the formats found there.
///
/// # Errors
/// `EACCES` without the right to read the device; otherwise those of `open(2)` and `pread(2)`.
pub fn on_device(node: &Path, logical: usize) -> Result<Vec<&'static str>> {
    on_part(node, 0, logical)
}

/// Reads the start of a part of a device (a partition) that begins at byte `start`, and returns the
/// formats found there.
///
/// # Errors
/// Errors of [`on_device`].
pub fn on_part(node: &Path, start: u64, logical: usize) -> Result<Vec<&'static str>> {
    let direct = Open::read_only().direct(true).nonblocking(true).open(node);
    let fd = direct.or_else(|error| match error.errno {
        Errno::EINVAL => Open::read_only().nonblocking(true).open(node),
        _ => Err(error),
    })?;
    let mut head = MemoryRegion::new(&MemorySource::Malloc, HEAD, 4096)?;
    let buffer = head.as_mut_slice();
    let read = rustix::io::pread(&fd, &mut *buffer, start);
    let read = read.op("pread").map_err(|error| error.at(node))?;
    Ok(in_head(&buffer[..read], logical))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(marks: &[(usize, &[u8])]) -> Vec<u8> {
        let mut head = vec![0u8; HEAD];
        for (at, bytes) in marks {
            head[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        head
    }

    #[test]
    fn every_signature_is_found_at_its_offset() {
        for (at, magic, name) in MARKS {
            assert_eq!(in_head(&head(&[(*at, magic)]), 512), [*name]);
        }
        assert!(in_head(&head(&[]), 512).is_empty());
        assert!(in_head(&[], 512).is_empty());
        assert!(in_head(b"XFS", 512).is_empty());
    }

    #[test]
    fn partition_tables_and_volumes_are_found() {
        assert_eq!(in_head(&head(&[(4096, b"EFI PART")]), 4096), ["GPT partition table"]);
        // A GPT with its protective MBR entry is reported once.
        let mut entry = [0u8; 16];
        entry[4] = 0xee;
        entry[12] = 1;
        let marks: [(usize, &[u8]); 3] = [(446, &entry), (510, &[0x55, 0xaa]), (512, b"EFI PART")];
        assert_eq!(in_head(&head(&marks), 512), ["GPT partition table"]);
        assert_eq!(in_head(&head(&marks[..2]), 512), ["MBR partition table"]);
        assert!(in_head(&head(&marks[1..2]), 512).is_empty(), "a boot sector without partitions");
        let lvm: [(usize, &[u8]); 2] = [(512, b"LABELONE"), (536, b"LVM2 001")];
        assert_eq!(in_head(&head(&lvm), 512), ["LVM physical volume"]);
        let zfs = 0x00ba_b10c_u64.to_le_bytes();
        assert_eq!(in_head(&head(&[(129 * 1024, &zfs)]), 512), ["ZFS member"]);
    }
}
