//! The text of an option as the user typed it.

use fiord_job::option::def::OptionDef;
use fiord_plan::{JobPlan, Plan};

/// Returns the text of an option of a job, from its own section or before the first job. `None`: the job does not set it.
pub(crate) fn typed<'p>(
    plan: &'p Plan,
    job: &'p JobPlan,
    option: impl Into<&'static OptionDef>,
) -> Option<&'p str> {
    let name = option.into().name;
    let all = job.identity.options.iter().chain(&plan.global_options);
    all.into_iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
}
