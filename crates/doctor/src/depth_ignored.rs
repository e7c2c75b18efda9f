//! `depth-ignored`: a depth above 1 on an engine that completes each I/O before the next.

use fiord_plan::{EnginePlan, JobPlan};
use fiord_stat::finding::Severity;

use crate::{Check, Findings, Lint, Told};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "depth-ignored",
    severity: Severity::Suspect,
    title: "iodepth above 1 on an engine that has one I/O in flight at a time",
    about: "A synchronous engine (`psync`, `sync`, `vsync`, `pvsync`, `pvsync2`, `mmap`) waits for \
            each I/O before it makes the next. `iodepth=32` changes nothing there: the number is \
            that of depth 1.",
    seen: "The job's engine is a synchronous one, its `iodepth` is above 1, and \
           `io_submit_mode=offload`, which gives each I/O a thread, is not set.",
    effect: "As large as the device's parallelism. On a simulated device (`ioengine=sim` with \
             `sim_latency=constant:100us`, `sim_channels=64`), 4 KiB random reads make 10,000 IOPS \
             with one I/O in flight and 320,000 with 32.",
    mend: "An engine that queues, `ioengine=io_uring` or `ioengine=libaio`; or as many jobs as the \
           depth: `numjobs=32` with `iodepth=1`.",
    lint: Some(lint),
    before: None,
    after: None,
};

fn lint(known: &Lint<'_>, findings: &mut Findings) {
    known.sections().filter_map(finding).for_each(|told| findings.tell(told));
}

fn finding(job: &JobPlan) -> Option<Told> {
    if job.pace.offload {
        return None;
    }
    let engine = synchronous(&job.engine)?;
    let depth = job.depth.depth;
    if depth <= 1 {
        return None;
    }
    let name = &job.identity.name;
    let told = CHECK
        .of_job(
            job,
            format!("job {name} asks for iodepth={depth} but has one I/O in flight at a time"),
        )
        .evidence(format!("ioengine={engine} completes each I/O before it takes the next"))
        .mend(format!("ioengine=io_uring with iodepth={depth}, or numjobs={depth} with iodepth=1"))
        .option("iodepth");
    Some(told)
}

/// The name of an engine that has one I/O in flight at a time.
pub(crate) fn synchronous(engine: &EnginePlan) -> Option<&'static str> {
    match engine {
        EnginePlan::Psync => Some("psync"),
        EnginePlan::Sync => Some("sync"),
        EnginePlan::Vsync => Some("vsync"),
        EnginePlan::Pvsync => Some("pvsync"),
        EnginePlan::Pvsync2 { .. } => Some("pvsync2"),
        EnginePlan::Mmap { .. } => Some("mmap"),
        EnginePlan::Libaio { .. }
        | EnginePlan::IoUring(_)
        | EnginePlan::Sg(_)
        | EnginePlan::IoUringCmd(_)
        | EnginePlan::Null
        | EnginePlan::Sim(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::Plan;

    use super::*;

    fn plan(engine: EnginePlan, depth: u32) -> Plan {
        let mut job = JobPlan::plain(engine, 1 << 20);
        job.depth.depth = depth;
        Plan { jobs: vec![job], global_options: Vec::new() }
    }

    fn told(plan: &Plan) -> Vec<Told> {
        let mut findings = Findings::default();
        lint(&Lint { plan, specs: &[] }, &mut findings);
        findings.told().to_vec()
    }

    #[test]
    fn told_on_a_synchronous_engine_only() {
        let found = told(&plan(EnginePlan::Psync, 32));
        assert_eq!(found.len(), 1);
        assert!(found[0].finding.what.contains("iodepth=32"));
        assert!(found[0].finding.mend.contains("numjobs=32"));
        assert!(told(&plan(EnginePlan::Psync, 1)).is_empty());
        let uring = EnginePlan::IoUring(fiord_plan::IoUringPlan::default());
        assert!(told(&plan(uring, 32)).is_empty());
    }

    #[test]
    fn told_once_for_all_instances_of_a_section() {
        let mut plan = plan(EnginePlan::Psync, 4);
        let mut second = plan.jobs[0].clone();
        second.identity.instance = 1;
        plan.jobs.push(second);
        assert_eq!(told(&plan).len(), 1);
    }
}
