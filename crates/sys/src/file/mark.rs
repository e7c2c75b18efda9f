//! The extended attribute `user.fiord`, which marks files that fiord created under a name that the user
//! typed. A later job that extends such a file, or puts its buffers into it, changes no other program's
//! data.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use crate::error::c_path;

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
    let value = purpose.value();
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: name and value outlive the call, the length is that of the value, the descriptor is open.
    unsafe { libc::fsetxattr(fd, NAME.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
}

/// Whether fiord created the file at a path, for any purpose.
#[must_use]
pub fn is_created_by_fiord(path: &Path) -> bool {
    let Ok(path) = c_path("getxattr", path) else { return false };
    // SAFETY: both names are NUL-terminated and outlive the call; with length 0 it returns only the size.
    unsafe { libc::getxattr(path.as_ptr(), NAME.as_ptr(), std::ptr::null_mut(), 0) >= 0 }
}

/// Whether fiord created an open file to hold buffers.
pub fn is_buffer_file(file: impl AsFd) -> bool {
    let mut value = [0u8; BUFFER];
    let (fd, room) = (file.as_fd().as_raw_fd(), value.len());
    // SAFETY: the name is NUL-terminated, `value` is writable for `room` bytes; both outlive the call.
    let len = unsafe { libc::fgetxattr(fd, NAME.as_ptr(), value.as_mut_ptr().cast(), room) };
    usize::try_from(len).is_ok_and(|len| &value[..len] == MarkPurpose::Buffers.value())
}
