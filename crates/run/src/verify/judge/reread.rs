//! Reads bad data again, past the page cache, to find out where it is wrong.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fiord_formats::integrity::recheck::{REREADS, Recheck, Reread, RereadConclusion};
use fiord_plan::{FileKind, JobPlan};
use fiord_sys::file::Open;
use fiord_types::{Bytes, Errno, FileIndex};

/// Maximum number of I/Os of a job that are read again. A broken drive is slow, and further reads add no evidence.
const MAX_REREAD: u32 = 100;
/// Alignment of the memory of direct reads.
const ALIGNMENT: usize = 4096;

/// Reads bad data of one job again.
#[derive(Debug)]
pub(super) struct Rereader {
    /// The files by number; `None` if no path leads to the file.
    files: Vec<Option<PathBuf>>,
    /// The job reads through the page cache.
    cached: bool,
    left: u32,
}

impl Rereader {
    pub(super) fn of(job: &JobPlan) -> Self {
        let path = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
        let files = job.target.files.iter();
        Rereader {
            files: files.map(|file| path(file.kind).then(|| file.path.clone())).collect(),
            cached: !job.target.open.direct,
            left: MAX_REREAD,
        }
    }

    /// Reads `length` bytes at `offset` again and draws a conclusion. `found`: what the first read returned; nothing if
    /// it failed. `right` says whether data is right. `None` if the file cannot be read past the page cache, or if
    /// enough was read again.
    pub(super) fn conclude(
        &mut self,
        file: FileIndex,
        (offset, length): (Bytes, Bytes),
        found: &[u8],
        right: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<RereadConclusion> {
        let path: &Path = self.files.get(file.get())?.as_deref()?;
        self.left = self.left.checked_sub(1)?;
        let file = File::from(Open::read_only().direct(true).open(path).ok()?);
        let length = usize::try_from(length.0).ok()?;
        let mut memory = vec![0; length.checked_add(ALIGNMENT)?];
        let skip = memory.as_ptr().align_offset(ALIGNMENT);
        let buffer = memory.get_mut(skip..skip.checked_add(length)?)?;
        let mut recheck = Recheck::new(self.cached, REREADS);
        while recheck.wants_another() {
            recheck.add(match file.read_exact_at(buffer, offset.0) {
                Ok(()) if right(buffer) => Reread::Right,
                Ok(()) if buffer == found => Reread::Same,
                Ok(()) => Reread::Other,
                // The place or the length is not aligned to the sectors of the device.
                Err(e) if e.raw_os_error() == Some(Errno::EINVAL.raw()) => return None,
                Err(_) => Reread::Failed,
            });
        }
        recheck.conclusion()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use fiord_plan::EnginePlan;

    /// A rereader of a file with these bytes. `None`: its file system has no direct I/O.
    fn rereader(name: &str, bytes: &[u8]) -> Option<(Rereader, PathBuf)> {
        let path = std::env::temp_dir().join(format!("fiord-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).expect("a temporary file");
        Open::read_only().direct(true).open(&path).ok()?;
        let mut rereader = Rereader::of(&JobPlan::plain(EnginePlan::Null, 4096));
        rereader.files = vec![Some(path.clone())];
        Some((rereader, path))
    }

    #[test]
    fn conclusions_from_a_file() {
        let good = vec![7; 8192];
        let Some((mut rereader, path)) = rereader("reread", &good) else { return };
        let place = (Bytes(4096), Bytes(4096));
        let is_good = |found: &[u8]| found == &good[..4096];
        let mut conclude = |found: &[u8], right: &dyn Fn(&[u8]) -> bool| {
            rereader.conclude(FileIndex(0), place, found, &mut |again| right(again))
        };
        assert_eq!(conclude(&[9; 4096], &is_good), Some(RereadConclusion::Cache));
        assert_eq!(conclude(&[7; 4096], &|_| false), Some(RereadConclusion::Medium));
        assert_eq!(conclude(&[9; 4096], &|_| false), Some(RereadConclusion::Unstable));
        rereader.cached = false;
        let mut is_good = is_good;
        let found = rereader.conclude(FileIndex(0), place, &[9; 4096], &mut is_good);
        assert_eq!(found, Some(RereadConclusion::Transit));
        let behind = (Bytes(1 << 20), Bytes(4096));
        let found = rereader.conclude(FileIndex(0), behind, &[], &mut is_good);
        assert_eq!(found, Some(RereadConclusion::Unreadable));
        assert_eq!(rereader.conclude(FileIndex(1), place, &[], &mut is_good), None);
        rereader.left = 0;
        assert_eq!(rereader.conclude(FileIndex(0), place, &[], &mut is_good), None);
        std::fs::remove_file(path).expect("the file exists");
    }
}
