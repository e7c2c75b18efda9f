//! `contents-cost`: making the bytes of writes takes a good part of the time.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    BUFFER_COMPRESS_PERCENTAGE, BUFFER_CRC, BUFFER_PATTERN, DEDUPE_PERCENTAGE, REFILL_BUFFERS,
    SCRAMBLE_BUFFERS, VERIFY,
};
use fiord_plan::{ContentPlan, JobPlan, VerifyPlan};
use fiord_stat::finding::Severity;
use fiord_stat::shares::{LoopStage, StageShares};
use fiord_types::{Dir, Nanos};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::synchronous::synchronous;

/// Minimum share of the threads' time for a finding, and for a suspect one.
const TOLD: f64 = 0.1;
const SUSPECT: f64 = 1.0 / 3.0;
/// Minimum share for the default contents: the job did not choose them, and no other random contents
/// cost less.
const TOLD_OF_DEFAULT: f64 = 0.25;
/// Minimum number of sampled rounds.
const ROUNDS: u64 = 64;
/// Block size, in bytes, from which on the default contents only renew a mark in each sector. Smaller
/// blocks get new bytes, as with `refill_buffers` (`docs/contents.md`).
const MARKED: u32 = 128 << 10;

pub(crate) const CHECK: Check = Check {
    id: "contents-cost",
    severity: Severity::Suspect,
    title: "filling the buffers takes a large part of the time",
    about: "The thread that issues the I/Os also generates the data to write. It submits nothing \
            while it does so: a synchronous job is slower by exactly that time, and a job that \
            queues is limited by it as soon as the thread has no spare time. The result then \
            measures the load generator.",
    detection: "fiord samples how its threads spend their time (`generator` in the report). The \
                finding is reported if at least 10 % of a job's time went into contents (25 % for \
                the default contents), as suspect from a third on and as a note below. If I/Os \
                queue, or if a rate or think time paces the job, the thread fills buffers in \
                spare time as long as it mostly waits; the finding is then reported only if \
                contents take more time than waiting. The share is at most the time that the \
                threads spent in user mode, relative to the time in which they had a CPU. The \
                check is silent on `null` and `sim`, which measure only the generator, and if \
                fewer than 64 rounds of the job were sampled.",
    effect: "The lower the latency of the storage, the larger. `psync` writes of 256 KiB to a \
             file in memory (tmpfs) spent 1.1 % of their time on the default contents, 10 % on \
             `refill_buffers`, 13 % on `buffer_compress_percentage=50` and 18 % on \
             `dedupe_percentage=50`; writes of 4 KiB spent 2.0, 4.7, 7.4 and 9.3 % (sampled by \
             fiord, one run of one second each).",
    remedy: "instead of `refill_buffers`, use the default contents with blocks of 128 KiB or \
             more: they are random too and neither compress nor repeat, but only a mark in each \
             sector is new in each write. Smaller blocks, `buffer_compress_percentage` and \
             `dedupe_percentage` need new data for every write: use more jobs on more CPUs \
             (`numjobs`), or remove the percentages if the storage neither compresses nor \
             deduplicates. `zero_buffers` costs nothing but measures something else: see \
             `compressible-data`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries() {
        if let Some(shares) = known.shares(&entry) {
            findings.report_if(finding(&entry, shares));
        }
    }
}

fn finding(entry: &Entry<'_>, shares: &StageShares) -> Option<FindingBuilder> {
    let real = |job: &JobPlan| job.engine.def().moves_data;
    let job = *entry.jobs.iter().find(|job| real(job) && job.load.writes_data())?;
    let (contents, waiting) = (contents(entry, shares), shares.share(LoopStage::Waiting));
    let spare = entry.jobs.iter().any(|job| overlaps(job)) && contents < waiting;
    let told_from = if job.content == ContentPlan::Scramble { TOLD_OF_DEFAULT } else { TOLD };
    if contents < told_from || spare || shares.rounds() < ROUNDS {
        return None;
    }
    let (option, remedy) = cause(job)?;
    let mut said = SaidNumbers::default();
    let share = said.percent("contents", contents);
    let finding = CHECK
        .for_entry(
            entry,
            format!("{share} of the time of {} goes into filling buffers", entry.subject()),
        )
        .evidence(format!(
            "{} generates the data of each write: {share} of the time; {} waiting for I/O",
            option.name,
            said.percent("waiting", waiting)
        ))
        .numbers(said)
        .remedy(remedy)
        .option(option);
    Some(if contents >= SUSPECT { finding } else { finding.at_most(Severity::Note) })
}

/// Returns the share of the threads' time that went into filling buffers. Threads fill buffers in user
/// mode, so the sampled share cannot exceed the share of user time in the time with a CPU: the rest
/// is time without a CPU that happened to fall into a sample.
fn contents(entry: &Entry<'_>, shares: &StageShares) -> f64 {
    let report = entry.report;
    let sampled = shares.share(LoopStage::Contents);
    let Some(ready) = report.delays.ready else { return sampled };
    let had = 1.0 - ready.0 as f64 / report.runtime.max(Nanos::from_millis(1)).0 as f64;
    sampled.min(report.usr_cpu / 100.0 / had.max(0.01))
}

/// Returns whether the job can fill buffers while I/Os are in flight, or while it pauses.
fn overlaps(job: &JobPlan) -> bool {
    let queues = synchronous(job).is_none() && job.depth.depth > 1;
    queues || job.pace.offload || !job.pace.is_free()
}

/// Returns the option that costs the time, and a remedy that writes data of the same quality.
fn cause(job: &JobPlan) -> Option<(&'static OptionDef, &'static str)> {
    const DEFAULT: &str =
        "use the default contents: equally random, but only a mark in each sector is new";
    const MORE: &str = "use more jobs (numjobs) on more CPUs";
    const SHAPED: &str = "use more jobs (numjobs) on more CPUs, or the default contents if the storage neither \
         compresses nor deduplicates";
    if job.verify.as_ref().is_some_and(VerifyPlan::fills) {
        return Some((
            VERIFY.def(),
            "use verify=crc32c, which costs least, or more jobs (numjobs) on more CPUs",
        ));
    }
    if job.crc {
        return Some((BUFFER_CRC.def(), MORE));
    }
    match &job.content {
        ContentPlan::Refill => {
            let marked = job.load.blocks[Dir::Write].min() >= MARKED;
            Some((REFILL_BUFFERS.def(), if marked { DEFAULT } else { MORE }))
        }
        ContentPlan::Shaped(shape) if shape.compress.is_some() => {
            Some((BUFFER_COMPRESS_PERCENTAGE.def(), SHAPED))
        }
        ContentPlan::Shaped(_) => Some((DEDUPE_PERCENTAGE.def(), SHAPED)),
        ContentPlan::Scramble => Some((SCRAMBLE_BUFFERS.def(), MORE)),
        ContentPlan::Pattern(_) => {
            Some((BUFFER_PATTERN.def(), "use a pattern without an offset in it"))
        }
        ContentPlan::Fixed | ContentPlan::Zero => None,
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::delays::ThreadDelays;
    use fiord_stat::finding::Finding;
    use fiord_stat::report::{GeneratorReport, JobReport, JobShares, Report};
    use fiord_stat::shares::TimeShares;

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_after, plan};

    /// Returns the findings for these times of contents, submission, waiting, completion and the rest.
    fn reported(options: &str, ns: [u64; 5]) -> Vec<Finding> {
        let (plan, _) =
            plan(&format!("--name=a --filename=f --size=1m --bs=256k --rw=write {options}"));
        let shares = TimeShares::of(ns.map(Nanos), 1000, 1000).expect("some time").summarise();
        let jobs = vec![JobShares { group_id: 0, name: "a".into(), shares }];
        let mut report = Report {
            jobs: vec![JobReport { name: "a".into(), members: 1, ..JobReport::default() }],
            ..Report::default()
        };
        let machine = Machine::default();
        let ask = |report: &Report| {
            let known = After { plan: &plan, before: &machine, after: &machine, report };
            found_after(&CHECK, &known)
        };
        assert!(ask(&report).is_empty(), "nothing was sampled");
        report.extras.generator = Some(GeneratorReport { jobs, ..GeneratorReport::default() });
        ask(&report)
    }

    #[test]
    fn reports_the_option_that_costs_the_time() {
        let found = reported("--refill_buffers=1", [50, 0, 45, 0, 5]);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Suspect));
        assert_eq!(found[0].what, "50 % of the time of job a goes into filling buffers");
        assert!(found[0].evidence.starts_with("refill_buffers generates"), "{found:?}");
        assert!(found[0].remedy.starts_with("use the default contents"), "{found:?}");
        let compress = reported("--buffer_compress_percentage=50", [20, 0, 75, 0, 5]);
        assert_eq!(compress[0].severity, Severity::Note);
        assert!(compress[0].evidence.starts_with("buffer_compress_percentage"), "{compress:?}");
        let dedupe = reported("--dedupe_percentage=50", [20, 0, 75, 0, 5]);
        assert!(dedupe[0].evidence.starts_with("dedupe_percentage"), "{dedupe:?}");
        let verify = reported("--verify=sha256", [50, 0, 45, 0, 5]);
        assert!(verify[0].evidence.starts_with("verify generates the data"), "{verify:?}");
        assert!(reported("", [30, 0, 65, 0, 5])[0].evidence.starts_with("scramble_buffers"));
        assert!(reported("", [20, 0, 75, 0, 5]).is_empty(), "nothing costs less");
        assert!(reported("--refill_buffers=1", [9, 0, 86, 0, 5]).is_empty());
        // Small blocks get new data by default as well.
        let small = reported("--refill_buffers=1 --bs=4k", [50, 0, 45, 0, 5]);
        assert!(small[0].remedy.starts_with("use more jobs"), "{small:?}");
    }

    #[test]
    fn time_without_a_cpu_is_not_spent_on_contents() {
        let (plan, _) = plan("--name=a --filename=f --size=1m --bs=256k --rw=write");
        let job = |usr_cpu| JobReport {
            members: 1,
            runtime: Nanos::from_secs(1),
            usr_cpu,
            delays: ThreadDelays {
                ready: Some(Nanos::from_millis(600)),
                ..ThreadDelays::default()
            },
            ..JobReport::default()
        };
        let shares = TimeShares::of([30, 0, 65, 0, 5].map(Nanos), 1000, 1000).unwrap().summarise();
        let share = |usr_cpu| {
            let report = job(usr_cpu);
            contents(&Entry { report: &report, jobs: vec![&plan.jobs[0]] }, &shares)
        };
        assert!((share(4.0) - 0.1).abs() < 1e-9, "4 % of the time, of which it had 40 %");
        assert_eq!(share(30.0), 0.3);
    }

    #[test]
    fn spare_time_is_not_reported() {
        let queued = "--refill_buffers=1 --ioengine=io_uring --iodepth=8";
        assert!(reported(queued, [30, 10, 55, 2, 3]).is_empty(), "the storage is the limit");
        assert_eq!(reported(queued, [60, 30, 5, 2, 3]).len(), 1, "the thread is");
        let paced = "--refill_buffers=1 --rate_iops=100";
        assert!(reported(paced, [30, 0, 65, 0, 5]).is_empty());
    }

    #[test]
    fn engines_without_storage_are_not_reported() {
        assert!(reported("--refill_buffers=1 --ioengine=null", [90, 0, 5, 0, 5]).is_empty());
        assert!(reported("--rw=read --refill_buffers=1", [90, 0, 5, 0, 5]).is_empty());
    }
}
