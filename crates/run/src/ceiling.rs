//! The ceiling of a run (`--ceiling`): the rate that its jobs reach if storage takes no time. It runs the same
//! load at the same depth, with the same contents and measurements, on `ioengine=null` for a short time.
//!
//! These jobs open no file and do nothing before, after or around their I/O. Their plans therefore start empty
//! and copy only the necessary parts of the original plans.

use std::sync::Arc;

use fiord_plan::{EnginePlan, FileKind, FilePlan, JobPlan, Plan, Unified};
use fiord_stat::report::{Ceiling, DirKind, GeneratorReport, JobReport, Report};
use fiord_types::Nanos;

use crate::conductor::{NoInterrupts, RunOptions, run};
use crate::events::EventSender;

/// Run time of each job, ns.
const MOMENT: u64 = 200_000_000;

/// Runs all jobs of `plan` on `ioengine=null`, and adds to the report what each group reached there and in the
/// run itself. Leaves out groups with simulated devices, because their virtual time is not comparable.
pub fn measure(plan: &Plan, options: &RunOptions, report: &mut Report) {
    let jobs = plan.jobs.iter().map(shape).collect();
    let shapes = Arc::new(Plan { jobs, global_options: Vec::new() });
    let quiet = RunOptions {
        progress: None,
        status: None,
        debug: None,
        gate: None,
        keep_data: false,
        ..options.clone()
    };
    let outcome = run(shapes, &quiet, &EventSender::ignored(), &mut NoInterrupts, &mut || {});
    let simulated = |group: u32| {
        let of_group = |job: &&JobPlan| job.identity.group == group;
        plan.jobs.iter().filter(of_group).any(|job| job.engine.def().virtual_time)
    };
    let mut groups: Vec<u32> = plan.jobs.iter().map(|job| job.identity.group).collect();
    groups.dedup();
    let ceiling = |group_id: u32| Ceiling {
        group_id,
        iops: iops(&outcome.report, group_id),
        reached: iops(report, group_id),
    };
    let ceilings = groups.into_iter().filter(|group| !simulated(*group)).map(ceiling);
    let ceilings: Vec<Ceiling> = ceilings.filter(|ceiling| ceiling.iops > 0.0).collect();
    report.extras.generator.get_or_insert_with(GeneratorReport::default).ceilings = ceilings;
}

/// The plan of a job on `ioengine=null`, with only its load.
fn shape(job: &JobPlan) -> JobPlan {
    let mut shape = JobPlan::plain(EnginePlan::Null, job.target.region().0);
    let virtual_file = |file: &FilePlan| FilePlan {
        kind: FileKind::Virtual,
        size_now: None,
        size_needed: None,
        ..file.clone()
    };
    shape.identity = job.identity.clone();
    shape.start.stonewall = job.start.stonewall;
    shape.start.wait_for = job.start.wait_for.clone();
    shape.end.time_based = true;
    shape.end.runtime = Some(Nanos(MOMENT));
    shape.target.files = job.target.files.iter().map(virtual_file).collect();
    shape.target.open_files = job.target.open_files;
    shape.target.service = job.target.service;
    shape.load = job.load.clone();
    shape.load.zoned = None;
    shape.content = job.content.clone();
    shape.crc = job.crc;
    shape.depth = job.depth;
    if !job.engine.def().in_flight.uses_depth() && !job.pace.offload {
        shape.depth.depth = 1;
    }
    shape.process.cpus = job.process.cpus.clone();
    shape.process.mem_policy = job.process.mem_policy.clone();
    shape.process.memory_align = job.process.memory_align;
    shape.record = job.record.clone();
    shape.reporting.stats = job.reporting.stats;
    shape.reporting.unified = Unified::None;
    shape
}

/// I/Os per second of all jobs of a group together.
fn iops(report: &Report, group: u32) -> f64 {
    let of_job = |job: &JobReport| -> f64 {
        let single = job.dirs.iter().filter(|dir| dir.kind != DirKind::Mixed);
        let apart: f64 = single.map(|dir| dir.iops).sum();
        let mixed = job.dirs.iter().find(|dir| dir.kind == DirKind::Mixed);
        mixed.map_or(apart, |dir| dir.iops)
    };
    report.jobs.iter().filter(|job| job.group_id == group).map(of_job).sum()
}

#[cfg(test)]
mod tests {
    use fiord_plan::{Mix, SimPlan};
    use fiord_types::JobIndex;

    use super::*;

    #[test]
    fn the_ceiling_uses_the_effective_depth_of_the_job() {
        let depth = |engine, offload| {
            let mut job = job(engine, 0);
            job.depth.depth = 8;
            job.pace.offload = offload;
            shape(&job).depth.depth
        };
        assert_eq!(depth(EnginePlan::Psync, false), 1);
        assert_eq!(depth(EnginePlan::Psync, true), 8);
        assert_eq!(depth(EnginePlan::Null, false), 8);
    }

    fn job(engine: EnginePlan, group: u32) -> JobPlan {
        let mut job = JobPlan::plain(engine, 1 << 20);
        job.identity.group = group;
        job.reporting.stats = true;
        job
    }

    #[test]
    fn each_group_is_measured_without_its_target() {
        let mut first = job(EnginePlan::Psync, 0);
        first.target.files[0].kind = FileKind::Regular;
        first.target.files[0].path = "/nowhere/at/all".into();
        first.load.mix = Mix::Write;
        first.start.prerun = Some("exit 1".into());
        let mut jobs = vec![first.clone(), first, job(EnginePlan::Null, 1)];
        jobs[2].start.stonewall = true;
        jobs.push(job(EnginePlan::Sim(SimPlan { options: Vec::new(), ..SimPlan::default() }), 2));
        for (index, job) in jobs.iter_mut().enumerate() {
            job.identity.index = JobIndex(index);
        }
        let plan = Plan { jobs, global_options: Vec::new() };
        let options = RunOptions::new("fio-3.42 (test)");
        let mut report = Report::default();
        measure(&plan, &options, &mut report);
        let ceilings = report.extras.generator.unwrap().ceilings;
        let groups: Vec<u32> = ceilings.iter().map(|ceiling| ceiling.group_id).collect();
        assert_eq!(groups, [0, 1]);
        assert!(ceilings.iter().all(|ceiling| ceiling.iops > 1000.0 && ceiling.reached == 0.0));
    }
}
