//! File layout: creates or extends regular files that are missing or too small, before the run.
//!
//! What the layout does to a file depends on the job:
//!
//! | the job | what happens |
//! |---|---|
//! | reads (or `overwrite=1`, or maps persistent memory) | allocates the file as `fallocate` says and **writes** the job's own contents |
//! | only writes or trims | creates and allocates the file; writes nothing |
//! | `create_on_open=1` | nothing: opening the file creates it |
//! | the file is large enough | nothing |
//!
//! Existing data stays: the layout writes only the missing part. A layout that ends early (Ctrl-C, no
//! space) undoes the file that it could not complete, so that the next run does not mistake a sparse file
//! for a file with data.

mod counters;
mod fill;
mod make;
mod mounted;
pub(crate) mod names;

use fiord_plan::{ContentPlan, EngineAccess, FileKind, FilePlan, JobPlan};
use fiord_sys::file;
use fiord_types::{Bytes, Dir, Errno};

use super::guard::guard;
use super::lock::FileLocks;
use crate::error::{JobError, Stage, failed};

pub(crate) use counters::LayoutCounters;
pub(crate) use fill::pre_read;
pub(crate) use make::BATCH;
use make::Maker;
pub(crate) use mounted::refuse_mounted;

/// Receives the progress of a layout and may cancel it.
pub(crate) trait Overseer {
    /// Whether the layout must stop now.
    fn cancelled(&mut self) -> bool;
    /// The layout is about to create or extend this many files, with this total size in bytes.
    fn laying_out(&mut self, files: usize, bytes: Bytes);
    /// The layout is about to write this many bytes. It announces each part with [`Overseer::wrote`].
    fn will_write(&mut self, _bytes: Bytes) {}
    /// The layout has written another part of this many bytes.
    fn wrote(&mut self, _bytes: Bytes) {}
    /// The layout continues without something that the user asked for.
    fn warning(&mut self, what: &str);
}

/// How a layout ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// All files are complete.
    Complete,
    Cancelled,
}

/// Creates or extends the files that a job needs. Refuses targets that are in use before it changes
/// anything.
///
/// `shared`: the locks of the files that other jobs may lay out at the same time. One job lays out such a file, and the
/// others wait.
pub(crate) fn prepare(
    job: &JobPlan,
    shared: &FileLocks,
    overseer: &mut dyn Overseer,
) -> Result<Done, JobError> {
    refuse_mounted(job)?;
    if names::prepare(job, overseer)? == Done::Cancelled {
        return Ok(Done::Cancelled);
    }
    // Opening a name creates nothing.
    if job.target.layout.on_open && job.engine.names().is_none() {
        return Ok(Done::Complete);
    }
    let Some(mut missing) = missing(job, overseer)? else { return Ok(Done::Cancelled) };
    let turns = shared.take_turns(missing.iter().map(|(plan, _)| plan.path.as_path()));
    if !turns.is_empty() {
        // Another job may have laid them out meanwhile.
        let Some(left) = self::missing(job, overseer)? else { return Ok(Done::Cancelled) };
        missing = left;
    }
    if missing.is_empty() {
        return Ok(Done::Complete);
    }
    let bytes = missing.iter().map(|(plan, _)| plan.len).sum();
    if holds_data(job) {
        let needed = |(plan, present): &(&FilePlan, Bytes)| {
            plan.size_needed.unwrap_or(Bytes::ZERO).saturating_sub(*present)
        };
        overseer.will_write(missing.iter().map(needed).sum());
    }
    overseer.laying_out(missing.len(), bytes);
    let mut maker = Maker::new(job, overseer);
    for (plan, present) in missing {
        if maker.make(plan, present)? == Done::Cancelled {
            return Ok(Done::Cancelled);
        }
    }
    maker.finish().map(|()| Done::Complete)
}

/// The files that are missing or too small, with their present sizes; `None`: the layout was cancelled.
fn missing<'a>(
    job: &'a JobPlan,
    overseer: &mut dyn Overseer,
) -> Result<Option<Vec<(&'a FilePlan, Bytes)>>, JobError> {
    let mut missing = Vec::new();
    for plan in &job.target.files {
        if overseer.cancelled() {
            return Ok(None);
        }
        if let Some(present) = needs(plan)? {
            missing.push((plan, present));
        }
    }
    Ok(Some(missing))
}

/// The present size of a file, if it is smaller than the job needs.
fn needs(plan: &FilePlan) -> Result<Option<Bytes>, JobError> {
    let (FileKind::Regular | FileKind::Name, Some(needed)) = (plan.kind, plan.size_needed) else {
        return Ok(None);
    };
    // Do not take the size from the plan: another job may have created the file since.
    let present = match file::facts(&plan.path) {
        Ok(facts) => facts.size,
        Err(e) if e.errno == Errno::ENOENT => return Ok(Some(Bytes::ZERO)),
        Err(e) => return Err(failed(Stage::Stat, plan, &e)),
    };
    Ok((present < needed).then_some(present))
}

/// The job with smaller files, after a layout with `fill_device` ended early because the device was full.
/// `None` if all files are as large as planned.
pub(crate) fn shortened(job: &JobPlan) -> Option<Box<JobPlan>> {
    if !job.end.fill_device || !holds_data(job) {
        return None;
    }
    let mut shorter = Box::new(job.clone());
    for plan in shorter.target.files.iter_mut().filter(|plan| plan.kind == FileKind::Regular) {
        // If stat fails here, the open that follows fails too and gives a better message.
        let Ok(facts) = file::facts(&plan.path) else { continue };
        plan.len = plan.len.min(facts.size.saturating_sub(plan.offset));
    }
    let planned = job.target.region();
    let left = shorter.target.region();
    // A job that passes over its files more than once still does.
    if shorter.end.bytes <= planned {
        shorter.end.bytes = shorter.end.bytes.min(left);
    }
    (left < planned).then_some(shorter)
}

/// Lays out again a file that `unlink_each_loop` removed.
pub(crate) fn again(job: &JobPlan, plan: &FilePlan) -> Result<(), JobError> {
    struct Silent;
    impl Overseer for Silent {
        fn cancelled(&mut self) -> bool {
            false
        }
        fn laying_out(&mut self, _: usize, _: Bytes) {}
        fn warning(&mut self, _: &str) {}
    }
    if let Some(names) = job.engine.names().filter(|names| names.call.on_directories()) {
        let mut creator = file::Creator::new(guard(job));
        return names::make_one(&mut creator, names.call, plan);
    }
    match needs(plan)? {
        Some(present) if !job.target.layout.on_open || plan.kind == FileKind::Name => {
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
    match job.engine.def().access {
        EngineAccess::Extents => false,
        // Otherwise the first store to each page would wait for the file system. fio does this, too.
        EngineAccess::PersistentMemory(_) => true,
        _ => job.load.mix.has(Dir::Read) || job.target.layout.overwrite,
    }
}

/// Whether the contents need their full size on storage that compresses or deduplicates (btrfs, ZFS, VDO).
fn takes_its_size(content: &ContentPlan) -> bool {
    match content {
        ContentPlan::Zero | ContentPlan::Pattern(_) | ContentPlan::Shaped(_) => false,
        ContentPlan::Scramble | ContentPlan::Fixed | ContentPlan::Refill => true,
    }
}

#[cfg(test)]
mod tests;
