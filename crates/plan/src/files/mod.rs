//! The files of a job. This module reads the options that apply to all of them: their order, the
//! number of open files, locks.
//!
//! | question | module |
//! |---|---|
//! | which files does a job use, and which part of each? | `list` |
//! | what is the name of a file? | `filename` |
//! | may a job use the file at a path? | `paths`, `harm` |
//! | which names does a job use that opens no files? | `names` |
//! | where does the size of a file come from? | `sizes`; `region` for the types |
//! | which tree of directories does a job work on? | `tree` |
//! | how does a job use its files? | `usage`; `instance` for one of its instances |
//! | how are files opened and created? | `open` |
//! | which files may several jobs lay out at the same time? | `layouts` |
//! | which zones of a file does a job use? | `zones` |
//! | which part of a file does one of several hosts use? | `share` |

pub(crate) mod filename;
pub(crate) mod harm;
pub(crate) mod instance;
pub(crate) mod layouts;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod paths;
pub(crate) mod region;
pub(crate) mod share;
pub(crate) mod sizes;
pub(crate) mod tree;
pub(crate) mod usage;
pub(crate) mod zones;

use fiord_job::option::handle::{WithSuffix, WordEnum};
use fiord_job::option::table::{
    FILE_SERVICE_TYPE, FileServiceType, IOSCHEDULER, LOCKFILE, OPENFILES, UNLINK, UNLINK_EACH_LOOP,
};

use fiord_types::Bytes;

use crate::load::distribution;
use crate::model::{FileService, JobPlan, Layout, NameCall, OpenPlan, Target};
use crate::options::reading::Reading;

/// Reads the options of the target, without its files, which depend on the instance.
pub(crate) fn target(job: Reading, open: OpenPlan, layout: Layout) -> Target {
    Target {
        files: Vec::new(),
        open_files: 1,
        reopens: false,
        service: service(job),
        open,
        layout,
        lock: job.get(LOCKFILE),
        unlink: job.get(UNLINK),
        unlink_each_loop: job.get(UNLINK_EACH_LOOP),
        scheduler: job.get(IOSCHEDULER),
    }
}

/// Reads `file_service_type`.
fn service(job: Reading) -> FileService {
    let WithSuffix { word, suffix } = job.get(FILE_SERVICE_TYPE);
    if let FileServiceType::Zipf | FileServiceType::Pareto | FileServiceType::Normal = word {
        return distribution::of_files(job, word.word(), suffix.as_deref())
            .map_or(FileService::RoundRobin(1), FileService::Skewed);
    }
    let each = match suffix.as_deref().map(|s| s.trim().parse::<u32>()) {
        None => 1,
        Some(Ok(n)) if n > 0 => n,
        Some(_) => {
            job.report(
                job.error(FILE_SERVICE_TYPE, "the number of I/Os to each file must be 1 or more")
                    .help(format!("To fix: write `file_service_type={}:8`", word.word())),
            );
            1
        }
    };
    match word {
        FileServiceType::Random => FileService::Random(each),
        FileServiceType::Sequential => FileService::Sequential,
        _ => FileService::RoundRobin(each),
    }
}

/// Lets a job that creates files close each one when it is done with it: a file that stays open would use a descriptor
/// for nothing. `block`: the smallest block in bytes.
pub(crate) fn close_created(plan: &mut JobPlan, block: u32) {
    let names = plan.engine.names();
    let keeps = names
        .is_some_and(|names| names.call == NameCall::CreateFile && names.engine.is_synchronous());
    let target = &mut plan.target;
    target.reopens = keeps && target.files.len() > 1;
    // A file with one block gets one I/O, so the order of the I/Os is that of one file after the other.
    if target.reopens && target.files.iter().all(|file| file.len <= Bytes::from(block)) {
        target.open_files = 1;
    }
}

/// Reads `openfiles`: at least 1, at most `files`. 0 and unset mean all files.
pub(crate) fn open_files(job: Reading, files: usize) -> u32 {
    let all = u32::try_from(files).unwrap_or(u32::MAX).max(1);
    match job.get(OPENFILES) {
        None | Some(0) => all,
        Some(n) => n.min(all),
    }
}
