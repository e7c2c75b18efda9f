//! Verification of written data: `verify` and its options.
//!
//! | question | module |
//! |---|---|
//! | what do the options mean together, and what are their defaults? | `options` |
//! | how does a job know which write each block contains? | `tracking` |
//! | which combinations of options are refused? | `checks` |

mod checks;
mod options;
mod tracking;

pub(crate) use options::verify;
pub(crate) use tracking::share_targets;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{VERIFY, VERIFY_PATTERN};

use crate::model::JobPlan;
use crate::options::reading::Reading;

/// An error for each job that verifies: the run does not verify yet.
pub(crate) fn not_supported_yet(jobs: &[Reading], plans: &[JobPlan]) -> Vec<Diagnostic> {
    let verifies = |plan: &&JobPlan| plan.verify.is_some() && plan.identity.instance == 0;
    let jobs = plans.iter().filter(verifies).map(|plan| &jobs[plan.identity.section]);
    let error = |job: &Reading| {
        let option = if job.is_set(VERIFY) { VERIFY.def() } else { VERIFY_PATTERN.def() };
        job.error(option, format!("option {} is not supported yet", option.name))
            .help("To fix: leave it out, or run the job with fio")
    };
    jobs.map(error).collect()
}
