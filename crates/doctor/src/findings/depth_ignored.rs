//! `depth-ignored`: a depth above 1 where each I/O is complete before the next is made.

use fiord_job::option::table::IODEPTH;
use fiord_plan::{DepthSupport, JobPlan};
use fiord_stat::finding::Severity;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::page_cache::buffered;
use crate::evidence::page_cache::directly;
use crate::evidence::synchronous::queue;
use crate::evidence::synchronous::synchronous;

pub(crate) const CHECK: Check = Check {
    id: "depth-ignored",
    severity: Severity::Suspect,
    title: "iodepth above 1 although only one I/O is in flight at a time",
    about: "A synchronous engine (`psync`, `sync`, `vsync`, `pvsync`, `pvsync2`, `mmap`) waits \
            for each I/O before it issues the next, and so does `sg` on a block device. `libaio` \
            queues only direct I/O: without `direct=1`, its submission waits for each I/O. \
            `iodepth=32` has no effect in these cases: the result is that of depth 1.",
    detection: "The job uses a synchronous engine, `sg` on block devices, or `libaio` without \
                `direct=1`; its `iodepth` is above 1; and `io_submit_mode=offload`, which gives \
                each I/O of a synchronous engine a thread, is not set.",
    effect: "As large as the device's parallelism. On a simulated device (`ioengine=sim` with \
             `sim_latency=constant:100us`, `sim_channels=64`), 4 KiB random reads reach 10,000 \
             IOPS with one I/O in flight and 320,000 with 32.",
    remedy: "use an engine that queues (`ioengine=io_uring` or `ioengine=libaio`), or as many \
             jobs as the depth: `numjobs=32` with `iodepth=1`.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.sections().filter_map(finding));
}

fn finding(job: &JobPlan) -> Option<FindingBuilder> {
    let (depth, engine) = (job.depth.depth, job.engine.def());
    if depth <= 1 {
        return None;
    }
    let (evidence, (remedy, settings)) = match (synchronous(job), engine.in_flight) {
        (Some(_), _) if job.pace.offload => return None,
        (Some(name), _) => (
            format!("ioengine={name} completes each I/O before it takes the next"),
            // io_uring works on files and devices only.
            match engine.access.uses_file_layer() {
                true => queue(depth),
                false => (format!("use numjobs={depth} with iodepth=1"), Vec::new()),
            },
        ),
        (None, DepthSupport::ManyIfDirect) if buffered(job) => (
            format!(
                "{} queues direct I/O only: without direct=1 its submission waits for each I/O",
                engine.name
            ),
            (
                "set direct=1, or use ioengine=io_uring, which lets kernel threads wait".into(),
                directly(job).into_iter().collect(),
            ),
        ),
        _ => return None,
    };
    let name = &job.identity.name;
    let mut said = SaidNumbers::default();
    said.exact("iodepth", depth.into());
    let finding = CHECK
        .for_job(
            job,
            format!("job {name} asks for iodepth={depth} but has one I/O in flight at a time"),
        )
        .evidence(evidence)
        .remedy(remedy)
        .settings(settings)
        .numbers(said)
        .option(IODEPTH);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, FileKind, Plan};

    use super::*;

    fn plan(engine: EnginePlan, depth: u32) -> Plan {
        let mut job = JobPlan::plain(engine, 1 << 20);
        job.depth.depth = depth;
        Plan { jobs: vec![job], global_options: Vec::new() }
    }

    fn reported(plan: &Plan) -> Vec<FindingBuilder> {
        let mut findings = CollectedFindings::default();
        lint(&Lint { plan, specs: &[], notes: &[] }, &mut findings);
        findings.all().to_vec()
    }

    #[test]
    fn reports_only_synchronous_engines() {
        let found = reported(&plan(EnginePlan::Psync, 32));
        assert_eq!(found.len(), 1);
        assert!(found[0].finding.what.contains("iodepth=32"));
        assert!(found[0].finding.remedy.contains("numjobs=32"));
        assert!(reported(&plan(EnginePlan::Psync, 1)).is_empty());
        let uring = EnginePlan::IoUring(fiord_plan::IoUringPlan::default());
        assert!(reported(&plan(uring, 32)).is_empty());
    }

    #[test]
    fn reports_buffered_libaio() {
        let reported = |line: &str| {
            let job = "--name=a --rw=randread --size=1m --filename=f --iodepth=32";
            crate::tests::fixture::lint(&CHECK, &format!("{job} {line}"))
        };
        assert!(reported("--ioengine=libaio")[0].remedy.starts_with("set direct=1, or"));
        assert!(reported("--ioengine=libaio --direct=1").is_empty());
        assert!(reported("--ioengine=libaio --iodepth=1").is_empty());
        assert!(reported("--ioengine=io_uring").is_empty());
    }

    #[test]
    fn sg_queues_on_character_devices_only() {
        let mut job = plan(EnginePlan::Sg(fiord_plan::SgPlan::default()), 8);
        job.jobs[0].target.files[0].kind = FileKind::Char;
        assert!(reported(&job).is_empty());
        job.jobs[0].target.files[0].kind = FileKind::Block;
        assert!(reported(&job)[0].finding.evidence.starts_with("ioengine=sg completes each"));
    }

    #[test]
    fn reports_all_instances_of_a_section_once() {
        let mut plan = plan(EnginePlan::Psync, 4);
        let mut second = plan.jobs[0].clone();
        second.identity.instance = 1;
        plan.jobs.push(second);
        assert_eq!(reported(&plan).len(), 1);
    }
}
