//! A file that triggers a report of the running jobs: `fio-dump-status` in `$TMPDIR` or `/tmp`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fiord_run::{Interrupt, Interrupts};
use fiord_sys::file::FileGuard;

/// Interval between checks for the file.
const EVERY: Duration = Duration::from_millis(250);

/// Interrupts from another source, plus a request for a report when the file exists. The file is
/// then removed, as in fio.
pub struct StatusFile<'a, I> {
    others: &'a mut I,
    path: PathBuf,
    next: Instant,
}

impl<'a, I: Interrupts> StatusFile<'a, I> {
    /// Checks for the file when `others` has no interrupt.
    pub fn and(others: &'a mut I) -> Self {
        let path = std::env::temp_dir().join("fio-dump-status");
        StatusFile { others, path, next: Instant::now() }
    }

    /// Removes the file. Returns whether it existed; ignores a file that this user may not remove.
    fn taken(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + EVERY;
        // Whether a file may be removed takes a hundred times longer to find out than whether it is there.
        if std::fs::symlink_metadata(&self.path).is_err() {
            return false;
        }
        FileGuard::generated().remove(&self.path).is_ok_and(|was_there| was_there)
    }
}

impl<I: Interrupts> Interrupts for StatusFile<'_, I> {
    fn next(&mut self) -> Option<Interrupt> {
        self.others.next().or_else(|| self.taken().then_some(Interrupt::Status))
    }
}
