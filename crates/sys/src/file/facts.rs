//! Facts about a path (kind, size, device, inode), and the free space of its file system.

use std::os::fd::AsFd;
use std::path::Path;

use fiord_types::{Bytes, Errno};
use rustix::fs::{self, AtFlags, Stat, StatxAttributes, StatxFlags};

use crate::error::Named;
use crate::node::Device;
use crate::{Error, Result, block};

/// Type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InodeType {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A named pipe.
    Pipe,
    Socket,
    Directory,
    /// A symbolic link; only [`link_facts`] reports one.
    Link,
}

impl InodeType {
    fn from_mode(mode: libc::mode_t) -> InodeType {
        match mode & libc::S_IFMT {
            libc::S_IFBLK => InodeType::Block,
            libc::S_IFCHR => InodeType::Char,
            libc::S_IFIFO => InodeType::Pipe,
            libc::S_IFSOCK => InodeType::Socket,
            libc::S_IFDIR => InodeType::Directory,
            libc::S_IFLNK => InodeType::Link,
            _ => InodeType::Regular,
        }
    }
}

/// Facts about a file, from `stat(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    pub kind: InodeType,
    /// `st_size`: 0 for devices (see [`target_size`]).
    pub size: Bytes,
    /// Bytes that the file system has allocated, including preallocated but unwritten extents.
    pub allocated: Bytes,
    /// The file system's preferred I/O size.
    pub io_size: Bytes,
    /// The device that holds the file (major 0 for btrfs, overlay, tmpfs, NFS …).
    pub device: Device,
    /// The device that the node stands for, if the file is a device node.
    pub node: Option<Device>,
    /// Inode number. Together with `device` it identifies the file.
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
    /// User id of the owner.
    pub owner: u32,
    /// Number of hard links.
    pub links: u64,
}

impl FileFacts {
    // Some fields are narrower on some architectures.
    #[allow(clippy::unnecessary_cast)]
    fn from_stat(stat: &Stat) -> FileFacts {
        let kind = InodeType::from_mode(stat.st_mode);
        let is_node = matches!(kind, InodeType::Block | InodeType::Char);
        FileFacts {
            kind,
            size: Bytes(u64::try_from(stat.st_size).unwrap_or(0)),
            // stat(2) on Linux counts in units of 512 bytes, whatever the file system's block size is.
            allocated: Bytes::from_sectors(stat.st_blocks as u64),
            io_size: Bytes(stat.st_blksize as u64),
            device: Device::from_raw(stat.st_dev),
            node: is_node.then(|| Device::from_raw(stat.st_rdev)),
            inode: stat.st_ino as u64,
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            links: stat.st_nlink as u64,
        }
    }
}

/// Returns facts about a path. Follows symbolic links.
///
/// # Errors
/// Errors of `stat(2)`.
pub fn facts(path: &Path) -> Result<FileFacts> {
    let stat = fs::stat(path).op("stat").map_err(|error| error.at(path))?;
    Ok(FileFacts::from_stat(&stat))
}

/// Returns facts about a path. Does not follow a symbolic link at its end.
///
/// # Errors
/// Errors of `lstat(2)`.
pub fn link_facts(path: &Path) -> Result<FileFacts> {
    let stat = fs::lstat(path).op("lstat").map_err(|error| error.at(path))?;
    Ok(FileFacts::from_stat(&stat))
}

/// Returns facts about an open file.
///
/// # Errors
/// Errors of `fstat(2)`.
pub fn facts_of(file: impl AsFd) -> Result<FileFacts> {
    Ok(FileFacts::from_stat(&fs::fstat(file).op("fstat")?))
}

/// Whether the kernel maps the file straight from persistent memory, without the page cache (DAX). `false` if the kernel
/// does not say so (before Linux 5.8).
pub(super) fn is_dax(file: impl AsFd) -> bool {
    fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::DAX))
}

/// Whether a file with this name exists.
///
/// # Errors
/// Errors of `stat(2)`, except `ENOENT` and `ENOTDIR`, which mean `false`.
pub fn exists(path: &Path) -> Result<bool> {
    match facts(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.errno, Errno::ENOENT | Errno::ENOTDIR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns how much I/O can address: the length of a file, the capacity of a block
/// device, or the size of a character device that has one (see [`block::char_size`]). `None` for
/// files without a size: pipes, sockets, `/dev/zero`, directories.
///
/// The capacity of a block device is read from sysfs, which needs no permission on the device.
///
/// # Errors
/// Errors of `stat(2)`; if sysfs does not know a block device, those of opening it.
pub fn target_size(path: &Path) -> Result<Option<Bytes>> {
    let facts = facts(path)?;
    match (facts.kind, facts.node) {
        (InodeType::Regular, _) => Ok(Some(facts.size)),
        (InodeType::Block, Some(node)) => match block::sysfs_size(node) {
            Some(size) => Ok(Some(Bytes(size))),
            None => {
                let fd = super::Open::read_only().open(path)?;
                block::size(&fd).map(|size| Some(Bytes(size))).map_err(|error| error.at(path))
            }
        },
        (InodeType::Char, Some(node)) => Ok(block::char_size(node).map(Bytes)),
        _ => Ok(None),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystemSpace {
    /// Size of the file system.
    pub total: Bytes,
    /// Free space, including the part reserved for root.
    pub free: Bytes,
    /// Space that is free for an unprivileged user.
    pub available: Bytes,
    /// Block size of the file system.
    pub block_size: Bytes,
}

/// Returns the space of the file system that holds the file at `path`, following symbolic links. If
/// the file does not exist, returns the space of the file system on which it would be created: that
/// of the nearest existing directory above it.
///
/// # Errors
/// Errors of `statvfs(3)`.
pub fn space_for(path: &Path) -> Result<FileSystemSpace> {
    // The kernel follows as many links.
    const LINKS: usize = 40;
    let absolute =
        |path: &Path| std::path::absolute(path).map_err(|e| Error::from_io("statvfs", &e).at(path));
    let mut at = absolute(path)?;
    // Opening a link to a missing file creates the file that the link leads to.
    for _ in 0..LINKS {
        match std::fs::read_link(&at) {
            Ok(to) => at = absolute(&at.parent().unwrap_or(Path::new("/")).join(to))?,
            Err(_) => break,
        }
    }
    loop {
        match space(&at) {
            Err(error) if matches!(error.errno, Errno::ENOENT | Errno::ENOTDIR) && at.pop() => {}
            other => return other,
        }
    }
}

/// Returns the space of the file system that holds `path` (a file or a directory).
///
/// # Errors
/// Errors of `statvfs(3)`; `ENOENT` if the path does not exist.
pub fn space(path: &Path) -> Result<FileSystemSpace> {
    let vfs = fs::statvfs(path).op("statvfs").map_err(|error| error.at(path))?;
    let unit = if vfs.f_frsize != 0 { vfs.f_frsize } else { vfs.f_bsize };
    let bytes = |blocks| Bytes(unit).saturating_mul(blocks);
    Ok(FileSystemSpace {
        total: bytes(vfs.f_blocks),
        free: bytes(vfs.f_bfree),
        available: bytes(vfs.f_bavail),
        block_size: Bytes(vfs.f_bsize),
    })
}
