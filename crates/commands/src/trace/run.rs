//! `fiord trace`, from its arguments to its end.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use fiord_formats::trace::{TraceEvent, TraceIo, TraceTarget};
use fiord_sys::file::FileGuard;
use fiord_types::Bytes;

use super::approximate::{self, Approximation};
use super::args::TraceArgs;
use super::error::TraceCommandError;
use super::open::TraceFiles;
use super::profile::{IoCount, TraceProfile};
use super::summary::{TargetSummary, TraceSummary};
use super::{job_file, json, table};
use crate::session::{CommandEnd, CommandFormat, Session};

/// Targets that get a job of their own.
const JOBS: usize = 8;

/// Summarizes a trace.
///
/// # Errors
/// The trace cannot be read, or the job file cannot be written.
pub fn run(args: &TraceArgs, session: &mut Session) -> Result<CommandEnd, TraceCommandError> {
    let files = TraceFiles::of(&args.file)?;
    let summary = read(&files, args)?;
    let jobs = match &args.job {
        Some(_) => jobs(&files, args, &summary)?,
        None => Vec::new(),
    };
    if let Some(path) = &args.job {
        write(path, &job_file::text(&args.file, &summary, &jobs))?;
    }
    match args.format {
        CommandFormat::Table => {
            session.print(&table::text(&args.file, &summary, &jobs, args.job.as_deref()))?;
        }
        CommandFormat::Json => session.print_document(&json::text(&args.file, &summary, &jobs))?,
    }
    Ok(CommandEnd::Done)
}

fn read(files: &TraceFiles, args: &TraceArgs) -> Result<TraceSummary, TraceCommandError> {
    let failed = |source| TraceCommandError::Trace { path: args.file.clone(), source };
    let mut reader = files.open(args)?;
    let mut profile = TraceProfile::default();
    let mut targets: Vec<TargetSummary> = Vec::new();
    while let Some(event) = reader.next_event().map_err(failed)? {
        match &event {
            TraceEvent::Target(_, name) => {
                let (name, count) = (name.clone(), IoCount::default());
                targets.push(TargetSummary { name, count, end: Bytes::ZERO });
            }
            TraceEvent::Io(io) => {
                let target = &mut targets[io.target.index()];
                target.count.add(io.len);
                target.end = target.end.max(io.offset + io.len);
            }
            _ => {}
        }
        profile.event(&event);
    }
    let notes = reader.notes().clone();
    Ok(TraceSummary { format: reader.format(), profile, targets, notes })
}

/// The jobs that approximate the trace: those of its most active targets, if it can be read a second time.
fn jobs(
    files: &TraceFiles,
    args: &TraceArgs,
    summary: &TraceSummary,
) -> Result<Vec<Approximation>, TraceCommandError> {
    if summary.profile.transfers().ios() == 0 {
        return Err(TraceCommandError::NoIo { path: args.file.clone() });
    }
    let active = |target: &&TargetSummary| target.count.ios() > 0;
    if summary.targets.iter().filter(active).count() == 1 || !files.can_repeat() {
        let target = summary.targets.iter().find(active);
        let filename = target.map_or("trace.data".into(), |target| job_file::path(&target.name));
        return Ok(approximate::approximate(&summary.profile, "trace", &filename)?);
    }
    let mut order: Vec<usize> = (0..summary.targets.len()).collect();
    order.sort_by_key(|target| std::cmp::Reverse(summary.targets[*target].count.ios()));
    order.truncate(JOBS);
    let mut profiles: HashMap<usize, TraceProfile> = HashMap::new();
    let failed = |source| TraceCommandError::Trace { path: args.file.clone(), source };
    let mut reader = files.open(args)?;
    while let Some(event) = reader.next_event().map_err(failed)? {
        let target = match &event {
            TraceEvent::Io(TraceIo { target, .. }) | TraceEvent::Merged(target) => *target,
            TraceEvent::Completed(done) => done.target,
            _ => continue,
        };
        if order.contains(&target.index()) {
            profiles.entry(target.index()).or_default().event(&event);
        }
    }
    let mut all = Vec::new();
    for target in order {
        let Some(profile) = profiles.get(&target) else { continue };
        let name = &summary.targets[target].name;
        let job = job_file::job_name(name, TraceTarget::new(target as u32));
        all.extend(approximate::approximate(profile, &job, &job_file::path(name))?);
    }
    Ok(all)
}

fn write(path: &Path, text: &str) -> Result<(), TraceCommandError> {
    let failed = |source| TraceCommandError::WriteJob { path: path.to_path_buf(), source };
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let mut file = FileGuard::typed().replace(path).map_err(|error| failed(error.into()))?;
    file.write_all(text.as_bytes()).map_err(failed)
}
