//! Jobs of a run that share files take turns: for each I/O (`lockfile`), and as they lay out files
//! (`create_serialize=0`).
//!
//! The locks are internal to the run: they do not lock out other programs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fiord_plan::{FileKind, FilePlan, LockFile, Plan};

/// How often a job that finds the lock free may overtake the waiting jobs. Waking a thread takes longer than
/// many I/Os, so the file would be idle in between if the lock were handed over each time.
const PATIENCE: u32 = 64;

/// The lock of one file. Waiting jobs are served in order and are overtaken a limited number of times.
#[derive(Debug, Default)]
pub(crate) struct FileLock {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The ticket of the next job that must wait.
    next: u64,
    /// The ticket that is served next.
    turn: u64,
    /// How often the waiting jobs were overtaken since one of them got the lock.
    passed: u32,
    readers: u32,
    writer: bool,
}

impl State {
    fn may_enter(&self, write: bool) -> bool {
        !self.writer && (!write || self.readers == 0)
    }

    fn has_queue(&self) -> bool {
        self.turn != self.next
    }

    /// Takes the lock without waiting, if it is free and waiting jobs may be overtaken.
    fn pass(&mut self, write: bool) -> bool {
        let may = self.may_enter(write) && (!self.has_queue() || self.passed < PATIENCE);
        if may {
            self.passed += u32::from(self.has_queue());
            self.enter(write);
        }
        may
    }

    fn enter(&mut self, write: bool) {
        if write {
            self.writer = true;
        } else {
            self.readers += 1;
        }
    }
}

impl FileLock {
    fn state(&self) -> MutexGuard<'_, State> {
        fiord_sys::interleaving::point();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock, waiting if necessary. `write` makes it exclusive.
    pub(crate) fn acquire(&self, write: bool) {
        let mut state = self.state();
        if state.pass(write) {
            return;
        }
        let mine = state.next;
        state.next += 1;
        let not_yet = |s: &mut State| s.turn != mine || !s.may_enter(write);
        let waited = self.moved.wait_while(state, not_yet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.turn += 1;
        state.passed = 0;
        state.enter(write);
        if !write && state.has_queue() {
            // The next waiting job may be a reader too.
            self.moved.notify_all();
        }
    }

    /// Takes the lock if that needs no waiting. True if it was taken.
    pub(crate) fn try_acquire(&self, write: bool) -> bool {
        self.state().pass(write)
    }

    pub(crate) fn release(&self, write: bool) {
        let mut state = self.state();
        if write {
            state.writer = false;
        } else {
            state.readers = state.readers.saturating_sub(1);
        }
        if state.has_queue() {
            self.moved.notify_all();
        }
    }
}

/// A lock that is taken for writing. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Turn(Arc<FileLock>);

impl Turn {
    fn take(lock: Arc<FileLock>) -> Self {
        lock.acquire(true);
        Turn(lock)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.release(true);
    }
}

/// The file locks of a run, by path.
#[derive(Debug, Default)]
pub(crate) struct FileLocks(HashMap<PathBuf, Arc<FileLock>>);

impl FileLocks {
    /// Creates a lock for each file of the jobs with `lockfile`. Jobs that use the same file share its lock.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut locks = HashMap::new();
        let jobs = plan.jobs.iter().filter(|job| job.target.lock != LockFile::None);
        for file in jobs.flat_map(|job| &job.target.files) {
            locks.entry(named(&file.path)).or_default();
        }
        FileLocks(locks)
    }

    /// Creates a lock for each file that several jobs may lay out at the same time (`create_serialize=0`).
    pub(crate) fn of_layouts(plan: &Plan) -> Self {
        let mut users: HashMap<PathBuf, usize> = HashMap::new();
        let jobs = || plan.jobs.iter().filter(|job| !job.target.layout.serialize);
        if jobs().count() > 1 {
            let regular =
                |file: &&FilePlan| matches!(file.kind, FileKind::Regular | FileKind::Name);
            for file in jobs().flat_map(|job| job.target.files.iter().filter(regular)) {
                *users.entry(named(&file.path)).or_default() += 1;
            }
        }
        let shared = users.into_iter().filter(|(_, users)| *users > 1);
        FileLocks(shared.map(|(path, _)| (path, Arc::default())).collect())
    }

    /// Takes the locks of these files, waiting for each. Files without a lock are left out.
    pub(crate) fn take_turns<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Vec<Turn> {
        if self.0.is_empty() {
            return Vec::new();
        }
        // All jobs take the locks in the same order, so that none waits for a job that waits for it.
        let mut paths: Vec<PathBuf> = paths.map(named).collect();
        paths.sort();
        paths.dedup();
        let locks = paths.iter().filter_map(|path| self.0.get(path).cloned());
        locks.map(Turn::take).collect()
    }

    pub(crate) fn get(&self, path: &Path) -> Option<Arc<FileLock>> {
        self.0.get(&named(path)).cloned()
    }
}

/// The key of a path: `f` and `./f` have the same lock.
fn named(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    #[test]
    fn a_writer_is_exclusive_and_no_thread_starves() {
        let lock = FileLock::default();
        let inside = AtomicI32::new(0);
        std::thread::scope(|scope| {
            for write in [true, true, false, false] {
                let (lock, inside) = (&lock, &inside);
                scope.spawn(move || {
                    for _ in 0..500 {
                        lock.acquire(write);
                        if write {
                            assert_eq!(inside.swap(-1, Ordering::SeqCst), 0);
                            inside.store(0, Ordering::SeqCst);
                        } else {
                            assert!(inside.fetch_add(1, Ordering::SeqCst) >= 0);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                        lock.release(write);
                    }
                });
            }
        });
        assert!(lock.try_acquire(false) && lock.try_acquire(false) && !lock.try_acquire(true));
    }
}
