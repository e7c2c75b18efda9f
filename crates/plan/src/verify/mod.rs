//! Verification of written data: `verify` and its options.
//!
//! | question | module |
//! |---|---|
//! | what do the options mean together, and what are their defaults? | `options`, and [`crate::options::verification`] for those on which others depend |
//! | how does a job know which write each block contains? | `tracking` |
//! | which jobs must know about the writes of other jobs? | `sharing` |
//! | which fields of a header must be those of the write? | `headers` |
//! | which combinations of options are refused? | `checks` |
//! | is the data there that a job checks? | `present` |
//! | which commands can be verified, and which can verify? | `commands` |
//! | which writes does a saved state describe? | `states` |
//! | which jobs record their writes for a check after a crash? | `journal` |

mod checks;
mod commands;
mod headers;
mod journal;
mod options;
mod present;
mod sharing;
mod states;
mod tracking;

pub(crate) use journal::{journal, share_journals};
pub(crate) use options::verify;
pub(crate) use present::files_exist;
pub(crate) use sharing::{refuse_changed, share_targets, store_checked_files};
pub(crate) use states::{load_states, refuse_shared};

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{VERIFY, VERIFY_PATTERN};

use fiord_types::Dir;

use crate::model::{JobPlan, MAX_RECORDS, Tracking, VerifyPass, VerifyPlan};
use crate::options::reading::Reading;

/// An error for each job that would need too many records of its writes.
pub(crate) fn refuse_records(jobs: &[Reading], plans: &[JobPlan]) -> Vec<Diagnostic> {
    let first = plans.iter().filter(|plan| plan.identity.instance == 0);
    let too_many = first.filter_map(|plan| {
        let verify = plan.verify.as_ref()?;
        let job = &jobs[plan.identity.section];
        let own = if job.is_set(VERIFY) { VERIFY.def() } else { VERIFY_PATTERN.def() };
        too_many_records(job, own, plan, verify)
    });
    too_many.collect()
}

/// An error for a job that needs a record of each write, and may have too many blocks for that.
fn too_many_records(
    job: &Reading,
    option: &'static OptionDef,
    plan: &JobPlan,
    verify: &VerifyPlan,
) -> Option<Diagnostic> {
    let smallest = u64::from(plan.load.blocks[Dir::Write].min().max(1));
    let files = plan.target.files.iter();
    let blocks = files.fold(0u64, |sum, file| sum.saturating_add(file.len.0 / smallest));
    let keeps = verify.pass == VerifyPass::AfterWrites && verify.tracking == Tracking::Records;
    if !keeps || blocks <= MAX_RECORDS {
        return None;
    }
    let what = format!(
        "blocks that overlap in parts, or at any offset, need a record of each: this job may have {blocks} blocks, and \
         at most {MAX_RECORDS} records are kept"
    );
    let help = "To fix: use larger blocks, a smaller `size`, or block sizes and offsets that are multiples of 512";
    Some(job.error(option, what).help(help))
}
