//! How a job uses its files.

use std::path::Path;

use fiord_job::option::table::{FILETYPE, FileType, GID, UID};

use crate::files::region::Extent;
use crate::machine::facts::{Found, FoundKind};
use crate::machine::survey::Survey;
use crate::model::{EngineDef, FileKind, Layout, Mix, OpenPlan};
use crate::options::reading::Reading;

/// The properties of a job that matter for naming, checking and sizing its files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) mix: Mix,
    /// The job changes its files: their contents, their sizes or their names.
    pub(crate) changes: bool,
    /// The job trims: all of its targets must be able to.
    pub(crate) trims: bool,
    /// The engine can trim regular files too.
    pub(crate) trims_files: bool,
    /// What the engine can do.
    pub(crate) engine: &'static EngineDef,
    /// What the engine does with a path.
    pub(crate) target: TargetRule,
    /// The largest block size in bytes.
    pub(crate) largest: u32,
    /// `filetype`: the kind of all files. `None`: not set.
    pub(crate) stated: Option<FoundKind>,
    pub(crate) access: Access,
    pub(crate) layout: Layout,
    /// `--readonly`: the job must not create or extend files.
    pub(crate) readonly: bool,
    /// The names of the files are generated.
    pub(crate) generated: bool,
    /// `unlink` or `unlink_each_loop`: the job removes its files.
    pub(crate) unlinks: bool,
}

impl Usage {
    /// Whether the job's trims work only on block devices.
    pub(crate) fn trims_need_device(&self) -> bool {
        self.trims && !self.trims_files
    }
}

/// A path that a job uses as a target, and how the job uses it.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) job: Reading<'a>,
    pub(crate) path: &'a Path,
    pub(crate) usage: Usage,
}

/// Determines the kind and the extent of a target that the engine does not open. `None`: the job cannot use the target, and a
/// message says why.
type Unopened = fn(Candidate, &mut Survey) -> Option<(FileKind, Extent)>;

/// Determines the kind and the extent of a file or device that exists and that the job may use. `None`: the engine cannot use
/// it, and a message says why.
type Opened = fn(Candidate, Found, &mut Survey) -> Option<(FileKind, Extent)>;

/// How the kind and the extent of a target are determined.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TargetRule {
    /// The engine opens no path.
    Unopened(Unopened),
    /// The engine opens the path.
    Opened(Opened),
}

/// How a job accesses its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// `allow_mounted_write`.
    pub(crate) mounted_write: bool,
    pub(crate) direct: bool,
    /// `file_append`.
    pub(crate) append: bool,
    /// The job changes its user before it opens files, so the permissions are unknown here.
    pub(crate) other_user: bool,
    /// The smallest block size in bytes.
    pub(crate) block: u32,
}

impl Access {
    /// Reads the options.
    pub(crate) fn of(job: Reading, open: &OpenPlan, block: u32) -> Self {
        Access {
            mounted_write: open.allow_mounted_write,
            direct: open.direct,
            append: open.append,
            other_user: job.is_set(UID) || job.is_set(GID),
            block,
        }
    }
    /// Whether the job sets `file_append`, but a file of this kind cannot grow.
    pub(crate) fn appends_only_regular(&self, kind: FileKind) -> bool {
        self.append && kind.has_path() && kind != FileKind::Regular
    }
}

/// Reads `filetype`. `None`: not set.
pub(crate) fn stated(job: Reading) -> Option<FoundKind> {
    match job.get(FILETYPE) {
        FileType::None => None,
        FileType::File => Some(FoundKind::Regular),
        FileType::Block => Some(FoundKind::Block),
        FileType::Char => Some(FoundKind::Char),
    }
}
