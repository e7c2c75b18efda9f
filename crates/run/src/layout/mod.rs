//! File layout: before the run, regular files that are missing or too small are made.
//!
//! What is done to a file, and when:
//!
//! | the job | what happens |
//! |---|---|
//! | reads (or `overwrite=1`) | it is allocated as `fallocate` says and **written** with the job's own contents |
//! | only writes or trims | it is made and allocated; nothing is written |
//! | `create_on_open=1` | nothing: opening makes it |
//! | the file is large enough | nothing |
//!
//! What is there already stays: only the missing part is written. A layout that is cut short
//! (Ctrl-C, no space) takes back what it could not finish, so that the next run does not take a
//! file of holes for a file of data.

mod fill;
mod mounted;

use std::os::fd::AsFd;
use std::path::Path;

use fiord_plan::{Content, Dir, Fallocate, FileKind, FilePlan, JobPlan};
use fiord_sys::file::{self, Open, Preallocate};

use crate::error::{JobError, failed};

pub use fill::pre_read;
pub use mounted::refuse_mounted;

const ENOENT: i32 = 2;
const ENOSPC: i32 = 28;

/// Tells what goes on and asks whether to go on.
pub trait Overseer {
    /// Whether the layout is to end now.
    fn cancelled(&mut self) -> bool;
    /// Files are about to be made: how many, and their size together, bytes.
    fn laying_out(&mut self, files: usize, bytes: u64);
    /// Something is not as asked for.
    fn warning(&mut self, what: &str);
}

/// How a layout ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Everything is there.
    Complete,
    /// It was cancelled.
    Cancelled,
}

/// Makes what a job needs. Block devices that are mounted are refused here, too, before anything
/// is touched.
pub fn prepare(job: &JobPlan, overseer: &mut dyn Overseer) -> Result<Done, JobError> {
    refuse_mounted(job)?;
    if job.target.layout.on_open {
        return Ok(Done::Complete);
    }
    let mut missing = Vec::new();
    for plan in &job.target.files {
        if let Some(present) = needs(plan)? {
            missing.push((plan, present));
        }
    }
    if missing.is_empty() {
        return Ok(Done::Complete);
    }
    let bytes = missing.iter().map(|(plan, _)| plan.len).sum();
    overseer.laying_out(missing.len(), bytes);
    for (plan, present) in missing {
        if make(job, plan, present, overseer)? == Done::Cancelled {
            return Ok(Done::Cancelled);
        }
    }
    Ok(Done::Complete)
}

/// The size that a file has now, when that is not enough.
fn needs(plan: &FilePlan) -> Result<Option<u64>, JobError> {
    let (FileKind::Regular, Some(needed)) = (plan.kind, plan.size_needed) else {
        return Ok(None);
    };
    // Asked again, not taken from the plan: another job may have made the file meanwhile.
    let present = match file::facts(&plan.path) {
        Ok(facts) => facts.size,
        Err(e) if e.errno == ENOENT => return Ok(Some(0)),
        Err(e) => return Err(failed("stat", plan, &e)),
    };
    Ok((present < needed).then_some(present))
}

/// With `fill_device` a layout may end early because the device is full. What is left of the job's
/// files is what it then works on; `None`: all of them are as large as planned.
pub fn shortened(job: &JobPlan) -> Option<JobPlan> {
    if !job.end.fill_device || !holds_data(job) {
        return None;
    }
    let mut shorter = job.clone();
    for plan in shorter.target.files.iter_mut().filter(|plan| plan.kind == FileKind::Regular) {
        // A file that cannot be looked at cannot be opened either, which says it better.
        let Ok(facts) = file::facts(&plan.path) else { continue };
        plan.len = plan.len.min(facts.size.saturating_sub(plan.offset));
    }
    let planned: u64 = job.target.files.iter().map(|plan| plan.len).sum();
    let left: u64 = shorter.target.files.iter().map(|plan| plan.len).sum();
    // What goes round the files more than once goes on doing so.
    if shorter.end.bytes <= planned {
        shorter.end.bytes = shorter.end.bytes.min(left);
    }
    (left < planned).then_some(shorter)
}

/// Makes a file again that was removed (`unlink_each_loop`).
pub(crate) fn again(job: &JobPlan, plan: &FilePlan) -> Result<(), JobError> {
    struct Silent;
    impl Overseer for Silent {
        fn cancelled(&mut self) -> bool {
            false
        }
        fn laying_out(&mut self, _: usize, _: u64) {}
        fn warning(&mut self, _: &str) {}
    }
    match needs(plan)? {
        Some(present) if !job.target.layout.on_open => {
            make(job, plan, present, &mut Silent).map(drop)
        }
        _ => Ok(()),
    }
}

/// Whether the file must hold data before the run.
fn holds_data(job: &JobPlan) -> bool {
    job.load.mix.has(Dir::Read) || job.target.layout.overwrite
}

/// Whether contents take as many bytes on storage that compresses or keeps what is equal once
/// (btrfs, ZFS, VDO) as on any other.
fn takes_its_size(content: &Content) -> bool {
    match content {
        Content::Zero | Content::Pattern(_) | Content::Shaped(_) => false,
        Content::Scramble | Content::Fixed | Content::Refill => true,
    }
}

/// A file that is to hold data can be no larger than its file system: to find that out by writing
/// would fill the disk, and take everybody else's room. (That there is too little room just now may
/// change until it is needed.)
fn fits(plan: &FilePlan, needed: u64) -> Result<(), JobError> {
    let Ok(space) = file::space_for(&plan.path) else { return Ok(()) };
    // Some file systems, such as those of other machines, do not say.
    if space.total == 0 || needed <= space.total {
        return Ok(());
    }
    let detail = format!(
        "it is to be laid out with {needed} bytes, and its file system has {} in all: use a smaller \
         size, or another place (directory)",
        space.total
    );
    Err(JobError::new("layout", ENOSPC, detail).at(&plan.path))
}

fn make(
    job: &JobPlan,
    plan: &FilePlan,
    present: u64,
    overseer: &mut dyn Overseer,
) -> Result<Done, JobError> {
    let needed = plan.size_needed.unwrap_or(0);
    // With `fill_device` a full file system is what is wanted.
    if holds_data(job) && takes_its_size(&job.content) && !job.end.fill_device {
        fits(plan, needed)?;
    }
    let fd = open_to_make(job, plan)?;
    let layout = &job.target.layout;
    let allocated = file::allocate(fd.as_fd(), how(layout.fallocate), present, needed - present);
    // That there is no room is met, and told, by what writes there.
    if let Err(error) = allocated
        && error.errno != ENOSPC
    {
        let what =
            format!("fallocate of {} failed: {error}; going on without", plan.path.display());
        overseer.warning(&what);
    }
    let done = if holds_data(job) {
        fill::write(job, plan, &fd, present..needed, overseer)?
    } else {
        Done::Complete
    };
    if layout.fsync && holds_data(job) {
        file::fsync(fd.as_fd()).map_err(|e| failed("fsync", plan, &e))?;
    }
    file::advise(fd.as_fd(), present, needed - present, file::Advice::DontNeed)
        .map_err(|e| failed("posix_fadvise", plan, &e))?;
    Ok(done)
}

fn open_to_make(job: &JobPlan, plan: &FilePlan) -> Result<std::os::fd::OwnedFd, JobError> {
    let create = job.target.open.create;
    if create
        && let Some(parent) = plan.path.parent().filter(|p| *p != Path::new(""))
        && !file::exists(parent).map_err(|e| failed("stat", plan, &e))?
    {
        file::make_directories(parent).map_err(|e| {
            let mut error = failed("mkdir", plan, &e);
            error.file = Some(parent.to_path_buf());
            error
        })?;
    }
    Open::write_only().create(create).mode(0o644).open(&plan.path).map_err(|e| {
        if e.errno == ENOENT && !create {
            let detail = "the file is not there and allow_file_create=0 forbids to make it";
            return JobError::new("open", ENOENT, detail).at(&plan.path);
        }
        failed("open", plan, &e)
    })
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

#[cfg(test)]
mod tests;
