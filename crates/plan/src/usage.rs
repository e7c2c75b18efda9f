//! What a job wants to do with its files.

use crate::facts::FoundKind;
use crate::model::{FileKind, Layout, Mix, OpenPlan};
use crate::reading::Reading;

/// What the files of a job are used for, as far as naming and sizing them goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) mix: Mix,
    /// The engine touches no file.
    pub(crate) is_virtual: bool,
    /// The engine sends commands to character devices.
    pub(crate) commands: bool,
    /// Those are SCSI commands.
    pub(crate) scsi: bool,
    /// The largest block.
    pub(crate) largest: u32,
    /// `filetype`, where it says what all files are.
    pub(crate) stated: Option<FoundKind>,
    pub(crate) access: Access,
    pub(crate) layout: Layout,
    /// `--readonly`: no file is made or made larger.
    pub(crate) readonly: bool,
    /// The names of the files are made up.
    pub(crate) generated: bool,
    /// `unlink` or `unlink_each_loop`: the files are removed.
    pub(crate) unlinks: bool,
}

/// What a job wants to do with its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// `allow_mounted_write`.
    pub(crate) mounted_write: bool,
    /// `direct`.
    pub(crate) direct: bool,
    /// `file_append`.
    pub(crate) append: bool,
    /// The job changes its user before it opens files, so permissions cannot be told here.
    pub(crate) other_user: bool,
    /// Its smallest block.
    pub(crate) block: u32,
}

impl Access {
    /// Reads the options.
    pub(crate) fn of(job: Reading, open: &OpenPlan, block: u32) -> Self {
        Access {
            mounted_write: open.allow_mounted_write,
            direct: open.direct,
            append: open.append,
            other_user: job.is_set("uid") || job.is_set("gid"),
            block,
        }
    }
    /// `file_append` was asked for on what cannot grow.
    pub(crate) fn appends_only_regular(&self, kind: FileKind) -> bool {
        self.append && !matches!(kind, FileKind::Regular | FileKind::Virtual)
    }
}

/// `filetype`.
pub(crate) fn stated(job: Reading) -> Option<FoundKind> {
    match job.plain_word("filetype") {
        "file" => Some(FoundKind::Regular),
        "block" => Some(FoundKind::Block),
        "char" => Some(FoundKind::Char),
        _ => None,
    }
}
