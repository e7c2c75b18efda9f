//! The options of a replay: where the trace is, and what is changed in it.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use fiord_formats::trace::TraceKind;
use fiord_formats::trace::blktrace::CpuFileName;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{
    MERGE_BLKTRACE_FILE, MERGE_BLKTRACE_ITERS, MERGE_BLKTRACE_SCALARS, READ_IOLOG, REPLAY_ALIGN,
    REPLAY_INVALID, REPLAY_NO_STALL, REPLAY_SCALE, REPLAY_SKIP, REPLAY_TIME_SCALE, ReplayInvalid,
    ReplaySkip, VERIFY, Verify, ZONEMODE, ZoneMode,
};
use fiord_job::spec::JobSpec;
use fiord_types::Errno;

use crate::machine::facts::{Facts, FoundKind};
use crate::machine::survey::Survey;
use crate::model::{
    MergePlan, MergedTrace, ReplayFit, ReplayPlan, ReplayTargets, TraceInput, TraceStream,
};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use crate::replay::scan;

/// The largest depth that a trace sets.
pub(super) const DEEPEST: u32 = 4096;
/// Maximum number of CPUs whose files of a block trace are looked for.
const MAX_CPUS: u32 = 4096;
/// CPUs without a file after which the planner looks for no more.
const GAP: u32 = 64;

/// The traces that `--merge-blktrace-only` merges. Looks at no target of the jobs.
///
/// # Errors
/// A trace cannot be found, the options are wrong, or no job merges traces.
pub fn merges(specs: &[JobSpec], facts: &dyn Facts) -> Result<Vec<MergePlan>, Vec<Diagnostic>> {
    let messages = Messages::default();
    let survey = Survey::new(facts, None);
    let mut all: Vec<MergePlan> = Vec::new();
    let jobs = Reading::of_all(specs, &messages);
    for job in jobs.iter().copied().filter(|job| job.is_set(MERGE_BLKTRACE_FILE)) {
        let inputs = inputs(job, 1, &survey).unwrap_or_default();
        for input in inputs {
            if let TraceInput::Merged(merge) = input
                && !all.contains(&merge)
            {
                all.push(merge);
            }
        }
    }
    if all.is_empty()
        && messages.error_count() == 0
        && let Some(job) = jobs.first()
    {
        let what = "no job merges block traces, so `--merge-blktrace-only` has nothing to do";
        let help = "To fix: set `read_iolog` and `merge_blktrace_file`";
        job.report(job.error(MERGE_BLKTRACE_FILE, what).help(help));
    }
    let errors = messages.errors.take();
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

/// The traces that the instances of a job take in turn. `None`: the job replays nothing, or a message says why it
/// cannot.
pub(super) fn inputs(job: Reading, instances: u32, survey: &Survey) -> Option<Vec<TraceInput>> {
    let paths = job.get(READ_IOLOG).filter(|paths| !paths.is_empty())?;
    if let Some(file) = job.get(MERGE_BLKTRACE_FILE).filter(|file| !file.is_empty()) {
        let merge = merge(job, PathBuf::from(file), &paths, survey)?;
        return Some(vec![TraceInput::Merged(merge)]);
    }
    let used = paths.len().min(instances.max(1) as usize);
    if paths.len() > used {
        let what = format!(
            "only {used} of {} traces are replayed, one for each of {instances} instances",
            paths.len()
        );
        let help = format!("To fix: set `numjobs={}`", paths.len());
        job.report(job.warning(READ_IOLOG, what).help(help));
    }
    let mut inputs = Vec::with_capacity(used);
    for path in &paths[..used] {
        let alone = paths.len() == 1;
        let input = input(job, Path::new(path), alone, survey)?;
        if matches!(input, TraceInput::Stream(_)) && instances as usize > paths.len() {
            let what = format!("`{path}` can be read only once, and {instances} instances need it");
            let help = "To fix: write the trace to a file, or use `numjobs=1`";
            job.report(job.error(READ_IOLOG, what).help(help));
            return None;
        }
        inputs.push(input);
    }
    Some(inputs)
}

/// Reads the options of merging (`merge_blktrace_file`).
fn merge(job: Reading, file: PathBuf, paths: &[String], survey: &Survey) -> Option<MergePlan> {
    let scalars = job.get(MERGE_BLKTRACE_SCALARS).unwrap_or_else(|| vec![100.0; paths.len()]);
    let iterations = job.get(MERGE_BLKTRACE_ITERS).unwrap_or_else(|| vec![1.0; paths.len()]);
    for (option, count) in [
        (MERGE_BLKTRACE_SCALARS.def(), scalars.len()),
        (MERGE_BLKTRACE_ITERS.def(), iterations.len()),
    ] {
        if count != paths.len() {
            let what = format!("`{}` has {count} numbers for {} traces", option.name, paths.len());
            let help = "To fix: write one number for each trace, separated by colons";
            job.report(job.error(option, what).help(help));
            return None;
        }
    }
    let mut sources = Vec::with_capacity(paths.len());
    for ((path, scalar), iterations) in paths.iter().zip(scalars).zip(iterations) {
        let TraceInput::Files(files) = input(job, Path::new(path), true, survey)? else {
            let what = format!("`{path}` is not a file: a trace that is merged is read twice");
            job.report(job.error(READ_IOLOG, what).help("To fix: write the trace to a file"));
            return None;
        };
        if files.contains(&file) {
            let what = format!("`{}` is one of the traces to merge", file.display());
            let help = "To fix: write the merged trace to another file";
            job.report(job.error(MERGE_BLKTRACE_FILE, what).help(help));
            return None;
        }
        if scalar <= 0.0 {
            let what = "a trace that is scaled to 0 % of its duration has no order";
            let help = "To fix: write a number above 0; 50 halves the duration";
            job.report(job.error(MERGE_BLKTRACE_SCALARS, what).help(help));
            return None;
        }
        let whole = (iterations.fract() == 0.0).then_some(iterations as u32);
        let Some(iterations) = whole.and_then(NonZeroU32::new) else {
            let what = format!("`{iterations}` is not a number of iterations");
            job.report(job.error(MERGE_BLKTRACE_ITERS, what).help("To fix: write 1 or more"));
            return None;
        };
        sources.push(MergedTrace { files, scalar, iterations });
    }
    Some(MergePlan { file, sources })
}

/// The trace at a path. `alone`: it is the only one of the job.
fn input(job: Reading, path: &Path, alone: bool, survey: &Survey) -> Option<TraceInput> {
    let found = survey.facts.look(path);
    let stream = path == Path::new("-")
        || found
            .as_ref()
            .is_ok_and(|found| matches!(found.kind, FoundKind::Pipe | FoundKind::Char));
    if stream {
        let opened = survey.facts.open_trace(path).and_then(scan::head);
        return match opened {
            Ok(rest) => Some(TraceInput::Stream(TraceStream::new(path.to_owned(), rest))),
            Err(error) => {
                job.report(job.error(READ_IOLOG, cannot_read(path, &error)));
                None
            }
        };
    }
    match found {
        Ok(found) if found.kind == FoundKind::Directory => {
            let what = format!("cannot read the trace `{}`: it is a directory", path.display());
            job.report(job.error(READ_IOLOG, what).help("To fix: name a file"));
            None
        }
        Ok(_) => {
            // A trace of one CPU stands for that of all, unless each instance has one.
            let all = trace_of_one_cpu(path).filter(|_| alone).map(|all| of_all_cpus(&all, survey));
            let files = all.filter(|all| all.iter().any(|part| part == path));
            Some(TraceInput::Files(files.unwrap_or_else(|| vec![path.to_owned()])))
        }
        Err(error) => {
            let parts = of_all_cpus(path, survey);
            if parts.is_empty() {
                let help =
                    "To fix: check the path, or record a trace with `write_iolog` or blktrace";
                job.report(job.error(READ_IOLOG, cannot_read(path, &error)).help(help));
                return None;
            }
            Some(TraceInput::Files(parts))
        }
    }
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read the trace `{}`: {}", path.display(), Errno::explain(error))
}

/// The name of the block trace of which a path is the file of one CPU (`sda.blktrace.0`).
fn trace_of_one_cpu(path: &Path) -> Option<PathBuf> {
    let name = CpuFileName::parse(path.file_name()?.to_str()?)?;
    Some(path.with_file_name(name.trace))
}

/// The files of all CPUs of the block trace with this name.
fn of_all_cpus(path: &Path, survey: &Survey) -> Vec<PathBuf> {
    let mut parts = Vec::new();
    let mut last = 0;
    for cpu in 0..MAX_CPUS {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".blktrace.{cpu}"));
        let part = PathBuf::from(name);
        if survey.facts.look(&part).is_ok_and(|found| found.kind == FoundKind::Regular) {
            last = cpu;
            parts.push(part);
        } else if cpu - last > GAP {
            break;
        }
    }
    parts
}

/// The plan of a replay, without its targets.
pub(super) fn plan(job: Reading, input: TraceInput) -> ReplayPlan {
    let align = job.get(REPLAY_ALIGN).filter(|align| align.0 > 0);
    if let Some(align) = align.filter(|align| !align.0.is_power_of_two()) {
        let what = format!("`replay_align={align}` is not a power of two");
        job.report(job.error(REPLAY_ALIGN, what).help("To fix: write `replay_align=4k`"));
    }
    if job.get(ZONEMODE) != ZoneMode::None {
        let what = "a trace has its own offsets, which `zonemode` would change";
        job.report(job.error(ZONEMODE, what).help("To fix: leave out `zonemode`"));
    }
    if job.get(VERIFY) == Verify::Fiord {
        let what = "`verify=fiord` cannot verify a trace whose writes partly overlap";
        job.report(job.error(VERIFY, what).help("To fix: use `verify=crc32c`"));
    }
    let skips = job.get(REPLAY_SKIP).unwrap_or_default();
    let kinds = |skip: &ReplaySkip| match skip {
        ReplaySkip::Read => vec![TraceKind::Read],
        ReplaySkip::Write => vec![TraceKind::Write],
        ReplaySkip::Trim => vec![TraceKind::Trim],
        ReplaySkip::Sync => vec![TraceKind::Sync, TraceKind::DataSync],
    };
    ReplayPlan {
        input,
        skips_invalid: job.get(REPLAY_INVALID) == ReplayInvalid::Skip,
        timed: !job.get(REPLAY_NO_STALL),
        speed_percent: NonZeroU32::new(job.get(REPLAY_TIME_SCALE)).unwrap_or(NonZeroU32::MIN),
        divisor: NonZeroU32::new(job.get(REPLAY_SCALE)).unwrap_or(NonZeroU32::MIN),
        align: align.filter(|align| align.0.is_power_of_two()),
        skipped: skips.iter().flat_map(kinds).collect(),
        targets: ReplayTargets::One(ReplayFit::default()),
        durable_flag: false,
        contents: None,
    }
}
