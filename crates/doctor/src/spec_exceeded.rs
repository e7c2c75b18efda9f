//! `spec-exceeded`: the result is far above what the maker states.

use fiord_stat::finding::Severity;

use crate::{After, Check, Findings, spec};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "spec-exceeded",
    severity: Severity::Suspect,
    title: "far above the specification",
    about: "A device does not do far more than its maker says. Blocks that were never written are read \
            without touching flash, caches answer in place of the device, and a job may move other \
            data than it seems to.",
    detection: "`spec=` states a number, and the result is over 120 % of it. Silent below, and where \
           nothing is stated.",
    effect: "Without bound. `zram` that was never written gave 438k IOPS to 4 KiB random reads, and \
             148k when it had been (see `not-preconditioned`); a preallocated file on ext4 965k, and \
             18.0k (see `unwritten-data`).",
    remedy: "`fiord precondition DEVICE` (for a zoned device a job with `zonemode=zbd` and `rw=write`), \
           and `direct=1`.",
    lint: None,
    before: None,
    after: Some(after),
};

/// Per cent of what is stated.
const FAR: f64 = 120.0;

fn after(known: &After<'_>, findings: &mut Findings) {
    spec::report(&CHECK, ("above", |percent| percent > FAR), REMEDY, known, findings);
}

const REMEDY: &str = "fiord precondition of the device (of a zoned one a job with zonemode=zbd and \
                    rw=write), and direct=1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_from_it_and_near_it() {
        for near in [700e3, 780e3, 850e3, 1e3] {
            assert!(spec::told(&CHECK, near).is_empty(), "{near}");
        }
        assert_eq!(
            spec::told(&CHECK, 1.56e6)[0].evidence,
            "1560000 I/Os a second of 780000: 200 %"
        );
    }
}
