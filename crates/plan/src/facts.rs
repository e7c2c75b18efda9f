//! What the plan has to know about the machine. Tests use a machine made up for them.

use std::io;
use std::path::{Path, PathBuf};

use fiord_sys::in_use::Users;
use fiord_sys::nvme;

/// What stands at a path, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundKind {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A pipe or a socket.
    Pipe,
    /// A directory.
    Directory,
}

impl FoundKind {
    /// As messages name it.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            FoundKind::Regular => "a regular file",
            FoundKind::Block => "a block device",
            FoundKind::Char => "a character device",
            FoundKind::Pipe => "a pipe or socket",
            FoundKind::Directory => "a directory",
        }
    }
}

/// A path that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: FoundKind,
    /// Bytes: of a file its length, of a block device its capacity, else 0.
    pub size: u64,
    /// Whether this process may read it.
    pub readable: bool,
    /// Whether this process may write it.
    pub writable: bool,
}

/// Whose commands a character device takes that takes no reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passthrough {
    /// An NVMe namespace's (`/dev/ng0n1`).
    Nvme,
    /// A SCSI device's (`/dev/sg0`).
    Scsi,
}

/// What a zoned device says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneFacts {
    /// Bytes from one zone to the next.
    pub zone_size: u64,
    /// Zones that can be open at a time; `None`: no limit.
    pub max_open: Option<u32>,
    /// Zones that can be open or closed, partly written, at a time.
    pub max_active: Option<u32>,
}

impl ZoneFacts {
    /// Zones that can be written to at a time.
    pub fn limit(&self) -> Option<u32> {
        self.max_open.into_iter().chain(self.max_active).min()
    }
}

/// A disk that takes SCSI commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScsiDisk {
    /// Logical blocks.
    pub blocks: u64,
    /// Bytes of a logical block.
    pub block: u32,
    /// Bytes that one command may move, where the kernel says so.
    pub max_transfer: Option<u64>,
}

/// The machine. Nothing here changes it or reads or writes a target's data.
pub trait Facts {
    /// What stands at a path. `NotFound` when nothing does.
    fn look(&self, path: &Path) -> io::Result<Found>;
    /// Everything below a directory that is not a directory itself, links not followed, sorted.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;
    /// The logical block size of a block device in bytes, where it is known.
    fn logical_block(&self, device: &Path) -> Option<u32>;
    /// What commands a character device takes; `None` where it takes none.
    fn passthrough(&self, device: &Path) -> Option<Passthrough>;
    /// What the namespace behind a generic character device and its controller say; in words why
    /// they do not.
    fn namespace(&self, device: &Path) -> Result<nvme::Device, String>;
    /// The generic character device of an NVMe block device.
    fn generic_sibling(&self, device: &Path) -> Option<PathBuf>;
    /// The block device of a generic character device of NVMe or SCSI.
    fn block_sibling(&self, device: &Path) -> Option<PathBuf>;
    /// What a zoned device says of its zones; `None`: it has none.
    fn zones(&self, device: &Path) -> Option<ZoneFacts>;
    /// The disk behind a path that takes SCSI commands; in words why there is none.
    fn scsi_disk(&self, device: &Path) -> Result<ScsiDisk, String>;
    /// Who uses a device: of a block device mounts, swap and holders of it, its partitions and what
    /// is built on them; of a character device that stands for storage, those of its block device.
    /// In words why it cannot be told. What there is of users is read once a plan, into `users`.
    fn user(&self, device: &Path, users: &Users) -> Result<Option<String>, String>;
    /// The directory of the system (`/etc`) in which what a path leads to lies, links followed, or
    /// in which it would be created. `None` also where it cannot be told.
    fn system_directory(&self, path: &Path) -> Option<String>;
    /// Whether a path is itself a symbolic link.
    fn is_link(&self, path: &Path) -> bool;
    /// Whether a file carries the mark of those that fiord created.
    fn is_created_by_fiord(&self, path: &Path) -> bool;
    /// Whether `mem=` may put buffers into a file: it is missing, empty, left by fiord, or on
    /// hugetlbfs.
    fn takes_buffers(&self, path: &Path) -> bool;
    /// Bytes that an unprivileged user may still write to the file system of a path.
    fn free_space(&self, path: &Path) -> Option<u64>;
    /// The placement identifiers that an NVMe namespace may use for flexible data placement, in the
    /// order of its list; why there are none to be had.
    fn placement_ids(&self, device: &Path) -> Result<Vec<u16>, String>;
    /// How many write streams the kernel has for a block device; `None` where it knows of none.
    fn write_streams(&self, device: &Path) -> Option<u32>;
    /// The whole of a small text file, such as a placement scheme.
    fn text(&self, path: &Path) -> io::Result<String>;
    /// Bytes of a page of memory.
    fn page_size(&self) -> u64;
    /// The sizes of huge pages that the kernel offers, ascending.
    fn huge_pages(&self) -> Vec<u64>;
    /// The CPUs that are online, ascending.
    fn cpus(&self) -> Vec<u32>;
    /// The NUMA nodes, ascending.
    fn nodes(&self) -> Vec<u32>;
    /// The CPUs of a NUMA node, ascending.
    fn cpus_of_node(&self, node: u32) -> Vec<u32>;
    /// A number that nobody can foretell: the seed of a run with `randrepeat=0`.
    fn entropy(&self) -> u64;
}
