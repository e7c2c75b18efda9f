//! Which jobs use the same files and touch the same bytes of them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use fiord_plan::{FileKind, JobPlan, Plan};
use fiord_types::{Bytes, Dir, sort};
use foldhash::fast::FixedState;

use crate::evidence::touched::{Spread, Touched, touched};

/// Two jobs that touch the same bytes of a file, from `from` to `to`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Overlap<'a> {
    pub path: &'a Path,
    pub first: &'a JobPlan,
    pub second: &'a JobPlan,
    pub from: Bytes,
    pub to: Bytes,
    /// Number of jobs that touch some bytes of the first job, including that job.
    pub jobs: usize,
}

/// The bytes of one file that a job touches: start, end (exclusive) and the job.
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

/// Returns, for each file, the first pair of jobs that touch the same bytes in a direction, each of them all bytes of
/// its range, and that satisfy `matters`. The first argument of `matters` is the job whose range starts first. `amount`
/// returns how much a job moves (`None`: all of its range).
pub(crate) fn overlaps<'a>(
    plan: &'a Plan,
    dir: Dir,
    wanted: impl Fn(&JobPlan) -> bool,
    amount: impl Fn(&JobPlan) -> Option<Bytes>,
    matters: impl Fn(&RangeUser<'_>, &RangeUser<'_>) -> bool,
) -> Vec<Overlap<'a>> {
    let mut users: HashMap<&OsStr, Vec<RangeUser<'_>>> = HashMap::new();
    for job in plan.jobs.iter().filter(|job| job.load.mix.has(dir) && wanted(job)) {
        let real = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
        let amount = amount(job);
        for file in job.target.files.iter().filter(|file| real(file.kind)) {
            let touched = touched(job, file, dir, amount);
            if let Some(Touched { from, to, spread: Spread::Whole }) = touched {
                users.entry(file.path.as_os_str()).or_default().push((from, to, job));
            }
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
        let same = later.filter(|other| matters(user, other));
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

/// Returns the remedy for jobs that touch the same bytes: options that keep them apart and leave the work of each as it
/// is.
pub(crate) fn apart(overlap: &Overlap<'_>) -> String {
    let Overlap { first, second, .. } = overlap;
    let len = first.target.files.iter().map(|file| file.len).max().unwrap_or_default();
    let ranges = match first.identity.section == second.identity.section {
        true => format!("set offset_increment={len}, so that each job has bytes of its own"),
        false => format!("set offset in job {} to a range of its own", second.identity.name),
    };
    format!("{ranges}, or give each job its own file")
}
