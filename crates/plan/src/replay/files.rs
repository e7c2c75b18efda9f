//! The files and devices on which a trace is replayed.

use std::collections::HashMap;
use std::path::PathBuf;

use fiord_formats::trace::TraceName;
use fiord_job::option::table::sim::SIM_SIZE;
use fiord_job::option::table::{READ_IOLOG, REPLAY_BEYOND, REPLAY_REDIRECT, ReplayBeyond};
use fiord_types::{Bytes, Dir, FileIndex};

use super::ScannedTrace;
use super::map::MapOption;
use super::scan::NameUse;
use crate::files::region::{Extent, MAX_FILE};
use crate::files::usage::{Candidate, Usage};
use crate::files::{harm, paths};
use crate::machine::survey::Survey;
use crate::model::{FileKind, FilePlan, Mix, ReplayFit, ReplayPlan, ReplayTargets};
use crate::options::reading::Reading;

/// The files of a job that replays a trace. Completes the plan of its replay.
pub(crate) fn files(
    job: Reading,
    trace: &ScannedTrace,
    usage: Usage,
    survey: &mut Survey,
) -> (Vec<FilePlan>, ReplayPlan) {
    let mut plan = trace.plan.clone();
    let mut files = Vec::new();
    let stream = trace.scan.is_stream;
    let used = |name: &&NameUse| !name.skipped && (stream || name.is_used());
    if let Some(path) = job.get(REPLAY_REDIRECT).filter(|path| !path.is_empty()) {
        let all = together(trace.scan.names.iter().filter(used));
        let path = PathBuf::from(path);
        if let Some((file, fit)) = file(job, path, &all, stream, usage, survey) {
            files.push(file);
            plan.targets = ReplayTargets::One(fit);
        }
        return (files, plan);
    }
    let map = MapOption::read(job);
    let mut paths: Vec<(PathBuf, Vec<&NameUse>)> = Vec::new();
    let mut index_of = HashMap::new();
    let mut of_names = Vec::with_capacity(trace.scan.names.len());
    for name in &trace.scan.names {
        let index = used(&name).then(|| path_of(job, &name.name, &map, survey)).flatten();
        let index = index.map(|path| {
            let next = paths.len();
            let index = *index_of.entry(path.clone()).or_insert(next);
            if index == next {
                paths.push((path, Vec::new()));
            }
            paths[index].1.push(name);
            index
        });
        of_names.push((name.name.clone(), index));
    }
    let mut fits = Vec::with_capacity(paths.len());
    for (path, names) in paths {
        let all = together(names.into_iter());
        let Some((file, fit)) = file(job, path, &all, stream, usage, survey) else {
            return (files, plan);
        };
        files.push(file);
        fits.push(fit);
    }
    if files.is_empty() && job.messages.error_count() == 0 {
        let what = "the beginning of the trace names no file";
        let help = "To fix: say with `replay_redirect` where to replay it";
        job.report(job.error(READ_IOLOG, what).help(help));
    }
    let target = |index: Option<usize>| index.map(|index| (FileIndex(index as u32), fits[index]));
    let named = of_names.into_iter().map(|(name, index)| (name, target(index)));
    plan.targets = ReplayTargets::Named(named.collect());
    (files, plan)
}

/// How several files of a trace use the one on which all are replayed.
fn together<'a>(names: impl Iterator<Item = &'a NameUse>) -> NameUse {
    let mut names = names.cloned();
    let mut all = names.next().unwrap_or_else(NameUse::unused);
    for name in names {
        Dir::ALL.into_iter().for_each(|dir| all.has[dir] |= name.has[dir]);
        all.syncs |= name.syncs;
        all.end = all.end.max(name.end);
        all.read_end = all.read_end.max(name.read_end);
    }
    all
}

/// The path on which a file of the trace is replayed. `None`: a message says why there is none.
fn path_of(job: Reading, name: &TraceName, map: &MapOption, survey: &Survey) -> Option<PathBuf> {
    if let Some(path) = map.path(name) {
        return Some(path.to_owned());
    }
    let (what, old) = match name {
        TraceName::Path(path) => return Some(PathBuf::from(path)),
        TraceName::Device { major, minor } => match survey.facts.block_device(*major, *minor) {
            Some(path) => return Some(path),
            None => (
                format!(
                    "the trace has I/Os of device {major}:{minor}, which this machine does not have"
                ),
                format!("{major}:{minor}"),
            ),
        },
        TraceName::Volume(name) => {
            (format!("the trace has I/Os of `{name}`, which is not a path"), name.clone())
        }
    };
    let help = format!(
        "To fix: name the target of all I/Os with `replay_redirect`, or that of this one with \
         `replay_map={old}:/dev/…`, or skip its I/Os with `replay_map={old}:`"
    );
    job.report(job.error(READ_IOLOG, what).help(help));
    None
}

/// Plans one file.
fn file(
    job: Reading,
    path: PathBuf,
    name: &NameUse,
    stream: bool,
    usage: Usage,
    survey: &mut Survey,
) -> Option<(FilePlan, ReplayFit)> {
    // What a stream does later is not known.
    let has = |dir| name.has[dir] || stream && usage.mix.has(dir);
    let mix = Mix::Trace { reads: has(Dir::Read), writes: has(Dir::Write), trims: has(Dir::Trim) };
    let usage = Usage { mix, trims: mix.has(Dir::Trim), ..usage };
    let candidate = Candidate { job, path: &path, usage };
    let (kind, extent) = paths::kind_of(candidate, survey)?;
    let now = extent.size_now();
    let space = match job.get(SIM_SIZE).0 {
        0 => extent,
        size => Extent::Fixed(size),
    };
    let fit = match space {
        Extent::Fixed(size) => fit(candidate, name, Bytes(size))?,
        Extent::Growable(_) | Extent::Endless => ReplayFit::default(),
    };
    let grows = kind == FileKind::Regular && name.read_end > Bytes(now.unwrap_or(0));
    let needed = grows.then_some(name.read_end);
    if usage.readonly && grows {
        let what = format!(
            "`{}` has {} bytes, and the trace reads up to {}; --readonly does not extend it",
            path.display(),
            now.unwrap_or(0),
            name.read_end
        );
        job.report(job.error(READ_IOLOG, what).help("To fix: leave out --readonly"));
        return None;
    }
    if harm::refuse(candidate, kind, extent, grows, survey) {
        return None;
    }
    let extends = harm::extends(candidate, kind, needed, survey);
    if let Some(size) = needed {
        survey.plan(&path, size.0);
    }
    let len = match space {
        // The offsets of a stream are checked against this while it is read.
        Extent::Fixed(size) if stream => Bytes(size),
        _ if stream => Bytes(MAX_FILE),
        Extent::Fixed(size) => name.end.min(Bytes(size)),
        Extent::Growable(_) | Extent::Endless => name.end,
    };
    let file = FilePlan {
        path,
        kind,
        offset: Bytes::ZERO,
        len,
        beyond: Bytes::ZERO,
        size_now: now.map(Bytes),
        size_needed: needed,
        extends: Bytes(extends),
        zones: None,
    };
    Some((file, fit))
}

/// How the offsets of a trace are changed so that they lie on a device of `size` bytes. `None`: a message says why
/// they do not.
fn fit(candidate: Candidate, name: &NameUse, size: Bytes) -> Option<ReplayFit> {
    let Candidate { job, path, usage } = candidate;
    let end = name.end;
    if end <= size {
        return Some(ReplayFit::default());
    }
    let shown = path.display();
    let what = format!("the trace has I/Os up to offset {end}, and `{shown}` has {size} bytes");
    if job.get(REPLAY_BEYOND) == ReplayBeyond::Refuse || Bytes::from(usage.largest) > size {
        let factor = end.0.div_ceil(size.0.max(1));
        job.report(job.error(READ_IOLOG, what).help(format!(
            "To fix: use a larger target, divide the offsets (`replay_scale={factor}` with `replay_align`), or let \
             fiord reduce them (`replay_beyond=scale`)"
        )));
        return None;
    }
    job.report(job.adjusted(
        REPLAY_BEYOND,
        format!("{what}: all its offsets are multiplied by {:.4}", size.0 as f64 / end.0 as f64),
    ));
    let grid = Bytes(u64::from(usage.access.block.max(1)).next_power_of_two().min(4096));
    Some(ReplayFit { scaled: Some((end, size)), grid })
}
