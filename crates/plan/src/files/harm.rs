//! Refuses accidental writes: to regular files of the system and through symbolic links at
//! generated names. Also finds files of other programs that a job which only reads would extend.
//!
//! The run checks again when it opens the files. The check here comes before the run touches
//! anything.

use std::path::Path;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::FILENAME_FORMAT;
use fiord_types::Bytes;

use crate::files::paths;
use crate::files::region::Extent;
use crate::files::usage::Candidate;
use crate::machine::facts::FoundKind;
use crate::machine::survey::Survey;
use crate::model::FileKind;
use crate::options::reading::Reading;

/// Refuses a file that the job must not write, extend, create or remove. Returns whether it did.
pub(crate) fn refuse(
    candidate: Candidate,
    kind: FileKind,
    extent: Extent,
    grows: bool,
    survey: &mut Survey,
) -> bool {
    let Candidate { job, path, usage } = candidate;
    let missing = extent.size_now().is_none() && kind.is_file();
    let writes = usage.changes || grows || missing;
    if !kind.has_path() || !(writes || usage.unlinks) {
        return false;
    }
    let is_link = survey.is_link(path);
    // Symbolic links to devices are normal: `filename_format=/dev/disk/by-id/x-$jobnum`.
    let device = matches!(kind, FileKind::Block | FileKind::Char) && path.starts_with("/dev");
    if is_link && writes && usage.generated && !device {
        job.report(link_at_generated_name(job, path));
        return true;
    }
    if !kind.is_file() || usage.access.mounted_write {
        return false;
    }
    let Some(directory) = survey.system_directory(path, is_link) else { return false };
    let does = match (usage.changes, missing, grows) {
        (_, true, _) => "create it",
        (true, ..) => "write it",
        (_, _, true) => "make it longer",
        _ => "remove it",
    };
    job.report(system_file(job, path, &directory, does));
    true
}

fn system_file(job: Reading, path: &Path, directory: &str, does: &str) -> Diagnostic {
    let shown = path.display();
    let option = paths::naming(job);
    let what =
        format!("`{shown}` lies in the system directory {directory}, and this job would {does}");
    job.error(option, what).help(
        "To fix: use a file in another directory, or set `allow_mounted_write=1` if you want to change \
         the system's file",
    )
}

fn link_at_generated_name(job: Reading, path: &Path) -> Diagnostic {
    let what = format!(
        "`{}` is a symbolic link under a generated name: fiord does not write through it",
        path.display()
    );
    job.error(FILENAME_FORMAT, what).help(
        "To fix: remove the link, or name the file it leads to with `filename=` if you want to write there",
    )
}

/// Bytes that a job which only reads adds to an existing file that neither fiord nor fio is known
/// to have created.
///
/// Fiord marks the files that it creates under a name that the user typed. Generated names need no
/// mark: `job.N.M` is fio's name for its own files.
pub(crate) fn extends(
    candidate: Candidate,
    kind: FileKind,
    needed: Option<Bytes>,
    survey: &mut Survey,
) -> u64 {
    let Candidate { path, usage, .. } = candidate;
    let (FileKind::Regular, Some(Bytes(needed))) = (kind, needed) else { return 0 };
    if usage.changes || usage.generated || has_generated_name(path) {
        return 0;
    }
    let planned = survey.planned(path).unwrap_or(0);
    let now = match survey.look(path) {
        Ok(found) if found.kind == FoundKind::Regular => found.size.max(planned),
        _ => return 0,
    };
    if now >= needed || survey.facts.is_created_by_fiord(path) { 0 } else { needed - now }
}

/// Whether a file has a name that fio generates: `job.N.M`.
fn has_generated_name(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.rsplitn(3, '.');
    let numbers = parts.next().is_some_and(number) && parts.next().is_some_and(number);
    numbers && parts.next().is_some_and(|job| !job.is_empty())
}
