//! Whether the data that a job verifies is there when the job reads it: an earlier run, or another job of this one, has
//! written it.

use std::collections::HashMap;
use std::path::Path;

use fiord_job::option::table::FILENAME;
use fiord_types::{Bytes, JobIndex};

use super::sharing;
use crate::model::{FileKind, FilePlan, JobPlan, VerifyPass};
use crate::options::reading::Reading;

/// A region of a file that a job writes.
#[derive(Debug, Clone, Copy)]
struct WrittenRegion {
    /// Index of the job.
    writer: usize,
    start: Bytes,
    end: Bytes,
}

/// Refuses jobs that check data of another job or an earlier run if a part of the file does not exist, and no job of this
/// run writes that part before or while they read it. Such a job would make a file of other contents and report it as
/// corrupt, or find nothing to check.
pub(crate) fn files_exist(jobs: &[Reading], plans: &[JobPlan]) {
    let earlier = |plan: &JobPlan| {
        let pass = plan.verify.as_ref().map(|verify| verify.pass);
        matches!(pass, Some(VerifyPass::Only | VerifyPass::Reads))
    };
    if !plans.iter().any(earlier) {
        // A run may have millions of files.
        return;
    }
    let sizes = sizes_now(plans);
    let written = written_regions(plans);
    for (reader, plan) in plans.iter().enumerate().filter(|(_, plan)| earlier(plan)) {
        let files = plan.target.files.iter().filter(|file| file.kind == FileKind::Regular);
        let lacking = files.into_iter().find_map(|file| {
            let size = sizes.get(&*file.path).copied().flatten();
            let missing = file.offset.max(size.unwrap_or(Bytes::ZERO));
            let regions = written.get(&*file.path).map_or(&[][..], |regions| regions);
            let is_before = |region: &&WrittenRegion| !begins_later(plans, reader, region.writer);
            let gap = first_gap((missing, file.end()), regions.iter().filter(is_before))?;
            Some((file, size, gap, regions.is_empty()))
        });
        let Some((file, size, gap, unwritten)) = lacking else { continue };
        let what = match unwritten {
            true => nothing_there(file, size),
            false => format!(
                "the job verifies `{}` up to offset {}, but no job that starts before this job ends writes the file \
                 from offset {gap} on",
                file.path.display(),
                file.end()
            ),
        };
        let job = jobs[plan.identity.section];
        job.report(
            job.error(FILENAME, what)
                .help("To fix: first run the job that writes it, with the same size and `verify`"),
        );
    }
}

/// The error for a file that no job of the run writes.
fn nothing_there(file: &FilePlan, size: Option<Bytes>) -> String {
    let name = file.path.display();
    match size {
        None => format!("`{name}` does not exist, so there is nothing to verify"),
        Some(size) => format!(
            "`{name}` has {size} bytes, and the job verifies {} bytes up to its offset {}",
            file.len,
            file.end()
        ),
    }
}

/// The size of each file before the run: the plans of later jobs count what the layout of earlier ones adds.
fn sizes_now(plans: &[JobPlan]) -> HashMap<&Path, Option<Bytes>> {
    let mut sizes = HashMap::new();
    for file in plans.iter().flat_map(|plan| &plan.target.files) {
        sizes.entry(&*file.path).or_insert(file.size_now);
    }
    sizes
}

/// The regions that jobs write, by file, in the order of their starts.
fn written_regions(plans: &[JobPlan]) -> HashMap<&Path, Vec<WrittenRegion>> {
    let mut regions: HashMap<&Path, Vec<WrittenRegion>> = HashMap::new();
    for (writer, plan) in plans.iter().enumerate().filter(|(_, plan)| sharing::writes(plan)) {
        for file in &plan.target.files {
            let end = file.offset.saturating_add(file.reach());
            let region = WrittenRegion { writer, start: file.offset, end };
            regions.entry(&*file.path).or_default().push(region);
        }
    }
    for list in regions.values_mut() {
        list.sort_by_key(|region| region.start);
    }
    regions
}

/// Whether a job begins only after another one has ended.
fn begins_later(plans: &[JobPlan], first: usize, later: usize) -> bool {
    let group = |index: usize| plans[index].identity.stonewall_group;
    group(later) > group(first) || plans[later].start.wait_for.contains(&JobIndex(first))
}

/// The first byte from `start` on, before `end`, that no region contains.
fn first_gap<'r>(
    (start, end): (Bytes, Bytes),
    regions: impl Iterator<Item = &'r WrittenRegion>,
) -> Option<Bytes> {
    let mut at = start;
    for region in regions {
        if region.start > at {
            break;
        }
        at = at.max(region.end);
    }
    (at < end).then_some(at)
}
