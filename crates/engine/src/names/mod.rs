//! Engines that work on names: `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete`.
//!
//! Each name gets one system call. In a tree of directories each I/O is one call. Otherwise the names are those of the
//! job's files, and the I/O on the first block of a file makes the call, as in fio: I/Os on other blocks of the file
//! count and do nothing.
//!
//! The plan and the layout have checked that the names are not those of the system's files.

mod calls;
mod paths;
mod ring;

pub(crate) use paths::c_names;
pub use ring::NamesRing;

use std::path::Path;

use fiord_plan::{EnginePlan, NameCall, NamesPlan};
use fiord_types::Errno;

use crate::EngineConfig;
use crate::sync::operation::OperationEngine;

/// `filecreate` and its relatives, with system calls of the calling thread.
pub type Names = OperationEngine<calls::NameCalls>;

/// The plan of a job on names.
fn plan_of(config: &EngineConfig) -> &NamesPlan {
    match &config.engine {
        EnginePlan::Names(plan) | EnginePlan::NamesRing(plan) => plan,
        other => unreachable!("the plan of {} is not one of names", other.def().name),
    }
}

/// The flags of `open(2)` for a new file. `exclusive`: it must not exist.
fn flags_of_new(exclusive: bool, no_follow: bool) -> i32 {
    let open = fiord_sys::file::Open::read_write().create(true);
    open.exclusive(exclusive).no_follow(no_follow).raw().0
}

/// Permissions of new files and directories, less those that the umask takes away.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// The likely cause of a failed call, and the remedy. `path`: that of an item in a tree, which the error does not name
/// otherwise.
fn explain(call: NameCall, errno: Errno, path: Option<&Path>) -> Option<String> {
    let path = path.map(Path::to_string_lossy);
    let advice = match (call, errno) {
        (_, Errno::EEXIST) => {
            "it exists. To fix: remove it first (`ioengine=filedelete` or `dirdelete`), or use another name"
        }
        (_, Errno::ENOENT) if call.creates() => {
            "its directory does not exist. To fix: create the directory first"
        }
        (NameCall::StatFile | NameCall::RemoveFile, Errno::ENOENT) => {
            "it does not exist: another program or an earlier pass removed it. To fix: create the files again \
             for each run, and remove them only once"
        }
        (_, Errno::ENOENT) => {
            "it does not exist: another program or an earlier pass removed it. To fix: create the directories \
             again for each run, and remove them only once"
        }
        (_, Errno::ENOSPC) => {
            "the file system has no space or no inodes left (`df -i`). To fix: create fewer names, or use \
             another file system"
        }
        (_, Errno::EDQUOT) => {
            "the quota is used up. To fix: create fewer names, or raise the quota"
        }
        (_, Errno::ENOTEMPTY) => "it is not empty. To fix: remove what is in it first",
        (_, Errno::EISDIR) => {
            "it is a directory. To fix: use another name, or an engine for directories"
        }
        (_, Errno::ENOTDIR) => {
            "it is not a directory. To fix: use another name, or an engine for files"
        }
        (_, Errno::EACCES | Errno::EPERM) => {
            "the permissions of its directory do not allow it. To fix: use another directory, or run as another \
             user"
        }
        (_, Errno::EMLINK) => {
            "its directory has as many subdirectories as the file system supports. To fix: use a tree with \
             fewer items in each directory"
        }
        (NameCall::CreateFile, Errno::EMFILE) => {
            "each created file stays open until the job is done with it. To fix: set `openfiles`"
        }
        _ => return path.map(Into::into),
    };
    Some(match path {
        Some(path) => format!("{path}: {advice}"),
        None => advice.into(),
    })
}
