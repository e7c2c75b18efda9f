//! `verify_journal`: which jobs record their writes for a check after a crash.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use fiord_formats::integrity::journal::MAX_TARGETS;
use fiord_job::option::engine::EngineAccess;
use fiord_job::option::table::nvme::WRITEFUA;
use fiord_job::option::table::{UNLINK, UNLINK_EACH_LOOP, VERIFY_JOURNAL};
use fiord_types::{Bytes, common_divisor};

use super::{sharing, tracking};
use crate::model::{
    EnginePlan, FileKind, FilePlan, JobPlan, JournalPlan, JournalTarget, SyncMode, VerifyMethod,
    VerifyPass,
};
use crate::options::reading::Reading;

/// The journal of a job. `plan` is complete but for this. `None`: the job has none.
pub(crate) fn journal(job: Reading, plan: &JobPlan) -> Option<JournalPlan> {
    let file = job.get(VERIFY_JOURNAL).filter(|name| !name.is_empty())?;
    let verify = plan.verify.as_ref()?;
    if !matches!(verify.pass, VerifyPass::AfterWrites | VerifyPass::WritesOnly) {
        return None;
    }
    let refuse = |what: &str, fix: &str| {
        job.report(job.error(VERIFY_JOURNAL, what).help(format!("To fix: {fix}")));
        None
    };
    if verify.method != VerifyMethod::Fiord {
        return refuse(
            "`verify_journal` needs blocks that say which write they belong to",
            "use `verify=fiord`",
        );
    }
    let kept = |kind| matches!(kind, FileKind::Regular | FileKind::Block | FileKind::Char);
    if !plan.target.files.iter().all(|target| kept(target.kind)) {
        return refuse(
            "`verify_journal` needs a target that keeps its data after a crash",
            "use a file or device, and an engine that writes it",
        );
    }
    if plan.target.files.iter().any(|target| Path::new(&file) == target.path) {
        return refuse("`verify_journal` is the target of the job", "use a file on another disk");
    }
    if plan.load.trim_ranges > 1 {
        return refuse(
            "`verify_journal` does not support trims of several ranges",
            "leave out `num_range`",
        );
    }
    if plan.load.zoned.is_some() || plan.target.files.iter().any(|target| target.zones.is_some()) {
        return refuse(
            "`verify_journal` does not record the resets of zones, so a check could not tell a zone that was reset from \
             one that has lost its data",
            "use a target without zones, or leave out `verify_journal`",
        );
    }
    if plan.target.unlink || plan.target.unlink_each_loop {
        let option = if plan.target.unlink { UNLINK.def() } else { UNLINK_EACH_LOOP.def() };
        let error = job.error(option, "the job removes the file that `verify_journal` is to check");
        job.report(error.help(format!("To fix: leave out `{}`", option.name)));
        return None;
    }
    let access = plan.engine.def().access;
    Some(JournalPlan {
        file: file.into(),
        // Completed when the other jobs with this journal are known.
        targets: Vec::new(),
        target_of_file: Vec::new(),
        block: tracking::granule(plan),
        sector: verify.interval.unwrap_or(Bytes(512)),
        durable_writes: verify.durable_writes,
        sectors_may_tear: access.maps_files(),
    })
}

/// Whether a write is durable when the target acknowledges it. `sync` has no effect on a mapping, and none on commands.
pub(super) fn writes_durably(job: Reading, plan: &JobPlan) -> bool {
    let access = plan.engine.def().access;
    match access.sends_commands() {
        true => job.get(WRITEFUA),
        false => match plan.engine {
            // `pmem_force` permits files in the page cache.
            EnginePlan::Libpmem(pmem) | EnginePlan::DevDax(pmem) => pmem.drain && !pmem.any_file,
            _ => access == EngineAccess::Calls && plan.target.open.sync != SyncMode::None,
        },
    }
}

/// Completes the plans of jobs with journals: jobs with the same file have one journal of all their targets. Refuses other
/// uses of a journal or its targets.
pub(crate) fn share_journals(jobs: &[Reading], plans: &mut [JobPlan]) {
    let mut journals: Vec<(PathBuf, Vec<usize>)> = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        let Some(journal) = &plan.journal else { continue };
        match journals.iter_mut().find(|(file, _)| *file == journal.file) {
            Some((_, users)) => users.push(index),
            None => journals.push((journal.file.clone(), vec![index])),
        }
    }
    for (_, users) in &journals {
        for &index in users {
            let plan = &plans[index];
            if let Some((what, fix)) = problem(plans, users, index)
                && plan.identity.instance == 0
            {
                let job = jobs[plan.identity.section];
                job.report(job.error(VERIFY_JOURNAL, what).help(format!("To fix: {fix}")));
            }
        }
        join(jobs, plans, users);
    }
}

/// Why the journal of a job cannot say what its targets contain, and the remedy. `users`: the jobs with this journal.
fn problem(
    plans: &[JobPlan],
    users: &[usize],
    index: usize,
) -> Option<(&'static str, &'static str)> {
    let plan = &plans[index];
    let paths: HashSet<&Path> = plan.target.files.iter().map(|file| &*file.path).collect();
    let maps = plan.journal.as_ref().is_some_and(|journal| journal.sectors_may_tear);
    plans.iter().enumerate().find_map(|(at, other)| {
        if at == index || !other.target.files.iter().any(|file| paths.contains(&*file.path)) {
            return None;
        }
        if users.contains(&at) {
            // It flushes its own region, and the check takes a flush for one of the whole target.
            return maps.then_some((
                "a job that writes through a mapping cannot share the journal of its target with other jobs",
                "use `ioengine=psync`",
            ));
        }
        (sharing::disturbs(plans, index, at) && sharing::writes(other)).then_some((
            "another job writes to the target and does not record it in this journal",
            "set `verify=fiord` and this `verify_journal` in all jobs that write to the target",
        ))
    })
}

/// Gives jobs one journal of all their targets.
fn join(jobs: &[Reading], plans: &mut [JobPlan], users: &[usize]) {
    let granules = users.iter().map(|index| tracking::granule(&plans[*index]));
    let block = granules.fold(Bytes::ZERO, common_divisor).max(Bytes(1));
    let mut places: HashMap<&Path, usize> = HashMap::new();
    let mut ends: Vec<(&Path, FileKind, Bytes)> = Vec::new();
    for file in users.iter().flat_map(|index| &plans[*index].target.files) {
        let place = *places.entry(&file.path).or_insert(ends.len());
        if place == ends.len() {
            ends.push((&file.path, file.kind, Bytes::ZERO));
        }
        ends[place].2 = ends[place].2.max(file.end());
    }
    if ends.len() > MAX_TARGETS {
        let what = format!(
            "a journal can have at most {MAX_TARGETS} targets, and this one would have {}",
            ends.len()
        );
        let job = jobs[plans[users[0]].identity.section];
        let help = "To fix: use fewer files, or several jobs with journals of their own";
        job.report(job.error(VERIFY_JOURNAL, what).help(help));
        return;
    }
    let mut base = Bytes::ZERO;
    let targets: Vec<JournalTarget> = ends
        .iter()
        .map(|(path, kind, end)| {
            let target = JournalTarget { path: path.to_path_buf(), kind: *kind, base };
            // A block between two targets, so that no read covers both.
            base = (base + *end).round_up(block) + block;
            target
        })
        .collect();
    let index_of = |file: &FilePlan| places.get(&*file.path).map_or(0, |place| *place as u16);
    let of_files: Vec<Vec<u16>> = users
        .iter()
        .map(|index| plans[*index].target.files.iter().map(index_of).collect())
        .collect();
    for (index, target_of_file) in users.iter().zip(of_files) {
        if let Some(journal) = &mut plans[*index].journal {
            (journal.block, journal.targets) = (block, targets.clone());
            journal.target_of_file = target_of_file;
        }
    }
}
