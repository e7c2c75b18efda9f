//! `submission-blocks`: the system call that hands I/Os over waits for them.

use fiord_plan::{Dir, EnginePlan, JobPlan};
use fiord_stat::finding::Severity;
use fiord_stat::shares::{Part, TimeShares};

use crate::amount::{percent, time};
use crate::check::Entry;
use crate::depth_ignored::{buffered, synchronous};
use crate::depth_not_reached::allocation;
use crate::page_cache::through_cache;
use crate::{After, Check, Evidence, FindingBuilder, Findings, Unavailable};

/// The share of the threads' time from which on it is told.
pub(crate) const SHARE: f64 = 0.5;
/// The share of the sampled rounds in which submission must have taken most of the time: a thread that
/// loses its CPU makes single ones long.
const ROUNDS: f64 = 0.75;
/// CPU times of shorter runs are too coarse.
const SHORTEST_MS: u64 = 200;
/// Fewer sampled rounds than these say nothing.
const LEAST: u64 = 5;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "submission-blocks",
    severity: Severity::Suspect,
    title: "the system call that hands I/Os over waits for them",
    about: "An engine that queues hands its I/Os to the kernel and goes on while the device works. \
            Some file systems and drivers do the work, or wait for it, inside the call that hands an \
            I/O over: FUSE without asynchronous direct I/O, a file that must be allocated or \
            extended, a queue that is full. The next I/O is then handed over when the one before it \
            has ended, and the number is that of a depth of 1, whatever `iodepth` says.",
    detection: "The share of a job's time that went into submission (sampled: `generator` in the report), \
           less all the time for which its threads computed (user and system time) or waited for a \
           CPU (`/proc/thread-self/schedstat`): what is left is half of the time or more, and was \
           spent asleep in the submitting call. Only for jobs with an `iodepth` above 1 on an engine \
           that queues and `direct=1` (on FUSE also without it), that ran for 200 ms or more, of which 5 rounds or more were sampled, and where submission took most of the \
           time in three quarters of these. `libaio` without `direct=1` is \
           told of by `depth-ignored`. What blocks in a thread of the kernel (`sqthread_poll`) is \
           not seen.",
    effect: "A file system in a process that takes 2 ms for a read and serves one after another: \
             random reads at depth 16 of `libaio` and `io_uring` with `direct=1` made 460 IOPS, \
             `psync` 465 (fiord, 2 s each).",
    remedy: "`force_async=1` with `ioengine=io_uring`, which hands the waiting to threads of the kernel; \
           `numjobs` for as many threads as the depth; for writes that allocate, `overwrite=1`.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    for entry in known.entries() {
        let Some(shares) =
            known.shares(&entry).filter(|_| entry.jobs.iter().all(|job| queues(job)))
        else {
            continue;
        };
        let ran = entry.report.runtime_ms / u64::from(entry.report.members.max(1));
        if ran < SHORTEST_MS || !mostly_submits(shares) || in_memory(known, &entry) {
            continue;
        }
        let blocked = blocked(&entry, shares);
        if let Some(blocked) = findings.available(&CHECK, &blocked).filter(|share| **share >= SHARE)
        {
            findings.report(finding(known, &entry, *blocked));
        }
    }
}

/// Whether submission takes most of the time, and does so nearly always.
pub(crate) fn mostly_submits(shares: &TimeShares) -> bool {
    shares.rounds >= LEAST
        && shares.share(Part::Submission) >= SHARE
        && shares.submitting as f64 >= shares.rounds as f64 * ROUNDS
}

/// Whether a job hands over I/Os that are to be in flight together.
fn queues(job: &JobPlan) -> bool {
    let real = !matches!(job.engine, EnginePlan::Null | EnginePlan::Sim(_));
    let one_by_one = matches!(job.engine, EnginePlan::Libaio { .. }) && buffered(job);
    real && !one_by_one && synchronous(job).is_none() && !job.pace.offload && job.depth.depth > 1
}

/// Whether it is the page cache that a job waits for, which does its work inside the call by nature.
/// What another process serves (FUSE) is asked for there as well.
fn in_memory(known: &After<'_>, entry: &Entry<'_>) -> bool {
    let served = |job: &JobPlan| {
        let kinds = job.target.files.iter().filter_map(|f| known.before.files.file_system(&f.path));
        kinds.into_iter().any(|kind| kind.starts_with("fuse"))
    };
    entry.jobs.iter().any(|job| through_cache(job) && !served(job))
}

/// The least share of a printed job's time in which its threads slept while they submitted.
pub(crate) fn blocked(entry: &Entry<'_>, shares: &TimeShares) -> Evidence<f64> {
    let report = entry.report;
    let ready = report.delays.ready_ns.ok_or_else(|| {
        Unavailable("waiting for CPUs: the kernel has no /proc/thread-self/schedstat".into())
    })?;
    let ready = ready as f64 / (report.runtime_ms.max(1) as f64 * 1e6);
    let computed = (report.usr_cpu + report.sys_cpu) / 100.0;
    Ok(shares.share(Part::Submission) - computed - ready)
}

/// The mean time for which a printed job's submission slept for each I/O, ns, and that of an I/O.
pub(crate) fn each(entry: &Entry<'_>, blocked: f64) -> (f64, f64) {
    let dirs = || entry.report.dirs.iter();
    let ios: u64 = dirs().map(|row| row.total_ios).sum();
    let busiest = dirs().max_by_key(|row| row.total_ios);
    let lat = busiest.map_or(0.0, |row| if row.lat.n > 0 { row.lat.mean } else { row.clat.mean });
    (entry.report.runtime_ms as f64 * 1e6 * blocked / ios.max(1) as f64, lat)
}

fn finding(known: &After<'_>, entry: &Entry<'_>, blocked: f64) -> FindingBuilder {
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let (submission, lat) = each(entry, blocked);
    let depth = job.depth.depth;
    let threads = format!("numjobs={depth} with iodepth=1");
    let remedy = match &job.engine {
        _ if job.load.mix.has(Dir::Write) && allocation(known, job).is_some() => {
            "overwrite=1".to_owned()
        }
        EnginePlan::IoUring(ring) if ring.force_async == 0 => {
            format!("force_async=1, or {threads}")
        }
        EnginePlan::Libaio { .. } => {
            format!("ioengine=io_uring with force_async=1, or {threads}")
        }
        _ => threads,
    };
    CHECK
        .for_job(job, format!("job {name} waits in the call that submits its I/Os"))
        .evidence(format!(
            "for {} of the time its threads slept in it, {} for each I/O, which takes {} in all; \
             iodepth={depth} is not in flight",
            percent(blocked),
            time(submission),
            time(lat)
        ))
        .remedy(remedy)
        .option("iodepth")
}

#[cfg(test)]
mod tests {
    use fiord_stat::finding::Finding;
    use fiord_stat::report::{DirKind, GeneratorReport, JobReport, JobShares, Report};

    use super::*;
    use crate::Machine;
    use crate::fixture::{plan, row};

    /// What is told when submission takes so much of the time, the threads computed for so many per
    /// cent of it and waited for a CPU for so many.
    fn findings(options: &str, submission: u64, cpu: f64, ready: Option<u64>) -> Findings {
        findings_in(20, options, submission, cpu, ready)
    }

    /// The same where submission took most of the time in so many of 20 rounds.
    fn findings_in(
        rounds: u64,
        options: &str,
        submission: u64,
        cpu: f64,
        ready: Option<u64>,
    ) -> Findings {
        let (plan, _) = plan(&format!(
            "--name=a --filename=f --size=1m --rw=randread --direct=1 --iodepth=16 {options}"
        ));
        let shares = TimeShares::of([0, submission, 100 - submission, 0, 0], 20, 320).unwrap();
        let shares = TimeShares { submitting: rounds, ..shares };
        let mut job = JobReport {
            name: "a".into(),
            members: 1,
            runtime_ms: 1000,
            sys_cpu: cpu,
            dirs: vec![row(DirKind::Read, 500.0, 1)],
            ..JobReport::default()
        };
        job.dirs[0].lat.mean = 32e6;
        job.dirs[0].lat.n = 500;
        job.delays.ready_ns = ready.map(|percent| percent * 10_000_000);
        let mut report = Report { jobs: vec![job], ..Report::default() };
        let jobs = vec![JobShares { group_id: 0, name: "a".into(), shares }];
        report.extras.generator = Some(GeneratorReport { jobs, ..GeneratorReport::default() });
        let machine = Machine::default();
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        let mut findings = Findings::default();
        after(&known, &mut findings);
        findings
    }

    fn told(options: &str, submission: u64, cpu: f64, ready: u64) -> Vec<Finding> {
        findings(options, submission, cpu, Some(ready)).findings().cloned().collect()
    }

    #[test]
    fn reports_time_asleep_in_the_call() {
        let found = told("--ioengine=io_uring", 99, 1.0, 2);
        assert_eq!(found[0].what, "job a waits in the call that submits its I/Os");
        let evidence = "for 96 % of the time its threads slept in it, 1.9 ms for each I/O, which \
                        takes 32 ms in all; iodepth=16 is not in flight";
        assert_eq!(found[0].evidence, evidence);
        assert_eq!(found[0].remedy, "force_async=1, or numjobs=16 with iodepth=1");
        assert_eq!(told("--ioengine=io_uring", 40, 1.0, 2), [], "most of it waits for the device");
    }

    #[test]
    fn submission_that_computes_or_has_no_cpu_does_not_block() {
        assert_eq!(told("--ioengine=io_uring", 95, 90.0, 0), []);
        assert_eq!(told("--ioengine=io_uring", 95, 30.0, 60), [], "other programs had the CPUs");
        let seldom = findings_in(9, "--ioengine=io_uring", 95, 1.0, Some(2));
        assert!(seldom.is_empty(), "the thread lost its CPU in a few rounds");
        let unknown = findings("--ioengine=io_uring", 95, 1.0, None);
        assert!(unknown.is_empty() && unknown.unchecked().len() == 1, "{unknown:?}");
    }

    #[test]
    fn jobs_with_one_io_at_a_time_wait_in_it_by_nature() {
        for options in
            ["--ioengine=psync", "--ioengine=io_uring --iodepth=1", "--ioengine=libaio --direct=0"]
        {
            assert_eq!(told(options, 99, 1.0, 0), [], "{options}");
        }
        assert_eq!(told("--ioengine=io_uring --direct=0", 99, 1.0, 0), [], "the page cache");
        assert_eq!(told("--ioengine=libaio", 99, 1.0, 0).len(), 1);
    }
}
