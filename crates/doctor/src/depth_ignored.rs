//! `depth-ignored`: a depth above 1 on an engine that completes each I/O before the next.
//!
//! The user asked for many I/Os at a time and gets one, so the number is that of depth 1. The
//! remedy is an engine that queues, or as many jobs.

use fiord_plan::{EnginePlan, JobPlan, Plan};
use fiord_stat::finding::{Finding, Severity};

use crate::Check;

/// The declaration.
pub const CHECK: Check = Check {
    id: "depth-ignored",
    about: "iodepth above 1 on a synchronous engine, which has one I/O in flight at a time",
    lint,
};

fn lint(plan: &Plan) -> Vec<Finding> {
    // Instances of one section are alike: told once.
    let first_of_section = plan.jobs.iter().filter(|job| job.identity.instance == 0);
    first_of_section.filter_map(finding).collect()
}

fn finding(job: &JobPlan) -> Option<Finding> {
    if job.pace.offload {
        return None;
    }
    let engine = synchronous(&job.engine)?;
    let depth = job.depth.depth;
    if depth <= 1 {
        return None;
    }
    let name = &job.identity.name;
    Some(Finding {
        id: CHECK.id.into(),
        severity: Severity::Suspect,
        job: Some(name.clone()),
        what: format!("job {name} asks for iodepth={depth} but has one I/O in flight at a time"),
        evidence: format!("ioengine={engine} completes each I/O before it takes the next"),
        mend: format!("ioengine=io_uring with iodepth={depth}, or numjobs={depth} with iodepth=1"),
    })
}

/// The name of an engine that has one I/O in flight at a time.
fn synchronous(engine: &EnginePlan) -> Option<&'static str> {
    match engine {
        EnginePlan::Psync => Some("psync"),
        EnginePlan::Sync => Some("sync"),
        EnginePlan::Vsync => Some("vsync"),
        EnginePlan::Pvsync => Some("pvsync"),
        EnginePlan::Pvsync2 { .. } => Some("pvsync2"),
        EnginePlan::Mmap { .. } => Some("mmap"),
        EnginePlan::Libaio { .. }
        | EnginePlan::IoUring(_)
        | EnginePlan::Null
        | EnginePlan::Sim(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(engine: EnginePlan, depth: u32) -> Plan {
        let mut job = JobPlan::plain(engine, 1 << 20);
        job.depth.depth = depth;
        Plan { jobs: vec![job], global_options: Vec::new() }
    }

    #[test]
    fn told_on_a_synchronous_engine_only() {
        let found = lint(&plan(EnginePlan::Psync, 32));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("iodepth=32"));
        assert!(found[0].mend.contains("numjobs=32"));
        assert!(lint(&plan(EnginePlan::Psync, 1)).is_empty());
        let uring = EnginePlan::IoUring(fiord_plan::IoUringPlan::default());
        assert!(lint(&plan(uring, 32)).is_empty());
    }

    #[test]
    fn told_once_for_all_instances_of_a_section() {
        let mut plan = plan(EnginePlan::Psync, 4);
        let mut second = plan.jobs[0].clone();
        second.identity.instance = 1;
        plan.jobs.push(second);
        assert_eq!(lint(&plan).len(), 1);
    }
}
