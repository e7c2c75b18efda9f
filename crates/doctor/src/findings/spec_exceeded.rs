//! `spec-exceeded`: the result is far above what the maker states.

use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings};
use crate::evidence::spec;

pub(crate) const CHECK: Check = Check {
    id: "spec-exceeded",
    severity: Severity::Suspect,
    title: "far above the specification",
    about: "A device is not much faster than its maker says. More likely, the job reads blocks \
            that were never written, which does not touch flash, or a cache answers instead of \
            the device, or the job does not move the data that it seems to move.",
    detection: "`spec=` states a number, and the result is above 120 % of it. The check is silent \
                without `spec`.",
    effect: "Unbounded. 4 KiB random reads of a `zram` device reached 438k IOPS before it was \
             written and 148k afterwards (see `not-preconditioned`); of a preallocated file on \
             ext4, 965k before and 18.0k afterwards (see `unwritten-data`).",
    remedy: "run `fiord precondition DEVICE` (for a zoned device, a job with `zonemode=zbd` and \
             `rw=write`; both overwrite the device), and set `direct=1`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

/// Results above this percentage of the specification are reported.
const FAR: f64 = 120.0;

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let remedy = |_: &_| REMEDY.to_owned();
    spec::report(&CHECK, "above", |percent| percent > FAR, remedy, known, findings);
}

const REMEDY: &str = "run fiord precondition on the device (for a zoned device, a job with zonemode=zbd \
                      and rw=write; both overwrite the device), and set direct=1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_results_far_above_the_specification() {
        for near in [700e3, 780e3, 850e3, 1e3] {
            assert!(spec::reported(&CHECK, near).is_empty(), "{near}");
        }
        assert_eq!(
            spec::reported(&CHECK, 1.56e6)[0].evidence,
            "1560000 of 780000 I/Os per second: 200 %"
        );
    }
}
