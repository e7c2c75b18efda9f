//! The mark on files that fiord created under a name that the user typed: the extended attribute
//! `user.fiord`. A later job that makes such a file longer, or puts its buffers into it, changes nothing
//! that belongs to anyone else.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use crate::error::c_path;

const NAME: &std::ffi::CStr = c"user.fiord";
/// Longer than any value.
const LONGEST: usize = 16;

/// What fiord created a file for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// As the target of a job.
    Target,
    /// For the buffers of a job (`mem=`).
    Buffers,
}

impl Purpose {
    fn value(self) -> &'static [u8] {
        match self {
            Purpose::Target => b"target",
            Purpose::Buffers => b"buffers",
        }
    }
}

/// Marks a new file. File systems without extended attributes leave it unmarked, which only means that
/// a later run takes it for anyone's.
pub(super) fn set(file: impl AsFd, purpose: Purpose) {
    let value = purpose.value();
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: name and value outlive the call, the length is the value's, the descriptor is open.
    unsafe { libc::fsetxattr(fd, NAME.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
}

/// Whether fiord created the file that a path leads to, for any purpose.
pub fn is_created_by_fiord(path: &Path) -> bool {
    let Ok(path) = c_path("getxattr", path) else { return false };
    // SAFETY: both names are NUL-terminated and outlive the call; a length of 0 asks for the size only.
    unsafe { libc::getxattr(path.as_ptr(), NAME.as_ptr(), std::ptr::null_mut(), 0) >= 0 }
}

/// Whether fiord created an open file for buffers.
pub fn is_buffer_file(file: impl AsFd) -> bool {
    let mut value = [0u8; LONGEST];
    let (fd, room) = (file.as_fd().as_raw_fd(), value.len());
    // SAFETY: the name is NUL-terminated, `value` is writable for `room` bytes; both outlive the call.
    let len = unsafe { libc::fgetxattr(fd, NAME.as_ptr(), value.as_mut_ptr().cast(), room) };
    usize::try_from(len).is_ok_and(|len| &value[..len] == Purpose::Buffers.value())
}
