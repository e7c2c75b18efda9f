//! The report of jobs that were refused before the run: programs that read documents find the jobs and their errors.

use fiord_job::command::Invocation;
use fiord_job::diagnostic::Diagnostic;
use fiord_plan::{JobListing, listings};
use fiord_stat::job::{JobData, JobSettings, assemble};
use fiord_stat::report::{Extras, Report, RunStop, SCHEMA, StopCause};
use fiord_sys::host;
use fiord_types::{Errno, Nanos};

/// The report of jobs that do not run because of these errors. A job that an error names has the error `EINVAL`; if none is
/// named, all have it.
#[must_use]
pub fn refused(invocation: &Invocation, errors: &[Diagnostic]) -> Report {
    let (global_options, listed) = listings(invocation);
    let named: Vec<&str> = errors.iter().filter_map(|error| error.subject.job.as_deref()).collect();
    let is_wrong = |job: &JobListing| named.is_empty() || named.contains(&job.name.as_str());
    let jobs = listed.iter().map(|job| data(job, is_wrong(job))).collect();
    let (jobs, groups) = assemble(jobs, &fiord_run::error::words);
    let stop = |error: &Diagnostic| RunStop {
        by: StopCause::Error,
        signal: None,
        job: error.subject.job.clone(),
        what: error.what.clone(),
    };
    let now = Nanos(host::wall_time());
    Report {
        schema: SCHEMA,
        version: fiord_job::version(),
        written: Nanos::from_millis(now.as_millis()),
        utc_offset_s: host::utc_offset(now.as_secs()),
        global_options,
        jobs,
        groups,
        extras: Extras { stops: errors.iter().map(stop).collect(), ..Extras::default() },
        ..Report::default()
    }
}

fn data(job: &JobListing, is_wrong: bool) -> JobData {
    JobData {
        settings: JobSettings {
            name: job.name.clone(),
            description: job.description.clone(),
            group_id: job.group(),
            group_reporting: job.is_grouped,
            options: job.options.clone(),
            ..JobSettings::default()
        },
        members: 1,
        error: is_wrong.then_some(Errno::EINVAL),
        failed: is_wrong,
        elapsed: Nanos::from_secs(1),
        ..JobData::default()
    }
}
