//! The files of one job while it runs: opened when the worker first needs them, kept open to the end.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use fiord_engine::Attachment;
use fiord_engine::sim::{SharedDisk, SimDisks};
use fiord_plan::{
    Advice, EngineAccess, FileKind, FilePlan, JobPlan, LockFile, SyncMode, WriteHint,
};
use fiord_sys::file::{self, CacheUse, Lifetime, Open};
use fiord_types::{Bytes, Errno, FileIndex};

use super::guard::guard;
use super::lock::{FileLock, FileLocks};
use super::{Files, layout};
use crate::error::{JobError, Stage, failed};
use crate::zones::{ZoneTable, ZoneTables};

/// Pages in the page cache of a file that a job uses with `direct=1`. A count is `None` if the kernel does
/// not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cached {
    /// Index of the file in the job.
    pub file: FileIndex,
    /// Just before the first I/O, after `invalidate` dropped what it could.
    pub at_start: Option<u64>,
    /// When the job ended.
    pub at_end: Option<u64>,
}

/// The files of a job.
#[derive(Debug)]
pub(crate) struct FileSet<'p> {
    job: &'p JobPlan,
    open: Vec<Option<Arc<OwnedFd>>>,
    ready: bool,
    made: Vec<bool>,
    locks: Vec<Arc<FileLock>>,
    cached: Vec<Cached>,
    zone_tables: Option<&'p ZoneTables>,
    simulated: Vec<SharedDisk>,
}

impl<'p> FileSet<'p> {
    /// The files of `job`. Opens nothing yet.
    pub(crate) fn new(job: &'p JobPlan) -> Self {
        let count = job.target.files.len();
        FileSet {
            job,
            open: vec![None; count],
            ready: false,
            made: vec![true; count],
            locks: Vec::new(),
            cached: Vec::new(),
            zone_tables: None,
            simulated: Vec::new(),
        }
    }

    /// Adds the run's file locks (`lockfile`).
    pub(crate) fn locked_by(mut self, locks: &FileLocks) -> Self {
        if self.job.target.lock != LockFile::None {
            let files = self.job.target.files.iter();
            self.locks = files.map(|file| locks.get(&file.path).unwrap_or_default()).collect();
        }
        self
    }

    /// Adds the run's zone tables (`zonemode=zbd`).
    pub(crate) fn zoned_by(mut self, zone_tables: &'p ZoneTables) -> Self {
        self.zone_tables = Some(zone_tables);
        self
    }

    /// Adds the run's files on simulated devices.
    pub(crate) fn simulated_by(mut self, disks: &SimDisks) -> Self {
        self.simulated = disks.of_job(self.job);
        self
    }

    fn plan(&self, index: FileIndex) -> Result<&'p FilePlan, JobError> {
        self.job.target.files.get(index.get()).ok_or_else(|| {
            JobError::new(
                Stage::Open,
                None,
                format!("job {} has no file {index}", self.job.identity.name),
            )
        })
    }

    /// Opens a file with the flags that the job asks for.
    fn open_path(&self, plan: &FilePlan) -> Result<OwnedFd, JobError> {
        let how = &self.job.target.open;
        if plan.kind == FileKind::Pipe && plan.path == Path::new("-") {
            return standard_stream(how.read_only).map_err(|e| failed(Stage::Dup, plan, &e));
        }
        let regular = plan.kind == FileKind::Regular;
        // The SCSI generic driver takes all commands by write(2), read commands too.
        let commands = self.job.engine.def().access == EngineAccess::ScsiCommands
            && plan.kind == FileKind::Char;
        let read_only = how.read_only && !commands;
        let access = if read_only { Open::read_only() } else { Open::read_write() };
        let creates = regular && how.create && !how.read_only;
        let access = access
            .direct(how.direct && matches!(plan.kind, FileKind::Regular | FileKind::Block))
            .sync(how.sync == SyncMode::Sync)
            .data_sync(how.sync == SyncMode::Dsync)
            .create(creates)
            .no_access_time(regular)
            .mode(0o644);
        let opened = match read_only {
            true => access.open(&plan.path),
            false => guard(self.job).open(access, &plan.path).map(|opened| opened.fd),
        };
        let fd = match opened {
            Err(e) if write_only_device(&e, plan, how.read_only) => {
                self.write_only(plan).map_err(|e| open_failed(plan, &e, how.direct))
            }
            other => other.map_err(|e| open_failed(plan, &e, how.direct)),
        }?;
        let facts = file::facts_of(&fd).map_err(|e| failed(Stage::Stat, plan, &e))?;
        if facts.kind == file::InodeType::Directory {
            let detail = "it is a directory. To fix: name a file in it, or use directory=";
            return Err(JobError::new(Stage::Open, Errno::EISDIR, detail).at(&plan.path));
        }
        if !read_only && !is_as_planned(plan.kind, facts.kind) {
            let detail = "it was replaced by a different kind of file after the job was checked, so the \
                          job does not write to it. To fix: find out which program replaces it, then run again";
            return Err(JobError::new(Stage::Open, Errno::ESTALE, detail).at(&plan.path));
        }
        Ok(fd)
    }

    /// Opens a character device or pipe that can only be written.
    fn write_only(&self, plan: &FilePlan) -> fiord_sys::Result<OwnedFd> {
        guard(self.job).open(Open::write_only(), &plan.path).map(|opened| opened.fd)
    }

    /// Extends a file to the end of the range that the job uses, if the job writes through a mapping: unlike a write,
    /// a mapping cannot extend a file.
    fn lengthen(&self, plan: &FilePlan, fd: &OwnedFd) -> Result<(), JobError> {
        let mapped = self.job.engine.def().access.maps_files();
        if !mapped || self.job.target.open.read_only || plan.kind != FileKind::Regular {
            return Ok(());
        }
        let end = plan.offset.saturating_add(plan.len);
        let size = file::facts_of(fd).map_err(|e| failed(Stage::Stat, plan, &e))?.size;
        if size >= end {
            return Ok(());
        }
        file::truncate(fd, end).map_err(|e| failed(Stage::Truncate, plan, &e))
    }

    /// Gives the kernel advice and hints about an open file (`fadvise_hint`, `write_hint`).
    fn prepare(&self, plan: &FilePlan, fd: &OwnedFd) -> Result<(), JobError> {
        let how = &self.job.target.open;
        let seekable = matches!(plan.kind, FileKind::Regular | FileKind::Block);
        let advice = match how.advice {
            _ if !seekable => None,
            Advice::None => None,
            Advice::Auto if self.job.load.random => Some(file::PageCacheAdvice::Random),
            Advice::Auto | Advice::Sequential => Some(file::PageCacheAdvice::Sequential),
            Advice::Random => Some(file::PageCacheAdvice::Random),
            Advice::NoReuse => Some(file::PageCacheAdvice::NoReuse),
        };
        if let Some(advice) = advice {
            file::advise(fd.as_fd(), plan.offset, plan.reach(), advice)
                .map_err(|e| failed(Stage::Advise, plan, &e))?;
        }
        if let Some(hint) = how.write_hint.filter(|_| seekable) {
            file::set_lifetime(fd.as_fd(), lifetime(hint)).map_err(|e| {
                let mut error = failed(Stage::WriteHint, plan, &e);
                error.detail = "this file system or kernel does not support write hints. To fix: leave out write_hint"
                    .into();
                error
            })?;
        }
        Ok(())
    }

    /// Pages in the page cache of each file that the job used with `direct=1`.
    pub(crate) fn cached_under_direct(self) -> Vec<Cached> {
        self.cached
    }

    /// Whether all files are open at once.
    fn opens_all(&self) -> bool {
        self.job.target.opens_all()
    }

    /// Whether to count a file's cached pages: only with `direct=1`, and if it stays open to the end.
    fn counts_cached(&self, plan: &FilePlan) -> bool {
        let target = &self.job.target;
        let all_open = self.opens_all();
        let stored = matches!(plan.kind, FileKind::Regular | FileKind::Block);
        target.open.direct && all_open && !target.unlink_each_loop && stored
    }

    /// Counts the cached pages of the open files just before the first I/O. Drops pages that other programs
    /// have read since [`Files::ready`], and writes dirty pages back first.
    fn count_at_start(&mut self) -> Result<(), JobError> {
        let mut cached = Vec::new();
        for (file, (plan, fd)) in self.job.target.files.iter().zip(&self.open).enumerate() {
            let Some(fd) = fd.as_ref().filter(|_| self.counts_cached(plan)) else { continue };
            let mut now = cached_pages(plan, fd);
            if self.job.target.open.invalidate && now.is_some_and(|now| now.cached > 0) {
                // Dropping a dirty page only starts its write-back, so wait for that first.
                if now.is_some_and(|now| now.dirty + now.writeback > 0) {
                    // Pages that cannot be written stay cached and appear in the count below.
                    let _ = file::fdatasync(fd);
                }
                self.invalidate(plan, fd)?;
                now = cached_pages(plan, fd);
            }
            cached.push(Cached {
                file: FileIndex::at(file),
                at_start: now.map(|now| now.cached),
                at_end: None,
            });
        }
        self.cached = cached;
        Ok(())
    }

    /// Counts the cached pages of a file that is about to be closed, at the end of the job.
    fn count_at_end(&mut self, index: FileIndex) {
        let (plan, fd) = (&self.job.target.files[index], self.open[index].as_ref());
        let Some(fd) = fd.filter(|_| self.counts_cached(plan)) else { return };
        let pages = cached_pages(plan, fd).map(|pages| pages.cached);
        // `cached` is sorted by file.
        if let Ok(at) = self.cached.binary_search_by_key(&index, |cached| cached.file) {
            self.cached[at].at_end = pages;
        }
    }

    fn invalidate(&self, plan: &FilePlan, fd: &OwnedFd) -> Result<(), JobError> {
        let target = &self.job.target;
        if !target.open.invalidate || target.layout.pre_read || !plan.kind.has_path() {
            return Ok(());
        }
        file::drop_cache(fd.as_fd(), plan.offset, plan.reach())
            .map(drop)
            .map_err(|e| failed(Stage::Invalidate, plan, &e))
    }
}

/// Cached pages of the range that a job uses of a file. For a block device, cached pages of the whole device:
/// any cached page makes every direct write look for pages, and the kernel drops only whole devices.
fn cached_pages(plan: &FilePlan, fd: &OwnedFd) -> Option<CacheUse> {
    let (offset, len) = match plan.kind {
        FileKind::Block => (Bytes::ZERO, Bytes::ZERO),
        _ => (plan.offset, plan.reach()),
    };
    file::cached_pages(fd, offset, len).ok()
}

impl Files for FileSet<'_> {
    fn count(&self) -> u32 {
        u32::try_from(self.open.len()).unwrap_or(u32::MAX)
    }

    fn open(&mut self, index: FileIndex) -> Result<Attachment, JobError> {
        let plan = self.plan(index)?;
        let slot = index.get();
        let fd = match (&self.open[slot], plan.kind) {
            (_, kind) if !kind.has_path() => None,
            (_, FileKind::Name) => {
                if !self.made[slot] {
                    layout::again(self.job, plan)?;
                    self.made[slot] = true;
                }
                None
            }
            (Some(fd), _) => Some(Arc::clone(fd)),
            (None, _) => {
                if !self.made[slot] {
                    layout::again(self.job, plan)?;
                    self.made[slot] = true;
                }
                let fd = Arc::new(self.open_path(plan)?);
                self.lengthen(plan, &fd)?;
                // If all files are open at once, `ready` does this after the last of them.
                if self.ready || !self.opens_all() {
                    self.invalidate(plan, &fd)?;
                }
                self.prepare(plan, &fd)?;
                self.open[slot] = Some(Arc::clone(&fd));
                Some(fd)
            }
        };
        Ok(Attachment {
            fd,
            kind: plan.kind,
            offset: plan.offset,
            len: plan.reach(),
            read_only: self.job.target.open.read_only,
        })
    }

    fn is_open(&self, index: FileIndex) -> bool {
        self.open[index].is_some()
    }

    fn close(&mut self, index: FileIndex) -> Result<(), JobError> {
        self.plan(index)?;
        self.count_at_end(index);
        // The I/O or the flush before already reported the errors that close could report.
        self.open[index] = None;
        Ok(())
    }

    fn ready(&mut self) -> Result<(), JobError> {
        self.ready = true;
        for (plan, fd) in self.job.target.files.iter().zip(&self.open) {
            if let Some(fd) = fd {
                self.invalidate(plan, fd)?;
            }
        }
        // Writing dirty pages takes time: do it before the other jobs start.
        self.count_at_start()
    }

    fn starting(&mut self) -> Result<(), JobError> {
        self.count_at_start()
    }

    fn forget_pages(&mut self, index: FileIndex) -> Result<(), JobError> {
        let plan = self.plan(index)?;
        self.open[index].as_ref().map_or(Ok(()), |fd| self.invalidate(plan, fd))
    }

    fn next_loop(&mut self) -> Result<(), JobError> {
        for (index, plan) in self.job.target.files.iter().enumerate() {
            self.open[index] = None;
            if plan.kind == FileKind::Regular {
                guard(self.job).remove(&plan.path).map_err(|e| failed(Stage::Unlink, plan, &e))?;
                self.made[index] = false;
            } else if let (FileKind::Name, Some(names)) = (plan.kind, self.job.engine.names()) {
                layout::names::remove_one(self.job, names.call, plan)?;
                self.made[index] = false;
            }
        }
        Ok(())
    }

    fn sync_file_systems(&mut self) -> Result<(), JobError> {
        let mut synced = Vec::new();
        for plan in &self.job.target.files {
            if !matches!(plan.kind, FileKind::Regular | FileKind::Block) {
                continue;
            }
            // Open by path: the file may be closed by now (`openfiles`).
            let fd = Open::read_only()
                .open(&plan.path)
                .map_err(|e| failed(Stage::SyncFileSystem, plan, &e))?;
            let device = file::facts_of(&fd).map_err(|e| failed(Stage::Stat, plan, &e))?.device;
            if !synced.contains(&device) {
                file::sync_file_system(&fd).map_err(|e| failed(Stage::SyncFileSystem, plan, &e))?;
                synced.push(device);
            }
        }
        Ok(())
    }

    fn path(&self, index: FileIndex) -> &Path {
        self.job.target.files.get(index.get()).map_or(Path::new(""), |plan| &plan.path)
    }

    fn locks(&self) -> Vec<Arc<FileLock>> {
        self.locks.clone()
    }

    fn simulated(&self) -> Vec<SharedDisk> {
        self.simulated.clone()
    }

    fn zones(&self) -> Result<Vec<Arc<ZoneTable>>, JobError> {
        match self.zone_tables.filter(|_| self.job.load.zoned.is_some()) {
            Some(zone_tables) => {
                self.job.target.files.iter().map(|file| zone_tables.get(file)).collect()
            }
            None => Ok(Vec::new()),
        }
    }
}

/// Whether a file opened for writing is of the kind that the plan found.
fn is_as_planned(planned: FileKind, found: file::InodeType) -> bool {
    match planned {
        FileKind::Regular => found == file::InodeType::Regular,
        FileKind::Block => found == file::InodeType::Block,
        FileKind::Char => found == file::InodeType::Char,
        FileKind::Pipe | FileKind::Name | FileKind::Endpoint | FileKind::Virtual => true,
    }
}

/// Whether an open for reading and writing failed on a device or pipe that may be write-only.
fn write_only_device(error: &fiord_sys::Error, plan: &FilePlan, read_only: bool) -> bool {
    error.errno == Errno::EACCES
        && !read_only
        && matches!(plan.kind, FileKind::Char | FileKind::Pipe)
}

fn standard_stream(read: bool) -> fiord_sys::Result<OwnedFd> {
    let copy = if read {
        std::io::stdin().as_fd().try_clone_to_owned()
    } else if fiord_sys::standard_output::was_closed() {
        let said = "standard output is closed. To fix: redirect it, or name a file";
        return Err(fiord_sys::Error::new("write to standard output", Errno::EBADF).saying(said));
    } else {
        std::io::stdout().as_fd().try_clone_to_owned()
    };
    copy.map_err(|e| fiord_sys::Error::from_io("dup", &e))
}

fn lifetime(hint: WriteHint) -> Lifetime {
    match hint {
        WriteHint::None => Lifetime::None,
        WriteHint::Short => Lifetime::Short,
        WriteHint::Medium => Lifetime::Medium,
        WriteHint::Long => Lifetime::Long,
        WriteHint::Extreme => Lifetime::Extreme,
    }
}

fn open_failed(plan: &FilePlan, error: &fiord_sys::Error, direct: bool) -> JobError {
    if direct && error.errno == Errno::EINVAL {
        let detail = "the file system does not support direct I/O (O_DIRECT). To fix: leave out direct=1, or use a \
                      file system that supports it, such as ext4 or XFS";
        return JobError::new(Stage::Open, Errno::EINVAL, detail).at(&plan.path);
    }
    failed(Stage::Open, plan, error)
}

#[cfg(test)]
mod tests;
