//! `overlapping-writers`: jobs that write the same bytes of the same file at the same time.

use std::collections::HashSet;

use fiord_plan::{JobPlan, LockFile};
use fiord_stat::finding::Severity;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::bytes;
use crate::evidence::places::{Overlap, RangeUser, names, overlaps};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "overlapping-writers",
    severity: Severity::Suspect,
    title: "jobs that write the same range of the same file at the same time",
    about: "Two jobs that write the same bytes disturb each other: the file system or the device \
            serializes writes to one block, caches absorb the first of two writes, and it is \
            undefined which data remains. Sequential writers move over the same blocks in step, \
            so this affects nearly every write. Random writers over a large range seldom collide, \
            so for them the finding is only a note.",
    detection: "The ranges (`offset`, `size`) of jobs that may run at the same time overlap in \
                one file or device, and both jobs write. The check is silent if the ranges do not \
                overlap (`offset_increment`), if the jobs run one after the other (`stonewall`), \
                if they take turns (`lockfile`), and with `zonemode=zbd`, where fiord keeps the \
                writes apart.",
    effect: "Four jobs that each wrote 64 MiB, buffered, in 4 KiB blocks to one file on ext4 left \
             64 MiB of dirty pages for 256 MiB written: three of four writes never have to reach \
             the device (counted with `cachestat`).",
    remedy: "set `offset_increment` (for four jobs on 1 GiB: `offset_increment=256m` with \
             `size=256m`), give each job its own file, or put `stonewall` between the jobs.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    let writes = |job: &JobPlan| {
        let mix = job.load.mix;
        // Jobs with zones do not overwrite each other: the zone table of the device places their writes.
        let apart = job.target.lock != LockFile::None || job.load.zoned.is_some();
        mix.changes_data() && !apart
    };
    // Overlapping sequential writers are worse, so look for them first.
    let in_order =
        |one: &RangeUser<'_>, other: &RangeUser<'_>| !one.2.load.random && !other.2.load.random;
    let worse = overlaps(known.plan, writes, in_order);
    let known_paths: HashSet<_> = worse.iter().map(|overlap| overlap.path.as_os_str()).collect();
    let others = overlaps(known.plan, writes, |_, _| true).into_iter();
    let others = others.filter(|overlap| !known_paths.contains(overlap.path.as_os_str()));
    worse.iter().copied().chain(others).for_each(|overlap| findings.report(finding(&overlap)));
}

fn finding(overlap: &Overlap<'_>) -> FindingBuilder {
    let Overlap { first, second, path, from, to, .. } = overlap;
    let finding = CHECK
        .for_job(first, format!("{} write the same bytes of {}", names(overlap), path.display()))
        .evidence(format!("each writes the {} that start at byte {}", bytes(*to - *from), from))
        .remedy(
            "set offset_increment and a smaller size, give each job its own file, or use stonewall"
                .to_owned(),
        );
    match first.load.random || second.load.random {
        true => finding.at_most(Severity::Note),
        false => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{found_once, lint};

    #[test]
    fn reports_jobs_that_overlap_while_they_run_together() {
        let job = "--rw=write --size=1m --filename=f --name=a";
        let found = found_once(
            &CHECK,
            &format!("{job} --numjobs=4"),
            &[
                "--rw=write --size=1m --name=a --numjobs=4",
                "--rw=write --size=1m --filename=f --name=a --numjobs=4 --offset_increment=1m",
                "--rw=write --size=1m --filename=f --name=a --name=b --stonewall",
                "--rw=write --size=1m --filename=f --name=a --name=b --wait_for=a",
                "--rw=read --size=1m --filename=f --name=a --numjobs=4",
                &format!("{job} --numjobs=2 --lockfile=readwrite"),
                "--rw=write --size=1m --filename=f --name=a --name=b --rw=read",
            ],
        );
        assert!(found.what.starts_with("4 instances of job a write"), "{found:?}");
        assert_eq!(found.severity, Severity::Suspect);
        let both = lint(
            &CHECK,
            "--size=1m --filename=f --rw=randwrite --name=a --name=b --rw=write --name=c --rw=write",
        );
        assert_eq!((both.len(), both[0].severity), (1, Severity::Suspect), "{both:?}");
        let random = lint(&CHECK, "--rw=randwrite --size=1m --filename=f --name=a --name=b");
        assert_eq!(random[0].severity, Severity::Note);
        assert!(random[0].what.starts_with("jobs a and b write"), "{random:?}");
    }
}
