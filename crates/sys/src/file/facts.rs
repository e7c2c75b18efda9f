//! What a path is: kind, size, device, inode; and how much room its file system has.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use crate::error::{c_path, check};
use crate::{Error, Result, block};

/// A device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl Device {
    /// Splits a `dev_t`.
    pub fn from_raw(raw: libc::dev_t) -> Device {
        Device { major: libc::major(raw), minor: libc::minor(raw) }
    }

    /// Parses `major:minor`, as sysfs and mountinfo write it.
    pub fn parse(text: &str) -> Option<Device> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Device { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A directory.
    Directory,
    /// A symbolic link (only [`link_facts`] reports one).
    Link,
}

impl Kind {
    fn from_mode(mode: libc::mode_t) -> Kind {
        match mode & libc::S_IFMT {
            libc::S_IFBLK => Kind::Block,
            libc::S_IFCHR => Kind::Char,
            libc::S_IFIFO => Kind::Pipe,
            libc::S_IFSOCK => Kind::Socket,
            libc::S_IFDIR => Kind::Directory,
            libc::S_IFLNK => Kind::Link,
            _ => Kind::Regular,
        }
    }
}

/// What `stat(2)` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// `st_size` in bytes: 0 for devices (see [`target_size`]).
    pub size: u64,
    /// Bytes the file system has allocated; counts preallocated but unwritten extents too.
    pub allocated: u64,
    /// The file system's preferred I/O size in bytes.
    pub io_size: u64,
    /// The device holding the file (major 0 for btrfs, overlay, tmpfs, NFS …).
    pub device: Device,
    /// The device the node stands for, when it is a device node.
    pub node: Option<Device>,
    /// Inode number: with `device` it identifies the file.
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
    /// The user id of its owner.
    pub owner: u32,
    /// How many names it has (hard links).
    pub links: u64,
}

impl Facts {
    fn from_stat(stat: &libc::stat) -> Facts {
        let kind = Kind::from_mode(stat.st_mode);
        let is_node = matches!(kind, Kind::Block | Kind::Char);
        Facts {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            // stat counts in 512-byte units on Linux, whatever the file system's block is.
            allocated: (stat.st_blocks as u64).saturating_mul(512),
            io_size: stat.st_blksize as u64,
            device: Device::from_raw(stat.st_dev),
            node: is_node.then(|| Device::from_raw(stat.st_rdev)),
            inode: stat.st_ino,
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            // Narrower on some architectures.
            #[allow(clippy::unnecessary_cast)]
            links: stat.st_nlink as u64,
        }
    }
}

fn zeroed_stat() -> libc::stat {
    // SAFETY: `stat` is a C struct of integers, for which all zeroes is a value.
    unsafe { std::mem::zeroed() }
}

/// Facts about a path, following symbolic links.
pub fn facts(path: &Path) -> Result<Facts> {
    let name = c_path("stat", path)?;
    let mut stat = zeroed_stat();
    // SAFETY: `name` is NUL-terminated and `stat` is writable; both outlive the call.
    let rc = unsafe { libc::stat(name.as_ptr(), &mut stat) };
    check("stat", rc).map_err(|error| error.at(path))?;
    Ok(Facts::from_stat(&stat))
}

/// Facts about a path itself, symbolic link or not.
pub fn link_facts(path: &Path) -> Result<Facts> {
    let name = c_path("lstat", path)?;
    let mut stat = zeroed_stat();
    // SAFETY: as in `facts`.
    let rc = unsafe { libc::lstat(name.as_ptr(), &mut stat) };
    check("lstat", rc).map_err(|error| error.at(path))?;
    Ok(Facts::from_stat(&stat))
}

/// Facts about an open file.
pub fn facts_of(file: impl AsFd) -> Result<Facts> {
    let mut stat = zeroed_stat();
    // SAFETY: the descriptor is open while borrowed; `stat` is writable.
    let rc = unsafe { libc::fstat(file.as_fd().as_raw_fd(), &mut stat) };
    check("fstat", rc)?;
    Ok(Facts::from_stat(&stat))
}

/// Whether something with this name is there. Failures other than "no such file" are errors.
pub fn exists(path: &Path) -> Result<bool> {
    match facts(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.errno, libc::ENOENT | libc::ENOTDIR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Size in bytes of what I/O can address: the length of a file, the capacity of a block device,
/// the size of the character devices that have one (see [`block::char_size`]). `None` for what
/// has no size: pipes, sockets, `/dev/zero`, directories.
///
/// A block device's capacity is read from sysfs and needs no permission on the device itself.
pub fn target_size(path: &Path) -> Result<Option<u64>> {
    let facts = facts(path)?;
    match (facts.kind, facts.node) {
        (Kind::Regular, _) => Ok(Some(facts.size)),
        (Kind::Block, Some(node)) => match block::sysfs_size(node) {
            Some(size) => Ok(Some(size)),
            None => {
                let fd = super::Open::read_only().open(path)?;
                block::size(&fd).map(Some).map_err(|error| error.at(path))
            }
        },
        (Kind::Char, Some(node)) => Ok(block::char_size(node)),
        _ => Ok(None),
    }
}

/// Room on a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Its size.
    pub total: u64,
    /// Free, the reserve of root included.
    pub free: u64,
    /// Free for an unprivileged user.
    pub available: u64,
    /// Its block size.
    pub block_size: u64,
}

/// Room on the file system that a file at `path` lies on, through symbolic links; of one that is not
/// there yet, where it would be made: in the nearest directory above that is there.
///
/// # Errors
/// As [`space`].
pub fn space_for(path: &Path) -> Result<Space> {
    // As many links as the kernel follows.
    const LINKS: usize = 40;
    let absolute =
        |path: &Path| std::path::absolute(path).map_err(|e| Error::from_io("statvfs", &e).at(path));
    let mut at = absolute(path)?;
    // A link to what is not there yet: opening it makes that.
    for _ in 0..LINKS {
        match std::fs::read_link(&at) {
            Ok(to) => at = absolute(&at.parent().unwrap_or(Path::new("/")).join(to))?,
            Err(_) => break,
        }
    }
    loop {
        match space(&at) {
            Err(error) if matches!(error.errno, libc::ENOENT | libc::ENOTDIR) && at.pop() => {}
            other => return other,
        }
    }
}

/// Room on the file system that holds `path` (a file or a directory).
pub fn space(path: &Path) -> Result<Space> {
    let name = c_path("statvfs", path)?;
    // SAFETY: `statvfs` is a C struct of integers, for which all zeroes is a value.
    let mut vfs: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is NUL-terminated and `vfs` is writable; both outlive the call.
    let rc = unsafe { libc::statvfs(name.as_ptr(), &mut vfs) };
    check("statvfs", rc).map_err(|error| error.at(path))?;
    let unit = if vfs.f_frsize != 0 { vfs.f_frsize } else { vfs.f_bsize };
    let bytes = |blocks: libc::fsblkcnt_t| blocks.saturating_mul(unit);
    Ok(Space {
        total: bytes(vfs.f_blocks),
        free: bytes(vfs.f_bfree),
        available: bytes(vfs.f_bavail),
        block_size: vfs.f_bsize,
    })
}
