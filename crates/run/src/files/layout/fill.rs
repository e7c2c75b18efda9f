//! Writing and reading whole files at the speed of large sequential calls.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use fiord_load::{AnyContent, Content as _, Io, IoAttributes};
use fiord_plan::{ContentPlan, FileKind, FilePlan, JobPlan};
use fiord_sys::file::{self, FileGuard, Open};
use fiord_types::{Bytes, Dir, Errno, FileIndex};

use super::{Done, LayoutCounters, Overseer};
use crate::content::content_of;
use crate::error::{JobError, Stage, failed};
use crate::files::guard::guard;

/// Size of one write or read, bytes: large enough to make the cost of the call negligible, small enough for
/// a quick reaction to Ctrl-C.
const CHUNK: usize = 1 << 20;

/// Generates the contents of the files of one job. All files of the job share one filler, so that each gets
/// different bytes.
pub(super) struct Filler {
    content: AnyContent,
    buffer: Vec<u8>,
    fill_device: bool,
    guard: FileGuard,
}

impl Filler {
    /// A filler with the contents of `job`.
    pub(super) fn new(job: &JobPlan) -> Result<Self, JobError> {
        // Data that the job only reads is unique, so that storage finds no duplicates.
        let random = matches!(job.content, ContentPlan::Fixed | ContentPlan::Scramble);
        let content = if random { &ContentPlan::Refill } else { &job.content };
        let mut content = content_of(job, content, 0)?;
        let mut buffer = vec![0u8; CHUNK];
        content.prepare(&mut buffer);
        let fill_device = job.end.fill_device;
        Ok(Filler { content, buffer, fill_device, guard: guard(job) })
    }

    /// Writes a range of a file with the job's contents. If the write fails or is cancelled, it removes a file
    /// that the layout created and truncates any other to its old size. With `fill_device`, a full device
    /// completes the file with the data written so far.
    pub(super) fn write(
        &mut self,
        plan: &FilePlan,
        (file, created): (&File, bool),
        range: Range<Bytes>,
        overseer: &mut dyn Overseer,
    ) -> Result<Done, JobError> {
        let start = range.start;
        let fill_device = self.fill_device;
        let result = Writer { file, plan, range, fill_device, overseer }.write(self);
        if !matches!(result, Ok(Done::Complete)) {
            take_back(self.guard, plan, (file, created), start);
        }
        result
    }
}

/// Undoes an incomplete layout: removes a file that it created, truncates one that it extended.
fn take_back(guard: FileGuard, plan: &FilePlan, (file, created): (&File, bool), old_size: Bytes) {
    // The caller reports the first error; a failure here adds nothing.
    if created {
        let _ = guard.remove(&plan.path);
    } else {
        let _ = file::truncate(file, old_size);
    }
}

struct Writer<'a> {
    file: &'a File,
    plan: &'a FilePlan,
    range: Range<Bytes>,
    fill_device: bool,
    overseer: &'a mut dyn Overseer,
}

impl Writer<'_> {
    fn write(self, with: &mut Filler) -> Result<Done, JobError> {
        let mut at = self.range.start;
        while at < self.range.end {
            if self.overseer.cancelled() {
                return Ok(Done::Cancelled);
            }
            let len = usize::try_from((self.range.end - at).0).unwrap_or(CHUNK).min(CHUNK);
            let io = Io {
                dir: Dir::Write,
                file: FileIndex(0),
                offset: at.0,
                len: len as u32,
                attributes: IoAttributes::PLAIN,
            };
            let chunk = &mut with.buffer[..len];
            with.content.fill(chunk, &io);
            if let Err(error) = self.file.write_all_at(chunk, at.0) {
                return self.stopped(at, &error);
            }
            at += Bytes(len as u64);
            self.overseer.wrote(Bytes(len as u64));
        }
        Ok(Done::Complete)
    }

    fn stopped(&self, at: Bytes, error: &std::io::Error) -> Result<Done, JobError> {
        let errno = Errno::of(error);
        if errno == Some(Errno::ENOSPC) && self.fill_device {
            // The file ends where the device is full. Space allocated beyond that holds no data: cut it off.
            let written = file::facts_of(self.file).map_or(at, |facts| facts.size.min(at));
            return file::truncate(self.file.as_fd(), written)
                .map(|()| Done::Complete)
                .map_err(|e| failed(Stage::Truncate, self.plan, &e));
        }
        let detail = if errno == Some(Errno::ENOSPC) {
            format!(
                "no space left while laying out the file; {} MiB are missing. To fix: free space, or lower size=",
                (self.range.end - at).div_ceil(Bytes::from_mib(1))
            )
        } else {
            "while laying out the file".into()
        };
        let mut job_error = JobError::new(Stage::Write, errno, detail).at(&self.plan.path);
        job_error.offset = Some(at.0);
        Err(job_error)
    }
}

/// Reads every file of a job once, so that it is in the page cache (`pre_read`).
pub(crate) fn pre_read(
    job: &JobPlan,
    counters: &LayoutCounters,
    cancelled: &dyn Fn() -> bool,
) -> Result<Done, JobError> {
    let mut buffer = vec![0u8; CHUNK];
    let readable = |plan: &&FilePlan| matches!(plan.kind, FileKind::Regular | FileKind::Block);
    let files = || job.target.files.iter().filter(readable);
    counters.will_write(files().map(|plan| plan.end().saturating_sub(plan.offset)).sum());
    for plan in files() {
        let fd = Open::read_only().open(&plan.path).map_err(|e| failed(Stage::Open, plan, &e))?;
        let file = File::from(fd);
        let end = plan.end();
        let mut at = plan.offset;
        while at < end {
            if cancelled() {
                return Ok(Done::Cancelled);
            }
            let len = usize::try_from((end - at).0).unwrap_or(CHUNK).min(CHUNK);
            match file.read_at(&mut buffer[..len], at.0) {
                // The file ends early: the job's own I/O will report that.
                Ok(0) => break,
                Ok(n) => {
                    at += Bytes(n as u64);
                    counters.wrote(Bytes(n as u64));
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let errno = Errno::of(&e);
                    let mut error = JobError::new(Stage::PreRead, errno, "").at(&plan.path);
                    error.offset = Some(at.0);
                    return Err(error);
                }
            }
        }
    }
    Ok(Done::Complete)
}
