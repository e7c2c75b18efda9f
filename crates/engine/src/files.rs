//! The files that are attached to an engine.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use fiord_types::FileIndex;

use crate::{Attachment, EngineError, FileKind};

#[derive(Debug, Clone)]
pub(crate) struct Attached {
    /// The descriptor; -1 if no file is attached, so that the kernel answers `EBADF`.
    pub fd: RawFd,
    /// Type of the file.
    pub kind: FileKind,
    /// Keeps `fd` open.
    _keep: Option<Arc<OwnedFd>>,
}

const NOTHING: Attached = Attached { fd: -1, kind: FileKind::Virtual, _keep: None };

/// All attached files, by index.
#[derive(Debug)]
pub(crate) struct AttachedFiles {
    table: Vec<Attached>,
}

impl AttachedFiles {
    pub(crate) fn new(count: u32) -> Self {
        AttachedFiles { table: vec![NOTHING; count as usize] }
    }

    pub(crate) fn attach(
        &mut self,
        file: FileIndex,
        target: &Attachment,
    ) -> Result<(), EngineError> {
        let count = self.table.len();
        let Some(entry) = self.table.get_mut(file.get()) else {
            return Err(EngineError::plain(format!(
                "cannot attach file {file}: the engine was created for {count} files"
            )));
        };
        let fd = target.fd.as_ref().map_or(-1, |fd| fd.as_raw_fd());
        *entry = Attached { fd, kind: target.kind, _keep: target.fd.clone() };
        Ok(())
    }

    pub(crate) fn detach(&mut self, file: FileIndex) {
        if let Some(entry) = self.table.get_mut(file.get()) {
            *entry = NOTHING;
        }
    }

    /// The descriptor of a file; -1 if no file is attached.
    #[inline(always)]
    pub(crate) fn fd(&self, file: FileIndex) -> RawFd {
        self.table.get(file.get()).map_or(-1, |entry| entry.fd)
    }

    /// The type of a file.
    #[inline]
    pub(crate) fn kind(&self, file: FileIndex) -> FileKind {
        self.table.get(file.get()).map_or(FileKind::Virtual, |entry| entry.kind)
    }
}
