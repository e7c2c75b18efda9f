//! `spec-missed`: the result is far below what the maker states.

use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings};
use crate::evidence::spec;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "spec-missed",
    severity: Severity::Suspect,
    title: "far below the specification",
    about: "The device is much slower than its maker says. Makers measure at a large queue depth, \
            with several jobs, on a fresh or well-maintained drive with all its lanes. A result \
            far below has a cause in the job, on the path to the device, or in the device.",
    detection: "`spec=` states a number, and the result is below 80 % of it. The check is silent \
                without `spec`.",
    effect: "The finding states the share that was reached.",
    remedy: "use a depth of 32 or more in several jobs (`iodepth=32`, `numjobs=4`) and \
             `direct=1`; then check the links with `fiord devices --tree`, and the other findings \
             of the run.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

/// Results below this percentage of the specification are reported.
const FAR: f64 = 80.0;

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    spec::report(&CHECK, ("below", |percent| percent < FAR), REMEDY, known, findings);
}

const REMEDY: &str =
    "set iodepth=32 and numjobs=4 or more, and direct=1; check `fiord devices --tree`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_results_far_below_the_specification() {
        for near in [700e3, 780e3, 850e3, 2e6] {
            assert!(spec::reported(&CHECK, near).is_empty(), "{near}");
        }
        assert_eq!(
            spec::reported(&CHECK, 390e3)[0].evidence,
            "390000 of 780000 I/Os per second: 50 %"
        );
    }
}
