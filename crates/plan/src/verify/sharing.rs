//! Files that several jobs use, of which at least one verifies them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use fiord_job::option::table::IOENGINE;
use fiord_types::{Bytes, JobIndex, common_divisor};

use super::tracking::{self, granule_of_map};
use crate::model::{JobPlan, Tracking, VerifyPass};
use crate::options::reading::Reading;

/// Turns on `sim_store` for the files on simulated devices that some job checks, unless a job sets it.
pub(crate) fn store_checked_files(plans: &mut [JobPlan]) {
    let on_sim = |plan: &&JobPlan| plan.engine.simulated().is_some();
    let checked: HashSet<PathBuf> = plans
        .iter()
        .filter(on_sim)
        .filter(|plan| plan.verify.as_ref().is_some_and(|verify| verify.checks()))
        .flat_map(|plan| plan.target.files.iter().map(|file| file.path.clone()))
        .collect();
    if checked.is_empty() {
        return;
    }
    for plan in plans {
        if plan.target.files.iter().any(|file| checked.contains(&file.path)) {
            plan.engine.store_if_simulated();
        }
    }
}

/// Chooses what jobs must know about the writes of each other. Jobs that verify a file that another job writes at the
/// same time use a map of it. Once there is a map, every job that writes the file while the map is in use keeps it up
/// to date, also a job that verifies nothing.
pub(crate) fn share_targets(plans: &mut [JobPlan]) {
    if plans.iter().all(|plan| plan.verify.is_none()) {
        // A run may have millions of files.
        return;
    }
    plans.iter_mut().for_each(tracking::expect_recovery);
    // What an earlier run wrote has the intervals of that run, whatever other jobs do in this one.
    let of_earlier_run = |plan: &JobPlan| {
        let pass = plan.verify.as_ref().map(|verify| verify.pass);
        matches!(pass, Some(VerifyPass::Reads | VerifyPass::Only))
    };
    plans.iter_mut().filter(|plan| of_earlier_run(plan)).for_each(tracking::choose_records);
    let mut users: HashMap<&Path, Vec<usize>> = HashMap::new();
    for (index, plan) in plans.iter().enumerate() {
        for file in &plan.target.files {
            let users = users.entry(&file.path).or_default();
            if users.last() != Some(&index) {
                users.push(index);
            }
        }
    }
    let shared: Vec<Vec<usize>> = users
        .into_values()
        .filter(|users| users.len() > 1 && users.iter().any(|index| plans[*index].verify.is_some()))
        .collect::<HashSet<_>>()
        .into_iter()
        .collect();
    let mapped = jobs_with_maps(plans, &shared);
    let informing: Vec<usize> = shared
        .iter()
        .flat_map(|users| writers_in_use(plans, users, &mapped))
        .filter(|index| !mapped.contains(index))
        .collect();
    // One granule for all of them: a job can share each of its files with other jobs.
    let together = shared.iter().filter(|users| users.iter().any(|index| mapped.contains(index)));
    let writers: BTreeSet<usize> = together
        .flatten()
        .copied()
        .filter(|index| writes(&plans[*index]) && sets_offsets(&plans[*index], &mapped, *index))
        .collect();
    let granules = writers.iter().map(|index| granule_of_map(&plans[*index]));
    let divisor = granules.fold(Bytes::ZERO, common_divisor);
    for index in &mapped {
        let in_common = shared.iter().any(|users| users.contains(index));
        let Some(verify) = plans[*index].verify.as_mut().filter(|_| in_common) else { continue };
        let granule = divisor.max(Bytes(1));
        match (verify.pass, verify.tracking) {
            (VerifyPass::Only, _) => verify.overwritten = Some(granule),
            (_, Tracking::Records) => {}
            _ => verify.tracking = Tracking::Map { granule },
        }
    }
    for index in informing {
        plans[index].informs_maps = true;
    }
    plans.iter_mut().filter(|plan| !of_earlier_run(plan)).for_each(tracking::choose_records);
}

/// The jobs that need a map of their files. `shared`: the users of each file that several jobs use.
fn jobs_with_maps(plans: &[JobPlan], shared: &[Vec<usize>]) -> HashSet<usize> {
    let has_map = |index: &usize| {
        let verify = plans[*index].verify.as_ref();
        verify.is_some_and(|verify| verify.tracking != Tracking::Replay)
    };
    let mut mapped: HashSet<usize> = (0..plans.len()).filter(has_map).collect();
    for users in shared {
        let disturbed = |one: &&usize| users.iter().any(|other| disturbs(plans, **one, *other));
        let verifying = users.iter().filter(|index| plans[**index].verify.is_some());
        mapped.extend(verifying.filter(disturbed));
    }
    // A job that replays its writes must tell the maps of its files about them.
    loop {
        let known = mapped.len();
        for users in shared {
            let writers = writers_in_use(plans, users, &mapped);
            mapped.extend(writers.into_iter().filter(|index| plans[*index].verify.is_some()));
        }
        if mapped.len() == known {
            return mapped;
        }
    }
}

/// The users of a file that write it while a map of it is in use: from the first job with a map to the last one.
fn writers_in_use(plans: &[JobPlan], users: &[usize], mapped: &HashSet<usize>) -> Vec<usize> {
    let group = |index: &usize| plans[*index].identity.stonewall_group;
    let groups = || users.iter().filter(|index| mapped.contains(index)).map(group);
    let (Some(first), Some(last)) = (groups().min(), groups().max()) else { return Vec::new() };
    let in_use = |index: &&usize| (first..=last).contains(&group(index));
    users.iter().filter(in_use).copied().filter(|index| writes(&plans[*index])).collect()
}

/// Whether the writes of a job decide where those of jobs with maps begin: it has a map itself, or its writes move the
/// write pointers of zones.
fn sets_offsets(plan: &JobPlan, mapped: &HashSet<usize>, index: usize) -> bool {
    let records = |plan: &JobPlan| {
        plan.verify.as_ref().is_some_and(|verify| verify.tracking == Tracking::Records)
    };
    mapped.contains(&index) && !records(plan) || plan.load.zoned.is_some()
}

/// Whether two jobs with one file run at the same time, and one of them verifies what the other one writes.
pub(super) fn disturbs(plans: &[JobPlan], one: usize, other: usize) -> bool {
    let (a, b) = (&plans[one], &plans[other]);
    let waits =
        a.start.wait_for.contains(&JobIndex(other)) || b.start.wait_for.contains(&JobIndex(one));
    one != other
        && a.identity.stonewall_group == b.identity.stonewall_group
        && !waits
        && (writes(b) || writes(a) && b.verify.is_some())
}

/// Refuses a job that changes the size or the name of a file that another job of the run verifies: the verification
/// could not tell that from corruption.
pub(crate) fn refuse_changed(jobs: &[Reading], plans: &[JobPlan]) {
    let verifying = plans.iter().filter(|plan| plan.verify.is_some());
    let verified: HashSet<&Path> =
        verifying.flat_map(|plan| &plan.target.files).map(|file| file.path.as_path()).collect();
    for plan in plans.iter().filter(|plan| plan.identity.instance == 0) {
        let engine = plan.engine.def();
        let donor = plan.engine.donor();
        let files = plan.target.files.iter().map(|file| file.path.as_path());
        let files = files.filter(|_| engine.access.reads_change_files() && !engine.keeps_contents);
        if let Some(file) = files.chain(donor).find(|file| verified.contains(file)) {
            let (name, shown) = (engine.name, file.display());
            let what = format!("`ioengine={name}` changes `{shown}`, which another job verifies");
            let job = jobs[plan.identity.section];
            let help = "To fix: use another file, or run this job in another run";
            job.report(job.error(IOENGINE, what).help(help));
        }
    }
}

/// Whether a job changes the data of its target.
pub(super) fn writes(plan: &JobPlan) -> bool {
    plan.load.mix.changes_data() && !plan.only_verifies() && !plan.engine.def().keeps_contents
}
