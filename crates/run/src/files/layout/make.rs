//! Makes the files of one job, one after another: creates, allocates, writes and flushes them.
//!
//! Small files share the cost of a flush. A journaling file system commits its journal for an `fsync`, and
//! one commit holds the metadata of every file written before it, so the files are flushed in batches.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fiord_plan::{Fallocate, FilePlan, JobPlan};
use fiord_sys::file::{self, Creator, Open, Opened, Preallocate, RangeSync};
use fiord_types::{Bytes, Errno};

use super::fill::Filler;
use super::{Done, Overseer, holds_data, takes_its_size};
use crate::error::{JobError, Stage, failed};
use crate::files::guard::guard;

/// Maximum number of files that are written but not flushed yet. They stay open until the flush.
pub(crate) const BATCH: usize = 64;
/// Maximum number of bytes that are written but not flushed yet, so that large files are flushed one at a time.
const BATCH_BYTES: Bytes = Bytes::from_mib(16);
/// Files up to this size are not compared with the size of their file system: a job may have very
/// many of them.
const SMALL: Bytes = Bytes::from_mib(1);

/// Makes the files of one job.
pub(super) struct Maker<'a> {
    job: &'a JobPlan,
    overseer: &'a mut dyn Overseer,
    /// The contents and the buffer. Created when the first file is written.
    filler: Option<Filler>,
    /// The directory of the previous file, which is known to exist.
    directory: Option<PathBuf>,
    creator: Creator,
    unflushed: Vec<Unflushed<'a>>,
    unflushed_bytes: Bytes,
    /// Maximum number of files that may be unflushed.
    batch: usize,
}

/// A file that is written but not flushed.
struct Unflushed<'a> {
    plan: &'a FilePlan,
    file: File,
    written: Range<Bytes>,
}

impl<'a> Maker<'a> {
    /// A maker for the files of `job`.
    pub(super) fn new(job: &'a JobPlan, overseer: &'a mut dyn Overseer) -> Self {
        // Jobs that lay out their files at the same time share the limit on open files.
        let batch = match job.target.layout.serialize {
            true => BATCH,
            false => BATCH.min(job.target.open_files.max(1) as usize),
        };
        Maker {
            job,
            overseer,
            filler: None,
            directory: None,
            creator: Creator::new(guard(job)),
            unflushed: Vec::new(),
            unflushed_bytes: Bytes::ZERO,
            batch,
        }
    }

    /// Creates or extends a file that has `present` bytes, which are fewer than the job needs.
    pub(super) fn make(&mut self, plan: &'a FilePlan, present: Bytes) -> Result<Done, JobError> {
        if self.overseer.cancelled() {
            return Ok(Done::Cancelled);
        }
        let needed = plan.size_needed.unwrap_or(Bytes::ZERO);
        // With `fill_device` the user wants a full file system.
        if holds_data(self.job) && takes_its_size(&self.job.content) && !self.job.end.fill_device {
            fits(plan, needed)?;
        }
        self.reach_directory(plan)?;
        let (file, created) = self.open(plan, present)?;
        let layout = &self.job.target.layout;
        let allocated =
            file::allocate(file.as_fd(), how(layout.fallocate), present, needed - present);
        // Ignore a lack of space here: the write that follows reports it.
        if let Err(error) = allocated
            && error.errno != Errno::ENOSPC
        {
            let what = format!(
                "fallocate of {} failed: {error}; the file is not preallocated",
                plan.path.display()
            );
            self.overseer.warning(&what);
        }
        let written = present..needed;
        if !holds_data(self.job) {
            return forget(plan, &file, &written).map(|()| Done::Complete);
        }
        if self.write(plan, (&file, created), written.clone())? == Done::Cancelled {
            return Ok(Done::Cancelled);
        }
        self.flush_later(Unflushed { plan, file, written })?;
        Ok(Done::Complete)
    }

    /// Flushes the remaining files. Call it after the last file.
    pub(super) fn finish(mut self) -> Result<(), JobError> {
        self.flush()
    }

    fn write(
        &mut self,
        plan: &FilePlan,
        file: (&File, bool),
        range: Range<Bytes>,
    ) -> Result<Done, JobError> {
        let filler = match &mut self.filler {
            Some(filler) => filler,
            empty => empty.insert(Filler::new(self.job)?),
        };
        filler.write(plan, file, range, self.overseer)
    }

    fn flush_later(&mut self, unflushed: Unflushed<'a>) -> Result<(), JobError> {
        if !self.job.target.layout.fsync {
            return forget(unflushed.plan, &unflushed.file, &unflushed.written);
        }
        self.unflushed_bytes += unflushed.written.end - unflushed.written.start;
        self.unflushed.push(unflushed);
        if self.unflushed.len() >= self.batch || self.unflushed_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), JobError> {
        self.unflushed_bytes = Bytes::ZERO;
        if self.unflushed.len() > 1 {
            // Start the write-back of all files before waiting for the first. `fsync` reports the errors.
            let start = RangeSync { write: true, ..RangeSync::default() };
            for Unflushed { file, written, .. } in &self.unflushed {
                let _ = file::sync_range(file, written.start, written.end - written.start, start);
            }
        }
        for Unflushed { plan, file, written } in self.unflushed.drain(..) {
            file::fsync(&file).map_err(|e| failed(Stage::Fsync, plan, &e))?;
            forget(plan, &file, &written)?;
        }
        Ok(())
    }

    /// Creates the directory of a file if it is missing.
    fn reach_directory(&mut self, plan: &FilePlan) -> Result<(), JobError> {
        let Some(parent) = plan.path.parent().filter(|parent| *parent != Path::new("")) else {
            return Ok(());
        };
        let known =
            self.directory.as_deref().is_some_and(|known| known.as_os_str() == parent.as_os_str());
        if known || !self.job.target.open.create {
            return Ok(());
        }
        if !file::exists(parent).map_err(|e| failed(Stage::Stat, plan, &e))? {
            guard(self.job).make_directories(parent).map_err(|e| {
                let mut error = failed(Stage::MakeDirectory, plan, &e);
                error.file = Some(parent.to_path_buf());
                error
            })?;
        }
        self.directory = Some(parent.to_path_buf());
        Ok(())
    }

    /// Opens a file. The flag says whether this created it.
    fn open(&mut self, plan: &FilePlan, present: Bytes) -> Result<(File, bool), JobError> {
        let create = self.job.target.open.create;
        let how = Open::write_only().create(create).mode(0o644);
        let opened = match present {
            Bytes::ZERO => self.creator.open(how, &plan.path),
            _ => guard(self.job).open(how, &plan.path),
        };
        let Opened { fd, created } = opened.map_err(|e| {
            if e.errno == Errno::ENOENT && !create {
                let detail = "the file does not exist and allow_file_create=0 forbids creating it. To \
                              fix: create the file, or set allow_file_create=1";
                return JobError::new(Stage::Open, Errno::ENOENT, detail).at(&plan.path);
            }
            failed(Stage::Open, plan, &e)
        })?;
        let regular = || file::facts_of(&fd).map(|found| found.kind == file::InodeType::Regular);
        if !created && !regular().map_err(|e| failed(Stage::Stat, plan, &e))? {
            let detail = "it was a regular file when the job was checked and is no longer one. To fix: \
                          find out which program replaces it, then run again";
            return Err(JobError::new(Stage::Open, Errno::ESTALE, detail).at(&plan.path));
        }
        Ok((File::from(fd), created))
    }
}

/// Drops the pages of the range that was laid out from the page cache.
fn forget(plan: &FilePlan, file: &File, range: &Range<Bytes>) -> Result<(), JobError> {
    file::advise(file, range.start, range.end - range.start, file::PageCacheAdvice::DontNeed)
        .map_err(|e| failed(Stage::Advise, plan, &e))
}

/// Refuses a file that is larger than its whole file system. Finding this out by writing would fill the
/// disk and leave no space for other programs. Free space is not checked, because it may change before the
/// write needs it.
pub(super) fn fits(plan: &FilePlan, needed: Bytes) -> Result<(), JobError> {
    if needed <= SMALL {
        return Ok(());
    }
    let Ok(space) = file::space_for(&plan.path) else { return Ok(()) };
    // Some file systems, such as network file systems, report no size.
    if space.total == Bytes::ZERO || needed <= space.total {
        return Ok(());
    }
    let detail = format!(
        "the layout needs {needed} bytes, but the whole file system has only {}. To fix: use a \
         smaller size, or a directory on another file system",
        space.total.0
    );
    Err(JobError::new(Stage::Layout, Errno::ENOSPC, detail).at(&plan.path))
}

fn how(word: Fallocate) -> Preallocate {
    match word {
        Fallocate::None => Preallocate::None,
        Fallocate::Native => Preallocate::Native,
        Fallocate::Posix => Preallocate::Posix,
        Fallocate::Keep => Preallocate::Keep,
        Fallocate::Truncate => Preallocate::Truncate,
    }
}
