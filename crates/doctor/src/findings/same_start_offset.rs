//! `same-start-offset`: jobs that read the same range in the same order at the same time.

use fiord_plan::{JobPlan, Plan};
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{After, Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::places::{Overlap, RangeUser, apart, claim, names, overlaps};
use crate::evidence::timing::{Concurrency, concurrent, were_concurrent};
use crate::evidence::touched::{moved, planned};

pub(crate) const CHECK: Check = Check {
    id: "same-start-offset",
    severity: Severity::Suspect,
    title: "sequential jobs that all read the same range",
    about: "Jobs that read the same bytes in the same order at about the same time read each \
            block from the medium only once. All jobs but the first get it from a cache: from the \
            page cache if they are buffered, from the device's read-ahead buffer otherwise.",
    detection: "Two or more jobs that may run at the same time read sequentially, in ranges of \
                one file or device that begin at the same byte. After the run, the ranges are what the jobs \
                read. The check is silent if the ranges \
                begin at different bytes (`offset_increment`), if the jobs read at random, or if \
                they run one after the other (`stonewall`).",
    effect: "Four buffered jobs that read the same 256 MiB file on ext4 at the same time reported \
             1.0 GiB, of which 256 MiB came from the device (`/proc/diskstats`): three of four \
             bytes came from memory.",
    remedy: "set `offset_increment` to the size of one job, so that each has bytes of its own (a device needs \
             room for all of them), or give each job its own file.",
    lint: Some(lint),
    before: None,
    after: Some(after),
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    findings.report_all(ahead(known.plan));
}

/// Returns the findings about jobs that surely start together at the same byte.
fn ahead(plan: &Plan) -> Vec<FindingBuilder> {
    let together = |one: &RangeUser<'_>, other: &RangeUser<'_>| {
        one.0 == other.0 && concurrent(plan, one.2, other.2) == Concurrency::Yes
    };
    let found = overlaps(plan, Dir::Read, in_order, |job| planned(job, Dir::Read), together);
    found.iter().map(|overlap| finding(plan, overlap)).collect()
}

/// Replaces the findings from before the run by those about what the jobs did.
fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let plan = known.plan;
    let together = |one: &RangeUser<'_>, other: &RangeUser<'_>| {
        one.0 == other.0 && were_concurrent(known, one.2, other.2)
    };
    let amount = |job: &JobPlan| moved(known, job, Dir::Read).or_else(|| planned(job, Dir::Read));
    let found = overlaps(plan, Dir::Read, in_order, amount, together);
    findings.replace(ahead(plan), found.iter().map(|one| finding(plan, one)).collect());
}

fn in_order(job: &JobPlan) -> bool {
    !job.load.random
}

fn finding(plan: &Plan, overlap: &Overlap<'_>) -> FindingBuilder {
    let Overlap { path, from, to, jobs } = overlap;
    let mut said = SaidNumbers::default();
    let length = said.bytes("shared", *to - *from);
    let (remedy, settings) = apart(plan, overlap);
    let what =
        format!("{} read {} starting at the same byte", names(overlap, &mut said), path.display());
    let finding = CHECK
        .for_job(jobs[0], what)
        .evidence(format!(
            "each reads the {length} that start at byte {from}: a cache serves all but the first"
        ))
        .remedy(remedy)
        .settings(settings)
        .numbers(said);
    claim(finding, overlap, Dir::Read)
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
