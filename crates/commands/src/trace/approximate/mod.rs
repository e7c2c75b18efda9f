//! The job that approximates a trace best.
//!
//! | question | module |
//! |---|---|
//! | which options does the job have, and how is it written | [`job`] |
//! | which I/Os would the job make | [`simulate`] |
//! | how much do they differ from the trace | [`compare`] |
//! | which size and distribution come closest | [`search`] |

pub mod compare;
pub mod job;
pub mod search;
pub mod simulate;

use fiord_types::Dir;

use super::profile::TraceProfile;
use crate::rejected::Rejected;
use compare::JobDifference;
use job::JobModel;

/// A job and how much its I/Os differ from those of the trace.
#[derive(Debug, Clone)]
pub struct Approximation {
    pub job: JobModel,
    /// Differences, measured on I/Os that fiord's load generator makes for the job.
    pub differences: Vec<JobDifference>,
}

/// The jobs that approximate the I/Os on one target: one for reads and writes, one for trims. `name` begins the names of the jobs.
///
/// # Errors
/// The planner rejects a job.
pub fn approximate(
    trace: &TraceProfile,
    name: &str,
    filename: &str,
) -> Result<Vec<Approximation>, Rejected> {
    let mut all = Vec::new();
    if trace.dir(Dir::Read).ios() + trace.dir(Dir::Write).ios() > 0 {
        let (job, made) = search::transfers(trace, name, filename)?;
        let differences = compare::transfers(trace, &made, &job);
        all.push(Approximation { job, differences });
    }
    if trace.dir(Dir::Trim).ios() > 0 {
        let job = JobModel::trims(trace, &format!("{name}-trim"), filename);
        let made = simulate::profile(&job, simulate::most(trace.dir(Dir::Trim).ios()))?;
        let differences = compare::trims(trace, &made);
        all.push(Approximation { job, differences });
    }
    Ok(all)
}
