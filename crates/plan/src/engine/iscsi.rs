//! `libiscsi`: the name of the initiator.

use fiord_job::option::table::remote::INITIATOR;

use super::endpoint;
use crate::model::IscsiPlan;
use crate::options::reading::Reading;

/// Reads the options of `libiscsi`.
pub(super) fn options(job: Reading) -> IscsiPlan {
    let initiator = job.get(INITIATOR);
    if initiator.is_empty() {
        let what = "`initiator=` names no initiator";
        let help = format!("To fix: leave it out, which means `{}`", INITIATOR.def().example);
        job.report(job.error(INITIATOR, what).help(help));
    }
    IscsiPlan { endpoint: endpoint::plan(job, None, None), initiator }
}
