//! Memory files, which can be handed to another process.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use fiord_types::Bytes;

use super::{MemorySource, Origin, map};
use crate::Result;
use crate::error::check;

/// Maps `len` bytes of a new memory file.
pub(super) fn map_new(source: &MemorySource, len: usize) -> Result<(NonNull<u8>, Origin)> {
    let huge = if source.is_huge() { libc::MFD_HUGETLB } else { 0 };
    // The size of a page has the same place in the flags of both calls.
    let flags = libc::MFD_CLOEXEC | huge | source.huge_flag().cast_unsigned();
    // SAFETY: the name is NUL-terminated.
    let fd = unsafe { libc::memfd_create(c"fiord-buffers".as_ptr(), flags) };
    let fd = check("memfd_create", fd)? as i32;
    // SAFETY: the call returned a new descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    crate::file::truncate(&fd, Bytes(len as u64))?;
    let base = map("mmap MAP_SHARED", len, libc::MAP_SHARED, fd.as_raw_fd(), 0)?;
    Ok((base, Origin::MemoryFile(fd)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::super::MemoryRegion;
    use super::*;

    #[test]
    fn a_memory_file_has_the_contents_of_its_region() {
        let mut region = MemoryRegion::new(&MemorySource::MemoryFile, 100_000, 65536).unwrap();
        region.as_mut_slice()[..5].copy_from_slice(b"fiord");
        let (fd, start) = region.file().unwrap();
        let mut read = [0; 5];
        let copy = std::fs::File::from(fd.try_clone_to_owned().unwrap());
        copy.read_exact_at(&mut read, start.0).unwrap();
        assert_eq!(&read, b"fiord");
        assert!(MemoryRegion::new(&MemorySource::Malloc, 4096, 0).unwrap().file().is_none());
    }
}
