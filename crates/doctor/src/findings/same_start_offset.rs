//! `same-start-offset`: jobs that read the same range in the same order at the same time.

use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::bytes;
use crate::evidence::places::{Overlap, RangeUser, apart, names, overlaps};
use crate::evidence::timing::{Concurrency, concurrent};
use crate::evidence::touched::planned;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "same-start-offset",
    severity: Severity::Suspect,
    title: "sequential jobs that all read the same range",
    about: "Jobs that read the same bytes in the same order at about the same time read each \
            block from the medium only once. All jobs but the first get it from a cache: from the \
            page cache if they are buffered, from the device's read-ahead buffer otherwise.",
    detection: "Two or more jobs that may run at the same time read sequentially, in ranges of \
                one file or device that begin at the same byte. The check is silent if the ranges \
                begin at different bytes (`offset_increment`), if the jobs read at random, or if \
                they run one after the other (`stonewall`).",
    effect: "Four buffered jobs that read the same 256 MiB file on ext4 at the same time reported \
             1.0 GiB, of which 256 MiB came from the device (`/proc/diskstats`): three of four \
             bytes came from memory.",
    remedy: "set `offset_increment` to the size of one job, so that each has bytes of its own (a device needs \
             room for all of them), or give each job its own file.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    let reads = |job: &JobPlan| !job.load.random;
    let begin = |one: &RangeUser<'_>, other: &RangeUser<'_>| {
        one.0 == other.0 && concurrent(known.plan, one.2, other.2) == Concurrency::Yes
    };
    let found = overlaps(known.plan, Dir::Read, reads, |job| planned(job, Dir::Read), begin);
    findings.report_all(found.iter().map(finding));
}

fn finding(overlap: &Overlap<'_>) -> FindingBuilder {
    let Overlap { first, path, from, to, .. } = overlap;
    CHECK
        .for_job(
            first,
            format!("{} read {} starting at the same byte", names(overlap), path.display()),
        )
        .evidence(format!(
            "each starts at byte {} and reads {}: a cache serves all but the first",
            from,
            bytes(*to - *from)
        ))
        .remedy(apart(overlap))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{found_once, lint};

    #[test]
    fn reports_sequential_readers_with_the_same_start() {
        let found = found_once(
            &CHECK,
            "--rw=read --size=1m --filename=f --name=a --numjobs=3",
            &[
                "--rw=read --size=1m --filename=f --name=a --numjobs=3 --offset_increment=1m",
                "--rw=randread --size=1m --filename=f --name=a --numjobs=3",
                "--rw=read --size=1m --name=a --numjobs=3",
                "--rw=read --size=1m --filename=f --name=a --name=b --stonewall",
            ],
        );
        assert!(found.what.starts_with("3 instances of job a"), "{found:?}");
    }

    #[test]
    fn a_pair_with_different_starts_hides_no_other_pair() {
        let found = lint(
            &CHECK,
            "--rw=read --filename=f --size=2m --name=a --name=b --offset=1m --name=c --offset=1m",
        );
        assert!(found[0].what.starts_with("jobs b and c read"), "{found:?}");
    }
}
