//! `overlapping-writers`: jobs that write the same bytes of the same file at the same time.

use fiord_plan::{JobPlan, LockFile, Plan};
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{After, Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::places::{Overlap, RangeUser, apart, claim, names, overlaps};
use crate::evidence::timing::{Concurrency, concurrent, were_concurrent};
use crate::evidence::touched::{moved, planned};

pub(crate) const CHECK: Check = Check {
    id: "overlapping-writers",
    severity: Severity::Suspect,
    title: "jobs that write the same range of the same file at the same time",
    about: "Sequential jobs that write the same bytes at the same time move over the same blocks in step: the \
            file system or the device serializes writes to one block, caches absorb the first of two \
            writes, and it is undefined which data remains. This affects nearly every write.",
    detection: "Two jobs write all bytes of ranges that overlap in one file or device, sequentially and at \
                the same time. The ranges are what the jobs write (`io_size`, `number_ios`), not what \
                they may use; after the run, they are what the jobs wrote. The check is silent for random \
                writes, which seldom collide and which are often meant to share a device; if the \
                ranges do not overlap (`offset_increment`); if the jobs run one after the other (`stonewall`, \
                `wait_for`, `startdelay`); if they take turns (`lockfile`); and with `zonemode=zbd`, \
                where fiord keeps the writes apart.",
    effect: "Four jobs that each wrote 64 MiB, buffered, in 4 KiB blocks to one file on ext4 left \
             64 MiB of dirty pages for 256 MiB written: three of four writes never have to reach \
             the device (counted with `cachestat`).",
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

/// Returns the findings about overlaps that are certain before the run.
fn ahead(plan: &Plan) -> Vec<FindingBuilder> {
    let together = |one: &RangeUser<'_>, other: &RangeUser<'_>| {
        concurrent(plan, one.2, other.2) == Concurrency::Yes
    };
    let found = overlaps(plan, Dir::Write, in_order, |job| planned(job, Dir::Write), together);
    found.iter().map(|overlap| finding(plan, overlap)).collect()
}

/// Replaces the findings from before the run by those about what the jobs did.
fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let plan = known.plan;
    let together =
        |one: &RangeUser<'_>, other: &RangeUser<'_>| were_concurrent(known, one.2, other.2);
    let amount = |job: &JobPlan| moved(known, job, Dir::Write).or_else(|| planned(job, Dir::Write));
    let found = overlaps(plan, Dir::Write, in_order, amount, together);
    findings.replace(ahead(plan), found.iter().map(|one| finding(plan, one)).collect());
}

/// Returns whether a job writes sequentially, and nothing keeps its writes apart from those of others: the zone table
/// of a device places the writes of jobs with zones.
fn in_order(job: &JobPlan) -> bool {
    !job.load.random && job.target.lock == LockFile::None && job.load.zoned.is_none()
}

fn finding(plan: &Plan, overlap: &Overlap<'_>) -> FindingBuilder {
    let Overlap { path, from, to, jobs } = overlap;
    let mut said = SaidNumbers::default();
    let length = said.bytes("shared", *to - *from);
    let (remedy, settings) = apart(plan, overlap);
    let what = format!("{} write the same bytes of {}", names(overlap, &mut said), path.display());
    let finding = CHECK
        .for_job(jobs[0], what)
        .evidence(format!("each writes the {length} that start at byte {from}"))
        .remedy(remedy)
        .settings(settings)
        .numbers(said);
    claim(finding, overlap, Dir::Write)
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::Report;
    use fiord_stat::samples::{SampleLatencies, Samples, WindowSample};
    use fiord_types::{Bytes, Nanos, PerDir};

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_once, lint, plan};

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
        for random in ["--name=a --name=b", "--name=a --name=b --rw=write"] {
            let line = format!("--rw=randwrite --size=1m --filename=f {random}");
            assert_eq!(lint(&CHECK, &line), [], "random writes seldom collide");
        }
        assert_eq!(
            found.remedy,
            "set offset_increment=1048576, so that each job has bytes of its own, or give each job its own file"
        );
    }

    #[test]
    fn the_budget_and_the_time_of_the_jobs_decide() {
        let job = "--rw=write --filename=f --bs=64k";
        let found = |line: &str| lint(&CHECK, &format!("{job} {line}")).len();
        let clones = "--name=a --filesize=2m --size=1m --numjobs=2";
        assert_eq!(found(&format!("{clones} --offset_increment=1m")), 0);
        assert_eq!(found(clones), 1);
        let two = "--size=1m --name=a --runtime=1 --name=b";
        assert_eq!(found(&format!("{two} --startdelay=5")), 0);
        assert_eq!(found(&format!("{two} --startdelay=0")), 1);
        assert_eq!(found("--size=1m --name=a --name=b --offset=512k"), 1);
        assert_eq!(found("--size=1m --io_size=512k --name=a --name=b --offset=512k"), 0);
        let chain =
            "--size=1m --name=a --name=b --wait_for=a --ioengine=null --name=c --wait_for=b";
        assert_eq!(found(&format!("{chain} --ioengine=psync")), 0);
    }

    #[test]
    fn what_the_jobs_did_decides_after_the_run() {
        let found = |more: &str, spans: [(u64, u64, u64); 2]| {
            let (plan, _) =
                plan(&format!("--rw=write --filename=f --size=1m --name=a --name=b {more}"));
            let machine = Machine::default();
            let course = |(from, to, kib): (u64, u64, u64)| {
                let mut dirs = PerDir::<Vec<WindowSample>>::default();
                let bytes = Bytes::from_kib(kib);
                dirs[Dir::Write] = vec![WindowSample::new(1, bytes, SampleLatencies::default())];
                let [from, to] = [from, to].map(Nanos::from_secs);
                Samples::new(from, from, to, Nanos::from_secs(10), dirs)
            };
            let report = Report { courses: spans.map(course).to_vec(), ..Report::default() };
            let mut all = CollectedFindings::default();
            super::lint(&Lint { plan: &plan, specs: &[], notes: &[] }, &mut all);
            let mut later = CollectedFindings::default();
            let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
            after(&known, &mut later);
            all.join(later);
            all.findings().map(|finding| finding.evidence.clone()).collect::<Vec<_>>()
        };
        let evidence = "each writes the 1.0 MiB that start at byte 0";
        assert_eq!(found("", [(0, 2, 1024), (0, 2, 1024)]), [evidence]);
        assert_eq!(found("--startdelay=1", [(0, 2, 1024), (1, 2, 1024)]), [evidence]);
        assert_eq!(found("--startdelay=1", [(0, 1, 1024), (2, 3, 1024)]).len(), 0);
        let less = found("--offset=512k", [(0, 2, 256), (0, 2, 256)]);
        assert_eq!(less.len(), 0, "time ended the first job before the range of the second");
    }
}
