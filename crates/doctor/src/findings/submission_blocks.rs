//! `submission-blocks`: the system call that submits I/Os waits for them.

use fiord_job::option::table::io_uring::FORCE_ASYNC;
use fiord_job::option::table::{IODEPTH, OVERWRITE};
use fiord_plan::{DepthSupport, EngineAccess, EnginePlan, JobPlan};
use fiord_stat::finding::Severity;
use fiord_types::{Dir, Nanos};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::allocation::allocation;
use crate::evidence::amount::SaidNumbers;
use crate::evidence::page_cache::{buffered, through_cache};
use crate::evidence::setting::set;
use crate::evidence::submission::{SHARE, blocked, each, mostly_submits};
use crate::evidence::synchronous::synchronous;

/// Minimum length of a run: CPU times of shorter runs are too coarse.
const MIN_RUN: Nanos = Nanos::from_millis(200);

pub(crate) const CHECK: Check = Check {
    id: "submission-blocks",
    severity: Severity::Suspect,
    title: "the system call that submits I/Os waits for them",
    about: "An engine that queues submits its I/Os to the kernel and continues while the device \
            works. Some file systems and drivers do the work, or wait for it, inside the \
            submitting system call: FUSE without asynchronous direct I/O, a file that must be \
            allocated or extended, a full queue. The next I/O is then submitted only after the \
            one before it has completed, and the result is that of depth 1, whatever `iodepth` \
            says.",
    detection: "fiord samples the share of a job's time that went into submission (`generator` in \
                the report), and subtracts all the time in which the threads computed (user and \
                system time) or waited for a CPU (`/proc/thread-self/schedstat`). If half of the \
                time or more remains, the threads slept in the submitting call. The check covers \
                jobs with an `iodepth` above 1 on an engine that queues, with `direct=1` (on FUSE \
                also without it), that ran for at least 200 ms. At least 5 rounds must have been \
                sampled, and submission must have taken most of the time in three quarters of \
                them. `depth-ignored` covers `libaio` without `direct=1`. The check does not see \
                calls that block in a kernel thread (`sqthread_poll`).",
    effect: "A file system in a process that takes 2 ms per read and serves one read after \
             another: random reads at depth 16 with `direct=1` reached 460 IOPS with `libaio` and \
             `io_uring`, and 465 with `psync` (fiord, 2 s each).",
    remedy: "with `ioengine=io_uring`, set `force_async=1`, which lets kernel threads wait; or \
             use `numjobs` for as many threads as the depth; for writes that allocate, set \
             `overwrite=1`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries() {
        let Some(shares) =
            known.shares(&entry).filter(|_| entry.jobs.iter().all(|job| queues(job)))
        else {
            continue;
        };
        let ran = entry.report.runtime / u64::from(entry.report.members.max(1));
        if ran < MIN_RUN || !mostly_submits(shares) || in_memory(known, &entry) {
            continue;
        }
        let blocked = blocked(&entry, shares);
        if let Some(blocked) = findings.available(&CHECK, &blocked).filter(|share| **share >= SHARE)
        {
            findings.report(finding(known, &entry, *blocked));
        }
    }
}

/// Returns whether a job submits I/Os that should be in flight at the same time.
fn queues(job: &JobPlan) -> bool {
    let def = job.engine.def();
    let real = def.access != EngineAccess::Nothing;
    let one_by_one = def.in_flight == DepthSupport::ManyIfDirect && buffered(job);
    real && !one_by_one && synchronous(job).is_none() && !job.pace.offload && job.depth.depth > 1
}

/// Returns whether a job goes through the page cache, which by design works inside the submitting call.
/// FUSE is an exception: there, the call waits for another process.
fn in_memory(known: &After<'_>, entry: &Entry<'_>) -> bool {
    let served = |job: &JobPlan| {
        let kinds = job.target.files.iter().filter_map(|f| known.before.files.file_system(&f.path));
        kinds.into_iter().any(|kind| kind.starts_with("fuse"))
    };
    entry.jobs.iter().any(|job| through_cache(job) && !served(job))
}

fn finding(known: &After<'_>, entry: &Entry<'_>, blocked: f64) -> FindingBuilder {
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let (submission, lat) = each(entry, blocked);
    let depth = job.depth.depth;
    let threads = format!("numjobs={depth} with iodepth=1");
    let mut settings = Vec::new();
    let remedy = match &job.engine {
        _ if job.load.mix.has(Dir::Write) && allocation(known, job).is_some() => {
            settings.push(set(OVERWRITE, 1));
            format!("set {}", settings[0])
        }
        EnginePlan::IoUring(ring) if ring.force_async == 0 => {
            settings.push(set(FORCE_ASYNC, 1));
            format!("set {}, or {threads}", settings[0])
        }
        EnginePlan::Libaio(_) => {
            format!("use ioengine=io_uring with force_async=1, or {threads}")
        }
        _ => format!("set {threads}"),
    };
    let mut said = SaidNumbers::default();
    CHECK
        .for_job(job, format!("job {name} blocks in the call that submits its I/Os"))
        .evidence(format!(
            "its threads slept there for {} of the time, {} per I/O of {} in total; iodepth={depth} is \
             not reached",
            said.percent("blocked", blocked.min(1.0)),
            said.time("submission", submission),
            said.time("latency", lat)
        ))
        .numbers(said)
        .settings(settings)
        .remedy(remedy)
        .option(IODEPTH)
}

#[cfg(test)]
mod tests {
    use fiord_stat::finding::Finding;
    use fiord_stat::report::{DirKind, GeneratorReport, JobReport, JobShares, Report};
    use fiord_stat::shares::TimeShares;

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{plan, row};

    /// Returns the findings if submission takes `submission` per cent of the time, and the threads
    /// computed for `cpu` per cent and waited for a CPU for `ready` per cent of it.
    fn findings(options: &str, submission: u64, cpu: f64, ready: Option<u64>) -> CollectedFindings {
        findings_in(20, options, submission, cpu, ready)
    }

    /// Returns the findings if submission took most of the time in `rounds` of 20 rounds.
    fn findings_in(
        rounds: u64,
        options: &str,
        submission: u64,
        cpu: f64,
        ready: Option<u64>,
    ) -> CollectedFindings {
        let (plan, _) = plan(&format!(
            "--name=a --filename=f --size=1m --rw=randread --direct=1 --iodepth=16 {options}"
        ));
        let shares = [0, submission, 100 - submission, 0, 0].map(Nanos);
        let shares = TimeShares::of(shares, 20, 320).unwrap();
        let shares = TimeShares { submitting: rounds, ..shares }.summarise();
        let mut job = JobReport {
            name: "a".into(),
            members: 1,
            runtime: Nanos::from_secs(1),
            sys_cpu: cpu,
            dirs: vec![row(DirKind::Read, 500.0, 1)],
            ..JobReport::default()
        };
        job.dirs[0].lat.mean = 32e6;
        job.dirs[0].lat.n = 500;
        job.delays.ready = ready.map(|percent| Nanos::from_millis(percent * 10));
        let mut report = Report { jobs: vec![job], ..Report::default() };
        let jobs = vec![JobShares { group_id: 0, name: "a".into(), shares }];
        report.extras.generator = Some(GeneratorReport { jobs, ..GeneratorReport::default() });
        let machine = Machine::default();
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        let mut findings = CollectedFindings::default();
        after(&known, &mut findings);
        findings
    }

    fn reported(options: &str, submission: u64, cpu: f64, ready: u64) -> Vec<Finding> {
        findings(options, submission, cpu, Some(ready)).findings().cloned().collect()
    }

    #[test]
    fn reports_time_asleep_in_submission() {
        let found = reported("--ioengine=io_uring", 99, 1.0, 2);
        assert_eq!(found[0].what, "job a blocks in the call that submits its I/Os");
        let evidence = "its threads slept there for 96 % of the time, 1.9 ms per I/O of 32 ms in \
                        total; iodepth=16 is not reached";
        assert_eq!(found[0].evidence, evidence);
        assert_eq!(found[0].remedy, "set force_async=1, or numjobs=16 with iodepth=1");
        assert_eq!(
            reported("--ioengine=io_uring", 40, 1.0, 2),
            [],
            "most of it waits for the device"
        );
    }

    #[test]
    fn submission_that_computes_or_has_no_cpu_does_not_block() {
        assert_eq!(reported("--ioengine=io_uring", 95, 90.0, 0), []);
        assert_eq!(
            reported("--ioengine=io_uring", 95, 30.0, 60),
            [],
            "other programs had the CPUs"
        );
        let seldom = findings_in(9, "--ioengine=io_uring", 95, 1.0, Some(2));
        assert!(seldom.is_empty(), "the thread lost its CPU in a few rounds");
        let unknown = findings("--ioengine=io_uring", 95, 1.0, None);
        assert!(unknown.is_empty() && unknown.unchecked().len() == 1, "{unknown:?}");
    }

    #[test]
    fn silent_for_jobs_that_wait_in_submission_by_design() {
        for options in
            ["--ioengine=psync", "--ioengine=io_uring --iodepth=1", "--ioengine=libaio --direct=0"]
        {
            assert_eq!(reported(options, 99, 1.0, 0), [], "{options}");
        }
        assert_eq!(reported("--ioengine=io_uring --direct=0", 99, 1.0, 0), [], "the page cache");
        assert_eq!(reported("--ioengine=libaio", 99, 1.0, 0).len(), 1);
    }
}
