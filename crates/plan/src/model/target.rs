//! The target of a job: its files or devices, and how the job lays them out and opens them.

use std::path::PathBuf;

use fiord_types::Bytes;

use super::{Advice, Fallocate, LockFile, Skew, SyncMode, WriteHint, Zones};

/// The files or devices of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The files in the order of the options.
    pub files: Vec<FilePlan>,
    /// `openfiles`: how many files the job keeps open at a time; at least 1, at most all.
    pub open_files: u32,
    /// The job closes each file when it is done with it and opens it again in the next pass, even if it may keep all
    /// files open.
    pub reopens: bool,
    /// `file_service_type`: how the job chooses the file of the next I/O.
    pub service: FileService,
    /// How the job opens the files.
    pub open: OpenPlan,
    /// How the layout creates the files before the run.
    pub layout: Layout,
    /// `lockfile`: how jobs lock the files against each other.
    pub lock: LockFile,
    /// `unlink`: the job removes its regular files when it is done.
    pub unlink: bool,
    /// `unlink_each_loop`: the job removes its regular files after each loop.
    pub unlink_each_loop: bool,
    /// `ioscheduler`: the I/O scheduler to set for the block devices.
    pub scheduler: Option<String>,
}

impl Target {
    /// Whether all files are open from the beginning to the end.
    #[must_use]
    pub fn opens_all(&self) -> bool {
        self.open_files as usize >= self.files.len() && !self.reopens
    }

    /// Sum of the lengths of the files' regions.
    #[must_use]
    pub fn region(&self) -> Bytes {
        self.files.iter().fold(Bytes::ZERO, |sum, file| sum.saturating_add(file.len))
    }

    /// Sum of the whole blocks of this length in the files' regions, in bytes.
    #[must_use]
    pub fn whole_blocks(&self, block: Bytes) -> Bytes {
        let whole = self.files.iter().map(|file| file.len.round_down(block));
        whole.fold(Bytes::ZERO, Bytes::saturating_add)
    }

    /// Whether `bytes` are at least a pass over the files: the last block of each file may cross the end of its share of them.
    #[must_use]
    pub fn is_pass(&self, bytes: Bytes, block: Bytes) -> bool {
        let crossing = block.saturating_mul(self.files.len() as u64);
        bytes.saturating_add(crossing) > self.whole_blocks(block)
    }
}

/// The kind of a target file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, which exists or will be created.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A pipe or socket.
    Pipe,
    /// The name of a file or directory that the job does not open.
    Name,
    /// A server that the engine connects to. The path is its address.
    Endpoint,
    /// The engine touches no file (`null`, `sim`).
    Virtual,
}

impl FileKind {
    /// Whether it is a regular file or the name of one.
    #[must_use]
    pub const fn is_file(self) -> bool {
        matches!(self, FileKind::Regular | FileKind::Name)
    }

    /// Whether a path on this machine leads to the file, so that it can be looked up and opened.
    #[must_use]
    pub const fn has_path(self) -> bool {
        !matches!(self, FileKind::Endpoint | FileKind::Virtual)
    }
}

/// One file or device, and the region of it that the job uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Path of the file; the address of an `Endpoint`; only a name for `Virtual`.
    pub path: PathBuf,
    pub kind: FileKind,
    /// Offset in bytes of the region.
    pub offset: Bytes,
    /// Length of the region in bytes: I/O stays in `offset .. offset + len`, except with
    /// `zonemode=strided`.
    pub len: Bytes,
    /// Bytes after the region, up to the end of the file, that `zonemode=strided` uses too. 0 in
    /// other modes.
    pub beyond: Bytes,
    /// Size in bytes that the file has now, or will have after the layout of the earlier jobs in
    /// the list. `None`: the file does not exist, and its directories may not exist either.
    pub size_now: Option<Bytes>,
    /// Size in bytes that the file must have before the run starts. `None`: any size is fine.
    pub size_needed: Option<Bytes>,
    /// Bytes that the layout adds to an existing file although the job only reads it and neither
    /// fiord nor fio is known to have created it. 0 otherwise.
    pub extends: Bytes,
    /// Zones of the file (`zonemode=zbd`). The region then consists of whole zones.
    pub zones: Option<Zones>,
}

impl FilePlan {
    /// Bytes from `offset` that I/O can access, including those of `zonemode=strided`.
    #[must_use]
    pub fn reach(&self) -> Bytes {
        self.len.saturating_add(self.beyond)
    }

    /// Whether the last parts of two paths are names in one directory. Compares the bytes of the paths, because a job may
    /// have a hundred thousand files: `a//x` does not lie beside `a/x`.
    #[must_use]
    pub fn lies_beside(&self, other: &FilePlan) -> bool {
        fn directory(file: &FilePlan) -> Option<&[u8]> {
            let path = file.path.as_os_str().as_encoded_bytes();
            path.iter().rposition(|byte| *byte == b'/').map(|slash| &path[..slash])
        }
        directory(self) == directory(other)
    }

    /// Offset after the last byte that I/O can access.
    #[must_use]
    pub fn end(&self) -> Bytes {
        self.offset.saturating_add(self.reach())
    }
}

/// `file_service_type`: how a job chooses the file of the next I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileService {
    /// One file after the other, each for this many I/Os.
    RoundRobin(u32),
    /// A random file, for this many I/Os.
    Random(u32),
    /// A random file, with some files chosen more often than others.
    Skewed(Skew),
    /// One file until it is finished, then the next.
    Sequential,
}

/// How a job opens its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPlan {
    /// `direct`: open with `O_DIRECT`.
    pub direct: bool,
    /// `sync`: open with `O_SYNC` or `O_DSYNC`.
    pub sync: SyncMode,
    /// `atomic`: `RWF_ATOMIC` on every write.
    pub atomic: bool,
    /// `invalidate`: drop cached pages of the region after the last open, before the run, and each
    /// time the job starts a file over ([`super::JobPlan::drops_cache_each_pass`]).
    pub invalidate: bool,
    /// `allow_file_create`: the job may create missing files.
    pub create: bool,
    /// `allow_mounted_write`: the job may write to devices in use and to files of the system.
    pub allow_mounted_write: bool,
    /// `fadvise_hint`: what to tell the kernel about the access pattern.
    pub advice: Advice,
    /// `write_hint`: the expected lifetime of written data. `None`: the job sets no hint.
    pub write_hint: Option<WriteHint>,
    /// `file_append`: offsets begin at the end that the file has before the run.
    pub append: bool,
    /// Open without write access: `--readonly`, or a job that only reads.
    pub read_only: bool,
    /// The file names are generated (`filename_format`), not typed by the user: fiord does not
    /// follow a symbolic link at such a name to write.
    pub generated: bool,
}

/// How the layout creates and fills files before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// `create_serialize`: one job at a time lays out its files.
    pub serialize: bool,
    /// `create_fsync`: sync each file after its layout.
    pub fsync: bool,
    /// `create_on_open`: create a file only when the job opens it.
    pub on_open: bool,
    /// `create_only`: stop after the layout.
    pub only: bool,
    /// `overwrite`: lay out files in full even if the job only writes them.
    pub overwrite: bool,
    /// `pre_read`: read each file before the run, so that it is in the page cache.
    pub pre_read: bool,
    /// `fallocate`: how the layout allocates space.
    pub fallocate: Fallocate,
}
