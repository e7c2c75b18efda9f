//! Persistent memory: how writes become durable, and which targets are in it.

use fiord_job::option::engine::PmemTarget;
use fiord_job::option::table::pmem::PMEM_FORCE;
use fiord_job::option::table::{FILENAME, IO_SUBMIT_MODE, IoSubmitMode, SYNC};

use crate::files::region::Extent;
use crate::files::usage::Candidate;
use crate::files::{open, paths};
use crate::machine::facts::{Found, FoundKind};
use crate::machine::survey::Survey;
use crate::model::{EngineAccess, FileKind, PmemPlan, SyncMode};
use crate::options::reading::Reading;

/// How `dev-dax` writes. As in fio, no option changes it.
pub(super) fn device(_: Reading) -> PmemPlan {
    PmemPlan { non_temporal: true, drain: true, any_file: false }
}

/// Reads the options of `libpmem`.
pub(super) fn options(job: Reading) -> PmemPlan {
    let any_file = job.get(PMEM_FORCE);
    if any_file {
        job.report(
            job.warning(
                PMEM_FORCE,
                "the job also runs on files outside of persistent memory: there, its writes are not durable, and \
                 it measures the page cache",
            )
            .help("To fix: leave out `pmem_force` to measure persistent memory"),
        );
    }
    // A thread waits only for its own stores, so a flush on another thread would come too late for them.
    let other_threads = job.get(IO_SUBMIT_MODE) == IoSubmitMode::Offload;
    PmemPlan {
        non_temporal: open::direct(job),
        drain: job.get(SYNC) != SyncMode::None || other_threads,
        any_file,
    }
}

/// The kind and the extent of the file or device at a path. `None`: the job cannot use it, and a message says why.
pub(super) fn target(
    candidate: Candidate,
    found: Found,
    survey: &mut Survey,
) -> Option<(FileKind, Extent)> {
    let Candidate { usage, .. } = candidate;
    if let EngineAccess::PersistentMemory(target) = usage.engine.access {
        suits(candidate, found, target, survey)?;
    }
    paths::plain(candidate, found, survey)
}

/// Checks that an existing file or device is of the kind that the engine maps. `None`: a message says why not.
fn suits(candidate: Candidate, found: Found, target: PmemTarget, survey: &Survey) -> Option<()> {
    let Candidate { job, path, .. } = candidate;
    let (shown, engine) = (path.display(), job.spec.engine().name);
    let dax = survey.facts.dax_alignment(path).is_some();
    let what = match (target, found.kind) {
        (PmemTarget::File, FoundKind::Regular) => return Some(()),
        (PmemTarget::Device, _) if dax => return Some(()),
        (_, FoundKind::Char) if dax => "a device-DAX character device",
        (_, kind) => kind.in_words(),
    };
    let (wanted, help) = match (target, found.kind) {
        (PmemTarget::File, _) if dax => {
            ("files in persistent memory", "To fix: use `ioengine=dev-dax`")
        }
        (PmemTarget::File, FoundKind::Block) => (
            "files in persistent memory",
            "To fix: create a file system on it, mount it with `-o dax`, and name a file on it",
        ),
        (PmemTarget::File, _) => (
            "files in persistent memory",
            "To fix: name a file on a file system that is mounted with `-o dax`",
        ),
        (PmemTarget::Device, FoundKind::Regular) => (
            "device-DAX character devices",
            "To fix: name one, such as /dev/dax0.0, or use `ioengine=libpmem` for a file",
        ),
        (PmemTarget::Device, _) => (
            "device-DAX character devices",
            "To fix: name one, such as /dev/dax0.0; `ndctl create-namespace --mode=devdax` makes one",
        ),
    };
    let what = format!("`{shown}` is {what}, and `ioengine={engine}` maps {wanted}");
    job.report(job.error(FILENAME, what).help(help));
    None
}
