//! The file behind `mem=mmap:FILE` and similar sources. Jobs write their buffers to it, so it must hold
//! no data: it must be new, empty, left by an earlier run of fiord, or on hugetlbfs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fiord_types::{Bytes, Errno};

use crate::file::{self, Device, FileGuard, InodeType, Open, Opened};
use crate::{Error, Result};

/// State in which the file is left when its last region is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// Remove it, because fiord created it.
    Removed,
    /// Empty it, as it was before.
    Empty,
    /// Keep its size (hugetlbfs).
    Kept,
}

/// A file that regions are mapped from.
#[derive(Debug)]
struct InUse {
    file: File,
    path: PathBuf,
    after: After,
    regions: usize,
    /// End of the last range handed out, so that regions never overlap.
    end: u64,
}

/// Device and inode of the file.
type Key = (Device, u64);

static FILES: Mutex<BTreeMap<Key, InUse>> = Mutex::new(BTreeMap::new());

fn files() -> MutexGuard<'static, BTreeMap<Key, InUse>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A range of the file for one region. Dropping the last range restores or removes the file.
#[derive(Debug)]
pub(super) struct BufferRange {
    key: Key,
    /// First byte.
    pub(super) start: Bytes,
    pub(super) file: File,
}

impl BufferRange {
    /// Reserves the next `len` bytes of the file at `path`, which has pages of `page` bytes. `huge` means
    /// that it lies on hugetlbfs.
    ///
    /// # Errors
    /// `EEXIST` if the file holds data; otherwise those of [`FileGuard::open`].
    pub(super) fn take(path: &Path, len: usize, page: usize, huge: bool) -> Result<BufferRange> {
        // Hold the lock, so that no file is removed while this one is opened.
        let mut files = files();
        let how = Open::read_write().create(true).mode(0o600);
        let Opened { fd, created } = FileGuard::buffer_file().open(how, path)?;
        let facts = file::facts_of(&fd)?;
        let key = (facts.device, facts.inode);
        let file = File::from(fd);
        let copy = file.try_clone().map_err(|error| Error::from_io("dup", &error).at(path))?;
        let used = match files.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let after = match facts.kind {
                    InodeType::Regular if created || file::is_buffer_file(&file) => After::Removed,
                    InodeType::Regular if facts.size == Bytes::ZERO => After::Empty,
                    InodeType::Regular if huge => After::Kept,
                    _ => return Err(holds_data(path)),
                };
                new.insert(InUse { file: copy, path: path.into(), after, regions: 0, end: 0 })
            }
        };
        let start = used.end.next_multiple_of(page as u64);
        used.end = start.saturating_add(len as u64);
        used.regions += 1;
        let end = used.end;
        drop(files);
        let range = BufferRange { key, start: Bytes(start), file };
        if file::facts_of(&range.file)?.size < Bytes(end) {
            file::truncate(&range.file, Bytes(end)).map_err(|error| error.at(path))?;
        }
        Ok(range)
    }
}

impl Drop for BufferRange {
    fn drop(&mut self) {
        let mut files = files();
        let Some(used) = files.get_mut(&self.key) else { return };
        used.regions -= 1;
        if used.regions > 0 {
            return;
        }
        let Some(used) = files.remove(&self.key) else { return };
        // No caller could handle a failure here, and another program may have removed the file.
        let _ = match used.after {
            After::Kept => Ok(()),
            After::Empty => file::truncate(&used.file, Bytes::ZERO),
            After::Removed => remove(&used.path, self.key),
        };
    }
}

/// Removes the file, unless another file has taken its name.
fn remove(path: &Path, key: Key) -> Result<()> {
    let now = file::facts(path)?;
    if (now.device, now.inode) == key {
        FileGuard::buffer_file().remove(path)?;
    }
    Ok(())
}

fn holds_data(path: &Path) -> Error {
    Error::new("mmap", Errno::EEXIST).at(path).saying(
        "it holds data, and buffers would overwrite it. To fix: name a file that is new or empty, or \
         one on hugetlbfs",
    )
}

/// Whether buffers may be written to the file at a path: it is missing, empty, left by an earlier run of
/// fiord, or on hugetlbfs. Opens nothing for writing.
#[must_use]
pub fn takes_buffers(path: &Path) -> bool {
    let Ok(facts) = file::facts(path) else { return true };
    let left = || Open::read_only().nonblocking(true).open(path).is_ok_and(file::is_buffer_file);
    let huge = || super::hugetlbfs_page(path.parent().unwrap_or(Path::new("."))).is_some();
    facts.kind == InodeType::Regular && (facts.size == Bytes::ZERO || left() || huge())
}
