//! `same-start-offset`: jobs that read the same range in the same order at the same time.

use fiord_plan::{Dir, JobPlan};
use fiord_stat::finding::Severity;

use crate::amount::bytes;
use crate::places::{Overlap, User, names, overlaps};
use crate::{Check, FindingBuilder, Findings, Lint};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "same-start-offset",
    severity: Severity::Suspect,
    title: "sequential jobs that all read the same range",
    about: "Jobs that read the same bytes in the same order at about the same time read each block \
            once from the medium; for all but the first it comes from a cache: the page cache when \
            they are buffered, the device's read-ahead buffer when they are not.",
    detection: "Two or more jobs that may run together read sequentially, in ranges of one file or device \
           that begin at the same byte. It is silent when they begin apart (`offset_increment`), \
           read at random, or run one after the other (`stonewall`).",
    effect: "Four buffered jobs that read one file of 256 MiB on ext4 side by side claimed 1.0 GiB, \
             of which 256 MiB came from the device (`/proc/diskstats`): three of four bytes came \
             out of memory.",
    remedy: "For four jobs on 1 GiB `offset_increment=256m` with `size=256m`; random offsets; one job with a \
           greater `iodepth`.",
    lint: Some(lint),
    before: None,
    after: None,
};

fn lint(known: &Lint<'_>, findings: &mut Findings) {
    let reads = |job: &JobPlan| job.load.mix.has(Dir::Read) && !job.load.random;
    let begin = |one: &User<'_>, other: &User<'_>| one.0 == other.0;
    overlaps(known.plan, reads, begin).iter().for_each(|overlap| findings.report(finding(overlap)));
}

fn finding(overlap: &Overlap<'_>) -> FindingBuilder {
    let Overlap { first, path, from, to, .. } = overlap;
    CHECK
        .for_job(first, format!("{} read {} from the same byte on", names(overlap), path.display()))
        .evidence(format!(
            "each begins at byte {from} and goes on for {}: what one has read, a cache has for the \
             others",
            bytes(to - from)
        ))
        .remedy("offset_increment with a smaller size, or one job with more iodepth")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{found_once, lint};

    #[test]
    fn reports_sequential_readers_from_one_byte() {
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
    fn a_pair_that_begins_apart_hides_no_other() {
        let found = lint(
            &CHECK,
            "--rw=read --filename=f --size=2m --name=a --name=b --offset=1m --name=c --offset=1m",
        );
        assert!(found[0].what.starts_with("jobs b and c read"), "{found:?}");
    }
}
