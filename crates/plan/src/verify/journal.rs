//! `verify_journal`: which jobs record their writes for a check after a crash.

use std::path::Path;

use fiord_job::option::engine::EngineAccess;
use fiord_job::option::table::nvme::WRITEFUA;
use fiord_job::option::table::{UNLINK, UNLINK_EACH_LOOP, VERIFY_JOURNAL};
use fiord_types::{Bytes, Dir, common_divisor};

use super::{sharing, tracking};
use crate::model::{FileKind, JobPlan, JournalPlan, SyncMode, VerifyMethod, VerifyPass};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// The journal of a job. `plan` is complete but for this. `None`: the job has none.
pub(crate) fn journal(
    job: Reading,
    plan: &JobPlan,
    messages: &mut Messages,
) -> Option<JournalPlan> {
    let file = job.get(VERIFY_JOURNAL).filter(|name| !name.is_empty())?;
    let verify = plan.verify.as_ref()?;
    if !matches!(verify.pass, VerifyPass::AfterWrites | VerifyPass::WritesOnly) {
        return None;
    }
    let mut refuse = |what: &str, fix: &str| {
        messages.push(job.error(VERIFY_JOURNAL, what).help(format!("To fix: {fix}")));
        None
    };
    if verify.method != VerifyMethod::Fiord {
        return refuse(
            "`verify_journal` needs blocks that state their write",
            "use `verify=fiord`",
        );
    }
    let [target] = &plan.target.files[..] else {
        return refuse(
            "`verify_journal` records the writes of one target, and the job has several",
            "use one job with a `verify_journal` of its own for each file",
        );
    };
    if !matches!(target.kind, FileKind::Regular | FileKind::Block | FileKind::Char) {
        return refuse(
            "`verify_journal` needs a target that keeps its data after a crash",
            "use a file or device, and an engine that writes it",
        );
    }
    if Path::new(&file) == target.path {
        return refuse("`verify_journal` is the target of the job", "use a file on another disk");
    }
    if plan.load.mix.has(Dir::Trim) || verify.trims.is_some() {
        return refuse("`verify_journal` does not support trims", "use a job that only writes");
    }
    if plan.load.zoned.is_some() || target.zones.is_some() {
        return refuse("`verify_journal` does not support zones", "use a target without zones");
    }
    if plan.target.unlink || plan.target.unlink_each_loop {
        let option = if plan.target.unlink { UNLINK.def() } else { UNLINK_EACH_LOOP.def() };
        let error = job.error(option, "the job removes the file that `verify_journal` is to check");
        messages.push(error.help(format!("To fix: leave out `{}`", option.name)));
        return None;
    }
    let access = plan.engine.def().access;
    Some(JournalPlan {
        file: file.into(),
        block: tracking::granule(plan),
        sector: verify.interval.unwrap_or(Bytes(512)),
        durable_writes: writes_durably(job, plan),
        sectors_may_tear: access == EngineAccess::Mapping,
    })
}

/// Whether a write is durable when the target acknowledges it. `sync` has no effect on a mapping, and none on commands.
fn writes_durably(job: Reading, plan: &JobPlan) -> bool {
    let access = plan.engine.def().access;
    match access.sends_commands() {
        true => job.get(WRITEFUA),
        false => access == EngineAccess::Calls && plan.target.open.sync != SyncMode::None,
    }
}

/// Jobs with the same target share its journal. Refuses other uses of a journal or its target.
pub(crate) fn share_journals(jobs: &[Reading], plans: &mut [JobPlan], messages: &mut Messages) {
    let with: Vec<usize> =
        (0..plans.len()).filter(|index| plans[*index].journal.is_some()).collect();
    let file = |plan: &JobPlan| plan.journal.as_ref().map(|journal| journal.file.clone());
    let mut blocks = Vec::with_capacity(with.len());
    for &index in &with {
        let plan = &plans[index];
        let reading = &jobs[plan.identity.section];
        let target = &plan.target.files[0].path;
        let mut block = Bytes::ZERO;
        let mut problem = None;
        for (at, other) in plans.iter().enumerate() {
            let same_journal = file(plan) == file(other);
            let same_target = other.target.files.iter().any(|file| file.path == *target);
            let maps = plan.journal.as_ref().is_some_and(|journal| journal.sectors_may_tear);
            if same_journal && same_target && maps && at != index {
                // It flushes its own region, and the check takes a flush for one of the whole target.
                problem = Some((
                    "a job with `ioengine=mmap` cannot share its journal with other jobs",
                    "use `ioengine=psync`",
                ));
            } else if same_journal && same_target {
                block = common_divisor(block, tracking::granule(other));
            } else if same_journal {
                problem = Some((
                    "another job records the writes of another target in this journal",
                    "use a `verify_journal` of its own for each target",
                ));
            } else if same_target && sharing::disturbs(plans, index, at) && sharing::writes(other) {
                problem = Some((
                    "another job writes to the target and does not record it in this journal",
                    "set `verify=fiord` and this `verify_journal` in all jobs that write to the target",
                ));
            }
        }
        if let Some((what, fix)) = problem
            && plan.identity.instance == 0
        {
            messages.push(reading.error(VERIFY_JOURNAL, what).help(format!("To fix: {fix}")));
        }
        blocks.push(block.max(Bytes(1)));
    }
    for (index, block) in with.into_iter().zip(blocks) {
        if let Some(journal) = &mut plans[index].journal {
            journal.block = block;
        }
    }
}
