//! What introduces the jobs before a run.

use fiord_job::option::handle::WordEnum;
use fiord_job::option::table::THREAD;
use fiord_job::spec::JobSpec;
use fiord_plan::{BlockSize, JobPlan, Mix, Plan};
use fiord_stat::progress::{HeaderKind, JobHeader};
use fiord_stat::report::NumberStyle;
use fiord_types::{Bytes, Dir, PerDir};

/// The data of the lines before a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Introduction {
    /// The sections with jobs, and how their numbers are printed.
    pub jobs: Vec<(JobHeader, NumberStyle)>,
    /// For each job instance, in the order of the plan: its place in `jobs`.
    pub sections: Vec<usize>,
    /// Number of jobs that ask for a thread (`thread`).
    pub threads: u32,
    /// Number of the other jobs. They too run as threads; the word is fio's.
    pub processes: u32,
}

impl Introduction {
    /// The introduction of a plan. `specs`: its jobs as written.
    pub(crate) fn of(plan: &Plan, specs: &[JobSpec]) -> Self {
        let asks =
            |job: &&JobPlan| specs.get(job.identity.section).is_some_and(|spec| spec.get(THREAD));
        let threads = plan.jobs.iter().filter(asks).count();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let first = plan.jobs.iter().filter(|job| job.identity.instance == 0);
        let known: Vec<usize> = first.clone().map(|job| job.identity.section).collect();
        let place = |job: &JobPlan| known.iter().position(|of| *of == job.identity.section);
        Introduction {
            jobs: first.map(|job| (header(job), style(job))).collect(),
            sections: plan.jobs.iter().filter_map(place).collect(),
            threads: count(threads),
            processes: count(plan.jobs.len() - threads),
        }
    }
}

fn style(job: &JobPlan) -> NumberStyle {
    NumberStyle {
        figures: u32::from(job.reporting.significant_figures),
        kb_base: job.reporting.kb_base,
        bits: job.reporting.unit_base == 1,
    }
}

fn header(job: &JobPlan) -> JobHeader {
    JobHeader {
        name: job.identity.name.clone(),
        group_id: job.identity.group,
        kind: match (job.engine.cpu_load(), job.engine.program()) {
            (Some(plan), _) => HeaderKind::Cpu {
                engine: job.engine.def().name.to_owned(),
                mode: plan.mode.word().to_owned(),
                load: plan.load_percent.get().into(),
                chunk: plan.chunk,
            },
            (None, Some(plan)) => HeaderKind::Program {
                program: plan.program.clone(),
                arguments: plan.arguments.join(" "),
                output: plan.output.clone(),
            },
            (None, None) => io(job),
        },
        members: job.identity.instances,
    }
}

/// The kind of a job that does I/O.
fn io(job: &JobPlan) -> HeaderKind {
    let seq_rand = job.load.seq_rand.as_deref();
    let bs = PerDir::from_fn(|dir| {
        let block: &BlockSize = match (seq_rand, dir) {
            (Some(both), Dir::Read) => &both.sequential,
            (Some(both), Dir::Write) => &both.random,
            _ => &job.load.blocks[dir],
        };
        (Bytes(block.min().into()), Bytes(block.max().into()))
    });
    HeaderKind::Io {
        rw: rw(job).to_owned(),
        bs,
        seq_rand: seq_rand.is_some(),
        engine: job.engine.def().name.to_owned(),
        iodepth: job.depth.depth,
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
        (Mix::Trace { reads: true, writes: true, .. }, _) => "rw",
        (Mix::Trace { reads: true, .. }, _) => "read",
        (Mix::Trace { writes: true, .. }, _) => "write",
        (Mix::Trace { .. }, _) => "trim",
    }
}
