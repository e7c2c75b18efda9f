//! What a worker and the writer share: the ring of its I/Os, its windows, and how far the writer is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use super::WindowRecord;
use super::ring::LogRing;
use crate::error::JobError;

/// The memory of all windows of a run that wait for the writer.
#[derive(Debug)]
pub(super) struct WindowBudget {
    most: usize,
    used: AtomicUsize,
}

impl WindowBudget {
    /// At most this many bytes.
    pub(super) fn new(most: usize) -> Self {
        WindowBudget { most, used: AtomicUsize::new(0) }
    }

    /// Takes memory. False if there is not enough. One window always finds room.
    fn take(&self, bytes: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let room = before == 0 || before + bytes <= self.most;
        if !room {
            self.give_back(bytes);
        }
        room
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// How far the writer is with the records of a worker.
#[derive(Debug, Default)]
struct WriterState {
    /// The writer has written all records.
    done: bool,
    failure: Option<JobError>,
}

/// What a worker and the writer share.
#[derive(Debug)]
pub(crate) struct LogChannel {
    /// `None`: no log has rows of single I/Os.
    pub(super) ring: Option<Arc<LogRing>>,
    windows: Mutex<VecDeque<WindowRecord>>,
    /// Memory of all windows of the run that wait for the writer.
    budget: Arc<WindowBudget>,
    /// Added to all times, ms: 0, or the time of another clock at the begin of the log.
    pub(super) epoch_ms: AtomicU64,
    /// The worker measures submission latencies.
    pub(super) submission: AtomicBool,
    /// The worker adds no more records.
    ended: AtomicBool,
    failed: AtomicBool,
    /// The writer has written all records, or gives up.
    written: AtomicBool,
    state: Mutex<WriterState>,
    progress: Condvar,
    writer: OnceLock<Thread>,
}

impl LogChannel {
    /// `ring_bytes`: memory for single I/Os; 0: there are none. `budget`: memory for windows.
    pub(super) fn new(ring_bytes: usize, budget: &Arc<WindowBudget>) -> Self {
        LogChannel {
            ring: (ring_bytes > 0).then(|| Arc::new(LogRing::new(ring_bytes))),
            windows: Mutex::default(),
            budget: Arc::clone(budget),
            epoch_ms: AtomicU64::new(0),
            submission: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            written: AtomicBool::new(false),
            state: Mutex::default(),
            progress: Condvar::new(),
            writer: OnceLock::new(),
        }
    }

    /// A channel of a job with windows, for tests. Its worker waits for no writer.
    #[cfg(test)]
    pub(crate) fn without_writer() -> Self {
        let channel = LogChannel::new(0, &Arc::new(WindowBudget::new(1 << 20)));
        channel.set_done();
        channel
    }

    /// The ends of all windows, ns since the begin of the log, and the numbers of their I/Os.
    #[cfg(test)]
    pub(crate) fn written_windows(&self) -> Vec<(u64, u64)> {
        let windows = std::iter::from_fn(|| self.take_window());
        windows
            .map(|window| (window.end.0, window.sums.values().map(|sums| sums.ios).sum()))
            .collect()
    }

    /// Sets the thread that [`LogChannel::wake`] wakes.
    pub(super) fn serve_by(&self, writer: &Thread) {
        let _ = self.writer.set(writer.clone());
    }

    /// Wakes the writer.
    pub(super) fn wake(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }

    /// Adds a window. False if too many wait for the writer.
    pub(super) fn try_add(&self, record: &WindowRecord) -> bool {
        let room = self.budget.take(record.memory());
        if room {
            let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
            windows.push_back(record.clone());
        }
        room
    }

    /// The next window.
    pub(super) fn take_window(&self) -> Option<WindowRecord> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.pop_front()?;
        self.budget.give_back(window.memory());
        Some(window)
    }

    /// The worker adds no more records. Called by the worker, or at the end of the run.
    pub(super) fn end(&self) {
        fiord_sys::interleaving::point();
        self.ended.store(true, Ordering::Release);
        fiord_sys::interleaving::point();
        self.wake();
    }

    /// Whether the worker adds no more records.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Waits until the writer has written all records of a worker that has ended.
    pub(super) fn wait_until_written(&self) {
        let waits = |state: &mut WriterState| !state.done;
        drop(self.progress.wait_while(self.lock(), waits));
    }

    /// The writer has written all records, or gives up.
    pub(super) fn set_done(&self) {
        self.written.store(true, Ordering::Release);
        fiord_sys::interleaving::point();
        self.lock().done = true;
        self.progress.notify_all();
    }

    /// A log could not be written.
    pub(super) fn fail(&self, error: &JobError) {
        self.lock().failure.get_or_insert_with(|| error.clone());
        self.failed.store(true, Ordering::Release);
    }

    /// Whether a log could not be written. The writer then drops the rows of that log.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Why a log could not be written.
    pub(super) fn failure(&self) -> Option<JobError> {
        self.has_failed().then(|| self.lock().failure.clone()).flatten()
    }

    /// Whether the writer makes no more room.
    pub(super) fn is_given_up(&self) -> bool {
        self.written.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
