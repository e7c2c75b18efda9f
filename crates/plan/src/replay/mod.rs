//! Recorded I/Os: the trace that a job replays (`read_iolog`), and the log of its own I/Os (`write_iolog`).
//!
//! | question | module |
//! |---|---|
//! | where is the trace, and what do the options say? | `options` |
//! | what does the trace contain? | `scan` |
//! | on which files are its I/Os replayed? | `files` |
//! | which file takes the place of which one of the trace? | `map` |

mod files;
mod map;
mod options;
mod scan;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use fiord_job::option::table::{IODEPTH, WRITE_IOLOG, WRITE_IOLOG_AT, WriteIologAt};
use fiord_types::{Bytes, Dir, PerDir};

pub(crate) use files::files;
pub use options::merges;

use crate::machine::survey::Survey;
use crate::model::{BlockSize, IologPlan, JobPlan, Mix, ReplayPlan};
use crate::options::reading::Reading;
use scan::Scan;

/// The traces of a section, without the files of the instances.
pub(crate) struct Traces {
    /// One for each path of `read_iolog`. The instances take them in turn.
    all: Vec<ScannedTrace>,
}

/// A trace and how it is replayed.
pub(crate) struct ScannedTrace {
    /// Plan of the trace without its targets.
    plan: ReplayPlan,
    scan: Scan,
}

/// Reads the options of a replay and the traces. `None`: the job replays nothing, or a message says why it cannot.
pub(crate) fn traces(
    job: Reading,
    instances: u32,
    survey: &Survey,
    readonly: bool,
) -> Option<Traces> {
    let inputs = options::inputs(job, instances, survey)?;
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        let mut plan = options::plan(job, input);
        let scan = scan::scan(job, &mut plan, survey, readonly)?;
        all.push(ScannedTrace { plan, scan });
    }
    Some(Traces { all })
}

impl Traces {
    /// The directions of the I/Os.
    pub(crate) fn mix(&self) -> Mix {
        let has = |dir| self.all.iter().any(|trace| trace.scan.has(dir));
        Mix::Trace { reads: has(Dir::Read), writes: has(Dir::Write), trims: has(Dir::Trim) }
    }

    /// The sizes of the I/Os. A direction without I/Os has the size of another one, so that it decides nothing.
    pub(crate) fn blocks(&self) -> PerDir<BlockSize> {
        let of = |dir: Dir| self.all.iter().filter_map(move |trace| trace.scan.blocks[dir]);
        let some = Dir::ALL.into_iter().flat_map(of).min().unwrap_or((4096, 4096));
        PerDir::from_fn(|dir| {
            let min = of(dir).map(|(min, _)| min).min().unwrap_or(some.0);
            let max = of(dir).map(|(_, max)| max).max().unwrap_or(some.0);
            if min == max { BlockSize::Fixed(min) } else { BlockSize::Range { min, max } }
        })
    }

    pub(crate) fn of(&self, instance: u32) -> &ScannedTrace {
        &self.all[instance as usize % self.all.len()]
    }
}

/// Changes what other options say about a job that replays a trace.
pub(crate) fn finish(job: Reading, trace: &ScannedTrace, plan: &mut JobPlan) {
    let Some(replay) = &mut plan.replay else { return };
    // As in fio, a trace is replayed once.
    (plan.end.loops, plan.end.time_based, plan.end.ios) = (1, false, None);
    plan.pace.rate = PerDir::all(None);
    // A file of the trace may be used at any time.
    plan.target.open_files = u32::try_from(plan.target.files.len()).unwrap_or(u32::MAX);
    let contents = trace.plan.contents.as_ref();
    plan.end.bytes = contents.map_or(Bytes(u64::MAX), |contents| {
        contents.bytes.values().fold(Bytes::ZERO, |sum, bytes| sum.saturating_add(*bytes))
    });
    let engine = plan.engine.def();
    // As in fio, a block trace says how deep the queue is, unless the job does.
    if !job.is_set(IODEPTH)
        && !engine.is_synchronous()
        && let Some(depth) = contents.and_then(|contents| contents.depth)
    {
        plan.depth.depth = depth.clamp(1, options::DEEPEST);
    }
    replay.durable_flag = engine.durable_writes();
    let load = &mut plan.load;
    (load.fsync, load.fdatasync, load.write_barrier, load.sync_file_range) = (0, 0, 0, None);
}

/// Reads `write_iolog`.
pub(crate) fn iolog(job: Reading) -> Option<IologPlan> {
    let path = job.get(WRITE_IOLOG).filter(|path| !path.is_empty())?;
    let at_completion = job.get(WRITE_IOLOG_AT) == WriteIologAt::Completion;
    Some(IologPlan { path: PathBuf::from(path), at_completion })
}

/// Refuses logs of I/Os (`write_iolog`) that would replace a target of the run.
pub(crate) fn refuse_logs_on_targets(jobs: &[Reading], plans: &[JobPlan]) {
    let plain = |path: &Path| path.components().filter(|part| *part != Component::CurDir).collect();
    let logged = plans.iter().filter_map(|plan| Some((plan, &plan.iolog.as_ref()?.path)));
    let mut logs: HashMap<PathBuf, usize> = HashMap::new();
    for (plan, path) in logged {
        logs.entry(plain(path)).or_insert(plan.identity.section);
    }
    if logs.is_empty() {
        return;
    }
    for file in plans.iter().flat_map(|plan| &plan.target.files).filter(|file| file.kind.has_path())
    {
        if let Some(section) = logs.remove(&plain(&file.path)) {
            let what =
                format!("the log would replace `{}`, a target of this run", file.path.display());
            let job = jobs[section];
            job.report(job.error(WRITE_IOLOG, what).help("To fix: write the log to another file"));
        }
    }
}
