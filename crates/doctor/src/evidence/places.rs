//! Which jobs use the same files and touch the same bytes of them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use fiord_job::option::table::{FILESIZE, OFFSET, OFFSET_INCREMENT, SIZE};
use fiord_plan::{FileKind, FilePlan, JobPlan, Plan};
use fiord_stat::claim::ClaimedSetting;
use fiord_types::{Bytes, Dir};
use foldhash::fast::FixedState;

use crate::check::FindingBuilder;
use crate::evidence::amount::SaidNumbers;
use crate::evidence::setting::set;
use crate::evidence::touched::{self, JobReach, Spread, Touched};
use crate::evidence::typed::typed;

/// Jobs that touch the same bytes of a file, each of them all bytes from `from` to `to`.
#[derive(Debug, Clone)]
pub(crate) struct Overlap<'a> {
    pub path: &'a Path,
    pub from: Bytes,
    pub to: Bytes,
    /// The jobs, in the order in which their ranges start. At least two.
    pub jobs: Vec<&'a JobPlan>,
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

/// Returns, for each file, the first jobs that touch the same bytes in a direction, each of them all bytes of its range,
/// and that satisfy `matters` in pairs with the first of them. The first argument of `matters` is the job whose range
/// starts first. `amount` returns how much a job moves (`None`: all of its range).
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
        let reach = JobReach::new(job, dir, amount(job));
        for file in job.target.files.iter().filter(|file| real(file.kind)) {
            if let Some(Touched { from, to, spread: Spread::Whole }) = reach.touched(file) {
                users.entry(file.path.as_os_str()).or_default().push((from, to, job));
            }
        }
    }
    let users = users.into_iter().filter(|(_, users)| users.len() > 1);
    let found = users.filter_map(|(path, users)| first(Path::new(path), users, &matters));
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|overlap| overlap.path);
    found
}

fn first<'a>(
    path: &'a Path,
    mut users: Vec<RangeUser<'a>>,
    matters: &impl Fn(&RangeUser<'_>, &RangeUser<'_>) -> bool,
) -> Option<Overlap<'a>> {
    users.sort_by_key(|(from, _, job)| (*from, job.identity.index));
    users.iter().enumerate().find_map(|(at, user)| {
        let &(mut from, mut to, one) = user;
        let mut jobs = vec![one];
        for other in &users[at + 1..] {
            let (start, end, job) = *other;
            if start >= to {
                break;
            }
            // Jobs that all share bytes with the first one may have none in common.
            if matters(user, other) && start.max(from) < end.min(to) {
                (from, to) = (start.max(from), end.min(to));
                jobs.push(job);
            }
        }
        (jobs.len() > 1).then_some(Overlap { path, from, to, jobs })
    })
}

/// Names the jobs, or says that they are instances of one job.
pub(crate) fn names(overlap: &Overlap<'_>, said: &mut SaidNumbers) -> String {
    let (count, first) = (overlap.jobs.len(), &overlap.jobs[0].identity);
    let other = overlap.jobs.iter().find(|job| job.identity.section != first.section);
    match other.map(|job| &job.identity.name) {
        None => {
            let count = said.exact("jobs", count as u64);
            format!("{count} instances of job {}", first.name)
        }
        Some(other) if count > 2 => {
            let count = said.exact("jobs", count as u64);
            format!("{count} jobs (including {} and {other})", first.name)
        }
        Some(other) => format!("jobs {} and {other}", first.name),
    }
}

/// The claim that each of the jobs touches all bytes that the overlap states.
pub(crate) fn claim(finding: FindingBuilder, overlap: &Overlap<'_>, dir: Dir) -> FindingBuilder {
    let Overlap { path, from, to, jobs } = overlap;
    finding.jobs(jobs.iter().map(|job| job.identity.name.as_str())).extent(touched::extent(
        path,
        *from..*to,
        dir,
        Spread::Whole,
    ))
}

/// Returns the remedy for jobs that touch the same bytes: options that keep them apart and leave the work of each as it
/// is.
pub(crate) fn apart(plan: &Plan, overlap: &Overlap<'_>) -> (String, Vec<ClaimedSetting>) {
    const FILES: &str = "give each job its own file";
    let first = overlap.jobs[0];
    match places_of_their_own(plan, overlap) {
        Some(settings) => {
            let named = |setting: &ClaimedSetting| match &setting.job {
                Some(job) => format!("{setting} in job {job}"),
                None => setting.to_string(),
            };
            let list = settings.iter().map(named).collect::<Vec<_>>().join(" and ");
            (format!("set {list}, so that each job has bytes of its own, or {FILES}"), settings)
        }
        None if overlap.jobs.iter().all(|job| job.identity.section == first.identity.section) => (
            format!(
                "set offset_increment and size, so that each job has bytes of its own, or {FILES}"
            ),
            Vec::new(),
        ),
        None => {
            (format!("set offset, so that each job has bytes of its own, or {FILES}"), Vec::new())
        }
    }
}

/// Maximum number of files of a job for which a remedy names offsets.
const MAX_FILES: usize = 16;

/// Returns the offsets that keep the jobs apart: each section gets the space after that of all jobs before. `None` if
/// the size of a job depends on that of the file, if the file has no room for them, or if a job has many files.
fn places_of_their_own(plan: &Plan, overlap: &Overlap<'_>) -> Option<Vec<ClaimedSetting>> {
    fn of_path<'a>(job: &'a JobPlan, path: &Path) -> Option<&'a FilePlan> {
        job.target.files.iter().find(|file| file.path == path)
    }
    // An offset would move the ranges of all files of a job, each of which may be shared with others.
    if plan.jobs.iter().any(|job| job.target.files.len() > MAX_FILES) {
        return None;
    }
    let files = plan.jobs.iter().filter_map(|job| of_path(job, overlap.path));
    let mut free = files.map(FilePlan::end).max()?;
    // The block sizes of the jobs divide their ranges, so ranges that follow each other are aligned.
    let mut sections: Vec<&JobPlan> = Vec::new();
    for job in &overlap.jobs {
        if sections.iter().all(|known| known.identity.section != job.identity.section) {
            sections.push(job);
        }
    }
    let alone = sections.len() == 1;
    let mut settings = Vec::new();
    for (at, job) in sections.into_iter().enumerate() {
        let section = job.identity.section;
        let instances = u64::from(job.identity.instances);
        let len = job.target.files.iter().map(|file| file.len).max()?;
        let file = of_path(job, overlap.path)?;
        let mut end = file.offset.saturating_add(len.saturating_mul(instances));
        let of_job = |setting: ClaimedSetting| {
            let name = (!alone).then(|| job.identity.name.clone());
            ClaimedSetting { job: name, ..setting }
        };
        let same = |other: &&JobPlan| other.identity.section == section;
        let spread = overlap.jobs.iter().copied().filter(same).count() > 1;
        let elsewhere = plan.jobs.iter().filter(|job| of_path(job, overlap.path).is_some());
        if at > 0 || spread && !elsewhere.into_iter().all(|other| same(&other)) {
            settings.push(of_job(set(OFFSET, free)));
            end = free.saturating_add(len.saturating_mul(instances));
        }
        if spread {
            settings.push(of_job(set(OFFSET_INCREMENT, len)));
        }
        if !holds(plan, job, file, end) {
            return None;
        }
        free = free.max(end);
    }
    Some(settings)
}

/// Returns whether a job that is moved to another offset keeps its size, and whether the file can have bytes up to `end`.
fn holds(plan: &Plan, job: &JobPlan, file: &FilePlan, end: Bytes) -> bool {
    let sized = typed(plan, job, SIZE).is_some_and(|size| !size.contains('%'));
    let fixed = typed(plan, job, FILESIZE).is_some() || file.kind == FileKind::Block;
    sized && job.load.zoned.is_none() && (!fixed || file.size_now.is_some_and(|size| end <= size))
}
