//! `spec-missed`: the result is far below what the maker states.

use fiord_stat::finding::Severity;

use crate::{After, Check, Findings, spec};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "spec-missed",
    severity: Severity::Suspect,
    title: "far below the specification",
    about: "The device does far less than its maker says. Makers measure at great depth, with several \
            jobs, on a fresh or well kept drive with all its lanes: a result far below has a reason, \
            in the job, on the way, or in the device.",
    detection: "`spec=` states a number, and the result is under 80 % of it. Silent above, and where \
           nothing is stated.",
    effect: "It is what the numbers say.",
    remedy: "A depth of 32 and more in several jobs (`iodepth=32`, `numjobs=4`), `direct=1`; then \
           `fiord devices --tree` for the links, and the other findings of the run.",
    lint: None,
    before: None,
    after: Some(after),
};

/// Per cent of what is stated.
const FAR: f64 = 80.0;

fn after(known: &After<'_>, findings: &mut Findings) {
    spec::report(&CHECK, ("below", |percent| percent < FAR), REMEDY, known, findings);
}

const REMEDY: &str =
    "iodepth=32 and numjobs=4 or more, direct=1, and a look at `fiord devices --tree`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_from_it_and_near_it() {
        for near in [700e3, 780e3, 850e3, 2e6] {
            assert!(spec::told(&CHECK, near).is_empty(), "{near}");
        }
        assert_eq!(spec::told(&CHECK, 390e3)[0].evidence, "390000 I/Os a second of 780000: 50 %");
    }
}
