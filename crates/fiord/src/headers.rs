//! Formats the lines that introduce the jobs before a run.

use fiord_job::option::table::THREAD;
use fiord_job::spec::JobSpec;
use fiord_plan::{BlockSize, JobPlan, Mix, Plan};
use fiord_report::header;
use fiord_stat::progress::{HeaderKind, JobHeader};
use fiord_stat::report::NumberStyle;
use fiord_types::PerDir;

/// Formats the introductions of all jobs, the version, and the number of jobs.
pub fn text(plan: &Plan, specs: &[JobSpec], version: &str) -> String {
    let mut text = String::new();
    for job in plan.jobs.iter().filter(|job| job.identity.instance == 0) {
        let style = NumberStyle {
            figures: u32::from(job.reporting.significant_figures),
            kb_base: job.reporting.kb_base,
            bits: job.reporting.unit_base == 1,
        };
        text.push_str(&header::job(&introduction(job), style));
    }
    text.push_str(version);
    text.push('\n');
    let asked_threads =
        |job: &&JobPlan| specs.get(job.identity.section).is_some_and(|spec| spec.get(THREAD));
    let threads = plan.jobs.iter().filter(asked_threads).count();
    let processes = plan.jobs.len() - threads;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    text.push_str(&header::starting(count(threads), count(processes)));
    text
}

fn introduction(job: &JobPlan) -> JobHeader {
    let bs = PerDir::from_fn(|dir| {
        let block: &BlockSize = &job.load.blocks[dir];
        (u64::from(block.min()), u64::from(block.max()))
    });
    JobHeader {
        name: job.identity.name.clone(),
        group_id: job.identity.group,
        kind: HeaderKind::Io {
            rw: rw(job).to_owned(),
            bs,
            seq_rand: false,
            engine: job.engine.def().name.to_owned(),
            iodepth: job.depth.depth,
        },
        members: job.identity.instances,
    }
}

/// Returns the value of `rw` that describes a job.
fn rw(job: &JobPlan) -> &'static str {
    match (job.load.mix, job.load.random) {
        (Mix::Read, false) => "read",
        (Mix::Read, true) => "randread",
        (Mix::Write, false) => "write",
        (Mix::Write, true) => "randwrite",
        (Mix::Trim, false) => "trim",
        (Mix::Trim, true) => "randtrim",
        (Mix::ReadWrite { .. }, false) => "rw",
        (Mix::ReadWrite { .. }, true) => "randrw",
        (Mix::TrimWrite, false) => "trimwrite",
        (Mix::TrimWrite, true) => "randtrimwrite",
    }
}
