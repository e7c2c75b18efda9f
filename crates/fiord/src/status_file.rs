//! A file that asks for a report of the running jobs: `fio-dump-status` in `$TMPDIR` or `/tmp`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fiord_run::{Interrupt, Interrupts};
use fiord_sys::file::Guard;

/// How often the file is looked for.
const EVERY: Duration = Duration::from_millis(250);

/// Interrupts from another source, and a request for a report whenever the file is there. It is then
/// removed, as fio does.
pub struct StatusFile<'a, I> {
    others: &'a mut I,
    path: PathBuf,
    next: Instant,
}

impl<'a, I: Interrupts> StatusFile<'a, I> {
    /// Looks for the file whenever `others` have nothing.
    pub fn and(others: &'a mut I) -> Self {
        let path = std::env::temp_dir().join("fio-dump-status");
        StatusFile { others, path, next: Instant::now() }
    }

    /// Whether the file was there. One that this user may not remove is passed over.
    fn taken(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + EVERY;
        Guard::generated().remove(&self.path).is_ok_and(|was_there| was_there)
    }
}

impl<I: Interrupts> Interrupts for StatusFile<'_, I> {
    fn next(&mut self) -> Option<Interrupt> {
        self.others.next().or_else(|| self.taken().then_some(Interrupt::Status))
    }
}
