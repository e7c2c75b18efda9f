//! Writing and reading whole files at the speed of large sequential calls.

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use fiord_load::{Content as Fill, Io, Tag};
use fiord_plan::{Content, Dir, FileKind, FilePlan, JobPlan};
use fiord_sys::file::{self, Open};

use super::{Done, ENOSPC, Overseer};
use crate::content::content_of;
use crate::error::{JobError, failed};

/// One write or read: large enough that the call costs nothing, small enough that Ctrl-C is heard.
const CHUNK: usize = 1 << 20;

/// Writes a range of a file with the job's contents. Cut short, the file is given back its old size
/// (or what was written of it, with `fill_device`).
pub(super) fn write(
    job: &JobPlan,
    plan: &FilePlan,
    fd: &OwnedFd,
    range: Range<u64>,
    overseer: &mut dyn Overseer,
) -> Result<Done, JobError> {
    let file = fd.try_clone().map(File::from);
    let file =
        file.map_err(|e| JobError::new("dup", e.raw_os_error().unwrap_or(0), "").at(&plan.path))?;
    let start = range.start;
    let writer = Writer { file: &file, plan, range, fill_device: job.end.fill_device, overseer };
    // Data that is only there to be read is new everywhere, so that nothing finds duplicates.
    let random = matches!(job.content, Content::Fixed | Content::Scramble);
    let refilled = random.then(|| JobPlan { content: Content::Refill, ..job.clone() });
    let content = content_of(refilled.as_ref().unwrap_or(job), 0);
    let result = content.and_then(|content| writer.write(content));
    if !matches!(result, Ok(Done::Complete)) {
        take_back(plan, fd, start);
    }
    result
}

/// Leaves no half-made file behind: one that was not there goes, one that grew shrinks.
fn take_back(plan: &FilePlan, fd: &OwnedFd, old_size: u64) {
    // What was to be reported is being reported already; a failure here changes nothing.
    if old_size == 0 && plan.size_now.is_none() {
        let _ = file::remove(&plan.path);
    } else {
        let _ = file::truncate(fd.as_fd(), old_size);
    }
}

struct Writer<'a> {
    file: &'a File,
    plan: &'a FilePlan,
    range: Range<u64>,
    fill_device: bool,
    overseer: &'a mut dyn Overseer,
}

impl Writer<'_> {
    fn write(self, mut content: impl Fill) -> Result<Done, JobError> {
        let mut buffer = vec![0u8; CHUNK];
        content.prepare(&mut buffer);
        let mut at = self.range.start;
        while at < self.range.end {
            if self.overseer.cancelled() {
                return Ok(Done::Cancelled);
            }
            let len = usize::try_from(self.range.end - at).unwrap_or(CHUNK).min(CHUNK);
            let io = Io { dir: Dir::Write, file: 0, offset: at, len: len as u32, tag: Tag::PLAIN };
            content.fill(&mut buffer[..len], &io);
            if let Err(error) = self.file.write_all_at(&buffer[..len], at) {
                return self.stopped(at, &error);
            }
            at += len as u64;
        }
        Ok(Done::Complete)
    }

    fn stopped(&self, at: u64, error: &std::io::Error) -> Result<Done, JobError> {
        let errno = error.raw_os_error().unwrap_or(0);
        if errno == ENOSPC && self.fill_device {
            // As far as it goes is what was asked for: what was allocated beyond it is not data.
            let written = file::facts_of(self.file).map_or(at, |facts| facts.size.min(at));
            return file::truncate(self.file.as_fd(), written)
                .map(|()| Done::Complete)
                .map_err(|e| failed("ftruncate", self.plan, &e));
        }
        let detail = if errno == ENOSPC {
            format!(
                "no space left while laying out the file; {} MiB are missing. Free some, or lower size=",
                (self.range.end - at).div_ceil(1 << 20)
            )
        } else {
            "while laying out the file".into()
        };
        let mut job_error = JobError::new("write", errno, detail).at(&self.plan.path);
        job_error.offset = Some(at);
        Err(job_error)
    }
}

/// `pre_read`: reads through every file of a job, so that it is in the page cache.
pub fn pre_read(job: &JobPlan, cancelled: &dyn Fn() -> bool) -> Result<Done, JobError> {
    let mut buffer = vec![0u8; CHUNK];
    for plan in &job.target.files {
        if !matches!(plan.kind, FileKind::Regular | FileKind::Block) {
            continue;
        }
        let fd = Open::read_only().open(&plan.path).map_err(|e| failed("open", plan, &e))?;
        let file = File::from(fd);
        let end = plan.offset.saturating_add(plan.len);
        let mut at = plan.offset;
        while at < end {
            if cancelled() {
                return Ok(Done::Cancelled);
            }
            let len = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
            match file.read_at(&mut buffer[..len], at) {
                // The file ends here: the job meets that, and says it, itself.
                Ok(0) => break,
                Ok(n) => at += n as u64,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let errno = e.raw_os_error().unwrap_or(0);
                    let mut error = JobError::new("pre_read", errno, "").at(&plan.path);
                    error.offset = Some(at);
                    return Err(error);
                }
            }
        }
    }
    Ok(Done::Complete)
}
