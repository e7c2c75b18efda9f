//! The files of a job that works on names and opens none of them.

use std::io::ErrorKind;
use std::path::Path;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::FILENAME;

use crate::files::paths;
use crate::files::region::{Extent, Region};
use crate::files::usage::Candidate;
use crate::machine::facts::FoundKind;
use crate::machine::survey::Survey;
use crate::model::{EngineAccess, FileKind, NameCall};
use crate::options::reading::Reading;

/// The kind and the extent of what has a name. `None`: the job cannot use the name, and a message says why.
pub(crate) fn target(candidate: Candidate, survey: &mut Survey) -> Option<(FileKind, Extent)> {
    extent(candidate, survey).map(|extent| (FileKind::Name, extent))
}

fn extent(candidate: Candidate, survey: &mut Survey) -> Option<Extent> {
    let Candidate { job, path, usage } = candidate;
    let call = usage.engine.access.name_call()?;
    let found = match survey.look(path) {
        Ok(found) => found,
        Err(e) if e.kind == ErrorKind::NotFound => {
            let planned = survey.planned(path);
            if planned.is_none() && !call.creates() {
                paths::may_create(candidate)?;
            }
            return Some(Extent::Growable(planned));
        }
        Err(e) => {
            job.report(paths::cannot_look(job, path, &e));
            return None;
        }
    };
    match found.kind {
        FoundKind::Directory if call.on_directories() => Some(Extent::Growable(Some(0))),
        FoundKind::Regular if !call.on_directories() => Some(Extent::Growable(Some(found.size))),
        FoundKind::Block | FoundKind::Char | FoundKind::Pipe if call == NameCall::StatFile => {
            Some(Extent::Endless)
        }
        kind => {
            job.report(other_kind(job, path, call, kind));
            None
        }
    }
}

/// The region of a file for an engine. Names that the job creates need no files before the run, and directories have no
/// size.
pub(super) fn region(region: Region, access: EngineAccess) -> Region {
    match access.name_call() {
        Some(call) if call.creates() || call.on_directories() => Region { needed: None, ..region },
        _ => region,
    }
}

/// The error for a name of something that the job does not work on.
fn other_kind(job: Reading, path: &Path, call: NameCall, kind: FoundKind) -> Diagnostic {
    let shown = path.display();
    let wanted = match call.on_directories() {
        true => "a directory",
        false => "a regular file",
    };
    let is = kind.in_words();
    job.error(FILENAME, format!("`{shown}` is {is}, not {wanted}"))
        .help("To fix: use another name or another engine")
}
