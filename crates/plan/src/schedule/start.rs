//! When a job starts: `wait_for`, `startdelay`, and the commands before and after it.

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{EXEC_POSTRUN, EXEC_PRERUN, STARTDELAY, WAIT_FOR};
use fiord_types::{JobIndex, Nanos};

use crate::measure::groups::Groups;
use crate::model::Start;
use crate::options::reading::Reading;

/// The index of the section that each section waits for; `None` if it waits for none.
pub(crate) fn waits(jobs: &[Reading]) -> Vec<Option<usize>> {
    jobs.iter()
        .enumerate()
        .map(|(i, job)| {
            let name = job.get(WAIT_FOR)?;
            waitee(jobs, i, &name).map_err(|e| job.report(e)).ok()
        })
        .collect()
}

fn waitee(jobs: &[Reading], at: usize, name: &str) -> Result<usize, Diagnostic> {
    let job = jobs[at];
    let found: Vec<usize> =
        jobs.iter().enumerate().filter(|(_, j)| j.spec.name == name).map(|(i, _)| i).collect();
    let earlier: Vec<usize> = found.iter().copied().filter(|i| *i < at).collect();
    match earlier.as_slice() {
        [one] => Ok(*one),
        [] if job.spec.name == name => Err(job
            .error(WAIT_FOR, "`wait_for` names the job itself")
            .help("To fix: name a job that comes earlier")),
        [] if !found.is_empty() => Err(job
            .error(WAIT_FOR, format!("`wait_for` names job `{name}`, which comes later"))
            .help(format!("To fix: move job `{name}` before `{}`", job.spec.name))),
        [] => Err(job
            .error(WAIT_FOR, format!("`wait_for` names job `{name}`, which does not exist"))
            .help(earlier_names(jobs, at))),
        _ => Err(job
            .error(WAIT_FOR, format!("`wait_for` names job `{name}`, and there are several"))
            .help("To fix: give the job to wait for a name of its own")),
    }
}

fn earlier_names(jobs: &[Reading], at: usize) -> String {
    let names: Vec<String> =
        jobs[..at].iter().take(8).map(|j| format!("`{}`", j.spec.name)).collect();
    match names.len() {
        0 => "To fix: leave out `wait_for`: there is no job before this one".into(),
        _ => format!("To fix: name one of the jobs before it: {}", names.join(", ")),
    }
}

/// The start of every instance of a section. `wait_for` has indexes of instances.
pub(crate) fn start(job: Reading, groups: Groups, wait_for: Vec<JobIndex>) -> Start {
    let delay = job.get(STARTDELAY);
    Start {
        stonewall: groups.stonewall,
        wait_for,
        delay: (Nanos(delay.low()), Nanos(delay.high())),
        prerun: job.get(EXEC_PRERUN),
        postrun: job.get(EXEC_POSTRUN),
    }
}
