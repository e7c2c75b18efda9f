//! What a job works on: files and devices, how they are laid out and opened.

use std::path::PathBuf;

use super::{Skew, Zones};

/// The files or devices of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Every file, in order. Empty only for engines that need none.
    pub files: Vec<FilePlan>,
    /// `openfiles`: how many are open at a time (at least 1, at most all).
    pub open_files: u32,
    /// `file_service_type`.
    pub service: FileService,
    /// How they are opened.
    pub open: OpenPlan,
    /// How they are laid out before the run.
    pub layout: Layout,
    /// `lockfile`.
    pub lock: LockFile,
    /// `unlink`: remove regular files when the job is done.
    pub unlink: bool,
    /// `unlink_each_loop`.
    pub unlink_each_loop: bool,
    /// `ioscheduler`, for block devices.
    pub scheduler: Option<String>,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, there or to be made.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A pipe or socket.
    Pipe,
    /// The engine touches no file (`null`, `sim`).
    Virtual,
}

/// One file or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Its path (a mere name for `Virtual`).
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// First byte that is used.
    pub offset: u64,
    /// Bytes that are used from there: I/O stays in `offset .. offset + len`, except with
    /// `zonemode=strided`.
    pub len: u64,
    /// Bytes behind those that `zonemode=strided` uses too: all that the file has. 0 in other modes.
    pub beyond: u64,
    /// The size it has now, or that the layout of an earlier job in the list will have given it;
    /// `None` when it is not there. The directories on the way to it may be missing too.
    pub size_now: Option<u64>,
    /// The size it must have before the run starts; `None`: take it as it is.
    pub size_needed: Option<u64>,
    /// Bytes that the layout adds to it although the job only reads and neither fiord nor fio is known
    /// to have created it; 0 otherwise.
    pub extends: u64,
    /// Its zones (`zonemode=zbd`): the region begins and ends with one.
    pub zones: Option<Zones>,
}

impl FilePlan {
    /// Bytes from `offset` on that I/O can come to.
    pub fn reach(&self) -> u64 {
        self.len.saturating_add(self.beyond)
    }

    /// The byte behind the last one that I/O can come to.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.reach())
    }
}

/// Which file is next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileService {
    /// In turn, each for this many I/Os.
    RoundRobin(u32),
    /// At random, each for this many I/Os.
    Random(u32),
    /// Some files get more than others.
    Skewed(Skew),
    /// One is finished before the next is begun.
    Sequential,
}

/// How files are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPlan {
    /// `O_DIRECT`.
    pub direct: bool,
    /// `sync`.
    pub sync: SyncMode,
    /// `RWF_ATOMIC` on every write.
    pub atomic: bool,
    /// `invalidate`: drop cached pages of the region after the last open, before the run, and each
    /// time the job begins a file anew ([`super::JobPlan::drops_cache_each_pass`]).
    pub invalidate: bool,
    /// `allow_file_create`: a missing file may be made.
    pub create: bool,
    /// `allow_mounted_write`.
    pub allow_mounted_write: bool,
    /// `fadvise_hint`.
    pub advice: Advice,
    /// `write_hint`: the word.
    pub write_hint: Option<WriteHint>,
    /// `file_append`: opened for appending, offsets begin at the present end.
    pub append: bool,
    /// `--readonly` or a job that only reads: opened without write access.
    pub read_only: bool,
    /// The names are made up (`filename_format`) and not the user's: no symbolic link in place of one
    /// is followed to write.
    pub generated: bool,
}

/// `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// Neither.
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
}

/// `fadvise_hint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// None given.
    None,
    /// As the job's access pattern is.
    Auto,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
}

/// `write_hint` (`F_SET_RW_HINT`, see `linux/fcntl.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteHint {
    /// `RWH_WRITE_LIFE_NONE`.
    None,
    /// `RWH_WRITE_LIFE_SHORT`.
    Short,
    /// `RWH_WRITE_LIFE_MEDIUM`.
    Medium,
    /// `RWH_WRITE_LIFE_LONG`.
    Long,
    /// `RWH_WRITE_LIFE_EXTREME`.
    Extreme,
}

/// How files are laid out before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// `create_serialize`: one job at a time.
    pub serialize: bool,
    /// `create_fsync`.
    pub fsync: bool,
    /// `create_on_open`: only made when the job opens it.
    pub on_open: bool,
    /// `create_only`: lay out and stop.
    pub only: bool,
    /// `overwrite`: a file to be written is fully there first.
    pub overwrite: bool,
    /// `pre_read`: read through it before the run.
    pub pre_read: bool,
    /// `fallocate`.
    pub fallocate: Fallocate,
}

/// `fallocate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallocate {
    /// Nothing.
    None,
    /// `fallocate(2)`; a file system without it is no error.
    Native,
    /// `posix_fallocate(3)`.
    Posix,
    /// `FALLOC_FL_KEEP_SIZE`.
    Keep,
    /// `ftruncate(2)` to the size.
    Truncate,
}

/// `lockfile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockFile {
    /// No lock.
    None,
    /// One job at a time on a file.
    Exclusive,
    /// Many readers or one writer.
    ReadWrite,
}
