//! Which jobs use the same bytes at the same time.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use fiord_plan::{FileKind, JobPlan, Plan};
use fiord_types::{Bytes, sort};
use foldhash::fast::FixedState;

/// Two jobs that use the same bytes of a file, from `from` to `to`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Overlap<'a> {
    pub path: &'a Path,
    pub first: &'a JobPlan,
    pub second: &'a JobPlan,
    pub from: Bytes,
    pub to: Bytes,
    /// Number of jobs that use some bytes of the first job, including that job.
    pub jobs: usize,
}

/// The bytes of one file that a job uses: start, end (exclusive) and the job.
pub(crate) type RangeUser<'a> = (Bytes, Bytes, &'a JobPlan);

/// Returns the jobs that use each of these paths, in the order of the plan. Each job appears once.
pub(crate) fn users<'p>(
    plan: &'p Plan,
    paths: impl Iterator<Item = &'p Path>,
) -> HashMap<&'p Path, Vec<&'p JobPlan>> {
    let mut users: HashMap<&OsStr, Vec<&JobPlan>, FixedState> =
        paths.map(|path| (path.as_os_str(), Vec::new())).collect();
    for job in &plan.jobs {
        for file in &job.target.files {
            if let Some(jobs) = users.get_mut(file.path.as_os_str())
                && jobs.last().is_none_or(|last| last.identity.index != job.identity.index)
            {
                jobs.push(job);
            }
        }
    }
    users.into_iter().map(|(path, jobs)| (Path::new(path), jobs)).collect()
}

/// Returns, for each file, the first pair of wanted jobs that overlap in it, can run at the same time
/// and satisfy `matters`. The first argument of `matters` is the job whose range starts first.
pub(crate) fn overlaps<'a>(
    plan: &'a Plan,
    wanted: impl Fn(&JobPlan) -> bool,
    matters: impl Fn(&RangeUser<'_>, &RangeUser<'_>) -> bool,
) -> Vec<Overlap<'a>> {
    let mut users: HashMap<&OsStr, Vec<RangeUser<'_>>> = HashMap::new();
    for job in plan.jobs.iter().filter(|job| wanted(job)) {
        let real = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
        for file in job.target.files.iter().filter(|file| real(file.kind) && file.len > Bytes::ZERO)
        {
            users.entry(file.path.as_os_str()).or_default().push((file.offset, file.end(), job));
        }
    }
    let users = users.into_iter().filter(|(_, users)| users.len() > 1);
    let found = users.filter_map(|(path, users)| first(Path::new(path), users, &matters));
    let mut found: Vec<_> = found.collect();
    sort::by_key(&mut found, |overlap| overlap.path);
    found
}

fn first<'a>(
    path: &'a Path,
    mut users: Vec<RangeUser<'a>>,
    matters: &impl Fn(&RangeUser<'_>, &RangeUser<'_>) -> bool,
) -> Option<Overlap<'a>> {
    sort::by_key(&mut users, |(from, _, job)| (*from, job.identity.index));
    let mut best: Option<Overlap<'a>> = None;
    for (at, user) in users.iter().enumerate() {
        let &(from, to, one) = user;
        let later = users[at + 1..].iter().take_while(|(other, ..)| *other < to);
        let same = later.filter(|other| together(one, other.2) && matters(user, other));
        let mut jobs = 1;
        for &(start, end, other) in same {
            jobs += 1;
            best.get_or_insert(Overlap {
                path,
                first: one,
                second: other,
                from: from.max(start),
                to: to.min(end),
                jobs,
            });
        }
        if let Some(best) = &mut best {
            best.jobs = best.jobs.max(jobs);
            return Some(*best);
        }
    }
    best
}

/// Returns whether two jobs can run at the same time.
pub(crate) fn together(a: &JobPlan, b: &JobPlan) -> bool {
    let waits = |one: &JobPlan, other: &JobPlan| one.start.wait_for.contains(&other.identity.index);
    a.identity.stonewall_group == b.identity.stonewall_group && !waits(a, b) && !waits(b, a)
}

/// Names the two jobs, or says that they are instances of one job.
pub(crate) fn names(overlap: &Overlap<'_>) -> String {
    let (a, b) = (&overlap.first.identity, &overlap.second.identity);
    match a.section == b.section {
        true => format!("{} instances of job {}", overlap.jobs, a.name),
        false if overlap.jobs > 2 => {
            format!("{} jobs (including {} and {})", overlap.jobs, a.name, b.name)
        }
        false => format!("jobs {} and {}", a.name, b.name),
    }
}
