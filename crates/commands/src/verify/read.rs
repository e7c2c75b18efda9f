//! Reads the target, past the page cache.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use fiord_sys::file::{self, Open};
use fiord_types::{Bytes, Errno};

use super::error::VerifyError;
use super::journal::read_at;
use crate::target::TargetError;

/// Alignment of direct reads: of memory, offset and length.
const ALIGNMENT: u64 = 4096;

/// An open target.
#[derive(Debug)]
pub(super) struct TargetReader {
    path: PathBuf,
    file: File,
    direct: bool,
    memory: Vec<u8>,
}

impl TargetReader {
    /// Opens a target for reads without the page cache, if that is possible.
    pub(super) fn open(path: &Path) -> Result<Self, VerifyError> {
        let direct = Open::read_only().direct(true).open(path);
        let (file, direct) = match direct {
            Ok(file) => (file, true),
            Err(_) => {
                let file = Open::read_only().open(path);
                (file.map_err(|error| TargetError::new(path, error))?, false)
            }
        };
        Ok(TargetReader { path: path.into(), file: file.into(), direct, memory: Vec::new() })
    }

    /// Whether a cache can have returned the data.
    pub(super) fn is_cached(&self) -> bool {
        !self.direct
    }

    /// Reads `length` bytes at `offset`. Bytes after the end of the target are zeros.
    pub(super) fn read(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let skip = offset % ALIGNMENT;
        let start = offset - skip;
        let whole = (skip + length as u64).next_multiple_of(ALIGNMENT) as usize;
        self.memory.resize(whole + ALIGNMENT as usize, 0);
        let aligned = self.memory.as_ptr().align_offset(ALIGNMENT as usize);
        let buffer = &mut self.memory[aligned..][..whole];
        if !self.direct {
            // Where this is not possible, the data comes from the page cache, as after a kill.
            let _ = file::drop_cache(&self.file, Bytes(start), Bytes(whole as u64));
        }
        let filled = match read_at(&self.file, buffer, start) {
            // The file system has direct I/O, but not at the end of the file.
            Err(e) if self.direct && e.raw_os_error() == Some(Errno::EINVAL.raw()) => {
                let file = Open::read_only().open(&self.path).map_err(io::Error::from)?;
                (self.file, self.direct) = (file.into(), false);
                read_at(&self.file, buffer, start)?
            }
            result => result?,
        };
        buffer[filled..].fill(0);
        Ok(&buffer[skip as usize..][..length])
    }
}
