//! The facts about the machine that planning needs. Tests implement them for an imaginary machine.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fiord_sys::flash::Flash;
use fiord_sys::in_use::{Users, WriteObstacle};
use fiord_sys::nvme;
use fiord_sys::nvme::admin::Refused;
use fiord_sys::scsi::generic::Failure;
use fiord_types::Bytes;

/// The kind of file at a path, after following symbolic links.
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
    Directory,
}

impl FoundKind {
    /// The kind in words, for messages.
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

/// The properties of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The kind of the file.
    pub kind: FoundKind,
    /// Length of a regular file or capacity of a block device in bytes. Of a character device, the
    /// capacity if it reports one. Otherwise 0.
    pub size: u64,
    /// Whether this process may read it.
    pub readable: bool,
    /// Whether this process may write it.
    pub writable: bool,
}

/// The command set of a character device that accepts only commands, no reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passthrough {
    /// NVMe commands to a namespace (`/dev/ng0n1`).
    Nvme,
    /// SCSI commands to a device (`/dev/sg0`).
    Scsi,
}

/// The properties that a zoned device reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneFacts {
    /// Bytes from one zone to the next.
    pub zone_size: u64,
    /// Largest number of open zones. `None`: no limit.
    pub max_open: Option<u32>,
    /// Largest number of active zones: open ones, and closed ones that are partly written. `None`:
    /// no limit.
    pub max_active: Option<u32>,
}

impl ZoneFacts {
    /// Largest number of zones that can be partly written at a time. `None`: no limit.
    #[must_use]
    pub fn limit(&self) -> Option<u32> {
        self.max_open.into_iter().chain(self.max_active).min()
    }
}

/// A disk that accepts SCSI commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScsiDisk {
    /// Capacity in logical blocks.
    pub blocks: u64,
    /// Size of a logical block in bytes.
    pub block: u32,
    /// Largest transfer of one command in bytes. `None`: the kernel reports no limit.
    pub max_transfer: Option<u64>,
}

/// Why a path accepts no SCSI commands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotScsi {
    /// A partition: the addresses of commands are those of the disk.
    #[error("it is a partition, and commands go to the whole disk")]
    Partition,
    /// A device that the kernel builds on others.
    #[error("it is built on {}, and commands go to the whole disk beneath", .0.join(", "))]
    BuiltOn(Vec<String>),
    /// A disk of another kind.
    #[error("it is not a SCSI disk")]
    OtherDisk,
    /// Not a device for SCSI commands.
    #[error("it is not a SCSI device")]
    OtherDevice,
    /// The path cannot be examined.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// The device does not report its capacity.
    #[error(transparent)]
    Capacity(#[from] Failure),
}

/// Facts about a machine. Implementations must not change the machine, and must not read or write
/// the data of a target.
///
/// ```
/// use std::path::Path;
///
/// use fiord_plan::machine::system::SystemFacts;
/// use fiord_plan::{Facts, FoundKind};
///
/// assert_eq!(SystemFacts.look(Path::new("/dev/null")).unwrap().kind, FoundKind::Char);
/// assert!(!SystemFacts.cpus().is_empty());
/// ```
pub trait Facts {
    /// The file at a path, after following symbolic links.
    ///
    /// # Errors
    /// The error of the system; `NotFound` if the file does not exist.
    fn look(&self, path: &Path) -> io::Result<Found>;
    /// What [`Facts::look`] and [`Facts::is_link`] return, with one system call less for each of many files.
    fn look_at_link(&self, path: &Path) -> (io::Result<Found>, bool) {
        (self.look(path), self.is_link(path))
    }
    /// All files below a directory, recursively and sorted, without directories and symbolic links.
    ///
    /// # Errors
    /// The error of the system if a directory cannot be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;
    /// The logical block size of a block device in bytes. `None`: unknown.
    fn logical_block(&self, device: &Path) -> Option<u32>;
    /// The alignment of mappings of a device-DAX character device. `None`: it is none.
    fn dax_alignment(&self, device: &Path) -> Option<Bytes>;
    /// The commands that a character device accepts. `None`: it accepts none.
    fn passthrough(&self, device: &Path) -> Option<Passthrough>;
    /// The properties of the NVMe namespace behind a generic character device, and of its
    /// controller.
    ///
    /// # Errors
    /// The kernel or the controller refuses to identify the namespace.
    fn namespace(&self, device: &Path) -> Result<nvme::NvmeDevice, Refused>;
    /// The generic character device of an NVMe block device. `None`: it has none.
    fn generic_sibling(&self, device: &Path) -> Option<PathBuf>;
    /// The block device of an NVMe or SCSI generic character device. `None`: it has none.
    fn block_sibling(&self, device: &Path) -> Option<PathBuf>;
    /// The zone properties of a device. `None`: it has no zones.
    fn zones(&self, device: &Path) -> Option<ZoneFacts>;
    /// The disk at a path that accepts SCSI commands.
    ///
    /// # Errors
    /// The path accepts no SCSI commands.
    fn scsi_disk(&self, device: &Path) -> Result<ScsiDisk, NotScsi>;
    /// The raw flash at a path. `None`: it is none.
    fn flash(&self, device: &Path) -> Option<Flash>;
    /// Who uses a device. Users of a block device are its mounts, swap and holders, its
    /// partitions, and the devices built on them. A character device for storage has the users of
    /// its block device. `None`: the device is free. `users` caches the users of the machine.
    ///
    /// # Errors
    /// The users are unknown.
    fn user(&self, device: &Path, users: &Users)
    -> Result<Option<WriteObstacle>, fiord_sys::Error>;
    /// The system directory, such as `/etc`, that contains the file at a path or would contain it,
    /// after following symbolic links. `None`: no system directory, or unknown.
    fn system_directory(&self, path: &Path) -> Option<String>;
    /// Whether the path itself is a symbolic link.
    fn is_link(&self, path: &Path) -> bool;
    /// Whether a file has the mark of files that fiord created.
    fn is_created_by_fiord(&self, path: &Path) -> bool;
    /// Whether `mem=` may use a file for buffers: it does not exist, is empty, was left by fiord,
    /// or is on hugetlbfs.
    fn takes_buffers(&self, path: &Path) -> bool;
    /// Bytes that an unprivileged user can still write to the file system of a path. `None`:
    /// unknown.
    fn free_space(&self, path: &Path) -> Option<u64>;
    /// The placement identifiers of flexible data placement that an NVMe namespace may use, in the
    /// order of its list.
    ///
    /// # Errors
    /// The kernel or the controller refuses to report them.
    fn placement_ids(&self, device: &Path) -> Result<Vec<u16>, Refused>;
    /// The number of write streams of a block device. `None`: the kernel does not support them.
    fn write_streams(&self, device: &Path) -> Option<u32>;
    /// The contents of a small text file, such as a placement scheme.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is not UTF-8.
    fn text(&self, path: &Path) -> io::Result<String>;
    /// The contents of a file that an earlier run saved.
    ///
    /// # Errors
    /// The file cannot be read, or has more than `most` bytes.
    fn contents(&self, path: &Path, most: Bytes) -> io::Result<Vec<u8>>;
    /// Opens a trace (`read_iolog`): a file, a FIFO, a UNIX socket, or standard input (`-`).
    ///
    /// # Errors
    /// It cannot be opened.
    fn open_trace(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;
    /// The path of the block device with these numbers. `None`: there is none.
    fn block_device(&self, major: u32, minor: u32) -> Option<PathBuf>;
    /// The size of a memory page in bytes.
    fn page_size(&self) -> u64;
    /// The huge page sizes that the kernel offers, in bytes, ascending.
    fn huge_pages(&self) -> Vec<u64>;
    /// The CPUs that are online, ascending.
    fn cpus(&self) -> Vec<u32>;
    /// The NUMA nodes, ascending.
    fn nodes(&self) -> Vec<u32>;
    /// The CPUs of a NUMA node, ascending.
    fn cpus_of_node(&self, node: u32) -> Vec<u32>;
    /// A random number: the seed of a run with `randrepeat=0`.
    fn entropy(&self) -> u64;
}
