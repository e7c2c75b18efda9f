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
mod make;
mod mounted;

use fiord_plan::{Content, Dir, FileKind, FilePlan, JobPlan};
use fiord_sys::file;

use crate::error::{JobError, failed};

pub use fill::pre_read;
pub(crate) use make::BATCH;
use make::Maker;
pub use mounted::refuse_mounted;

const ENOENT: i32 = 2;
const ENOSPC: i32 = 28;
const ESTALE: i32 = 116;

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
        if overseer.cancelled() {
            return Ok(Done::Cancelled);
        }
        if let Some(present) = needs(plan)? {
            missing.push((plan, present));
        }
    }
    if missing.is_empty() {
        return Ok(Done::Complete);
    }
    let bytes = missing.iter().map(|(plan, _)| plan.len).sum();
    overseer.laying_out(missing.len(), bytes);
    let mut maker = Maker::new(job, overseer);
    for (plan, present) in missing {
        if maker.make(plan, present)? == Done::Cancelled {
            return Ok(Done::Cancelled);
        }
    }
    maker.finish().map(|()| Done::Complete)
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
            let mut silent = Silent;
            let mut maker = Maker::new(job, &mut silent);
            maker.make(plan, present)?;
            maker.finish()
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

#[cfg(test)]
mod tests;
