//! The extended attribute `user.fiord`, which marks files that fiord created under a name that the user
//! typed. A later job that extends such a file, or puts its buffers into it, changes no other program's
//! data.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, getxattr};

const NAME: &std::ffi::CStr = c"user.fiord";
/// Buffer size; longer than any value of the attribute.
const BUFFER: usize = 16;

/// The purpose for which fiord created a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkPurpose {
    /// Target of a job.
    Target,
    /// Buffers of a job (`mem=`).
    Buffers,
}

impl MarkPurpose {
    fn value(self) -> &'static [u8] {
        match self {
            MarkPurpose::Target => b"target",
            MarkPurpose::Buffers => b"buffers",
        }
    }
}

/// Marks a new file. On a file system without extended attributes the file stays unmarked; a later run
/// then treats it as another program's file.
pub(super) fn set(file: impl AsFd, purpose: MarkPurpose) {
    let _ = fsetxattr(file, NAME, purpose.value(), XattrFlags::empty());
}

/// Whether fiord created the file at a path, for any purpose.
#[must_use]
pub fn is_created_by_fiord(path: &Path) -> bool {
    getxattr(path, NAME, &mut [0u8; 0]).is_ok()
}

/// Whether fiord created an open file to hold buffers.
pub fn is_buffer_file(file: impl AsFd) -> bool {
    let mut value = [0u8; BUFFER];
    let len = fgetxattr(file, NAME, &mut value);
    len.is_ok_and(|len| &value[..len] == MarkPurpose::Buffers.value())
}
