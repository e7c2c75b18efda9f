//! Memory files, which can be handed to another process.

use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use fiord_types::Bytes;
use rustix::fs::{MemfdFlags, memfd_create};

use super::{MemorySource, Origin, map};
use crate::Result;
use crate::error::Named;

/// Maps `len` bytes of a new memory file.
pub(super) fn map_new(source: &MemorySource, len: usize) -> Result<(NonNull<u8>, Origin)> {
    // The size of a page has the same place in the flags of both calls.
    let page = MemfdFlags::from_bits_retain(source.huge_flag().cast_unsigned());
    let mut flags = MemfdFlags::CLOEXEC | page;
    flags.set(MemfdFlags::HUGETLB, source.is_huge());
    let fd = memfd_create(c"fiord-buffers", flags).op("memfd_create")?;
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
