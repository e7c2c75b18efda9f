//! What a worker and the writer share: the ring of its I/Os, its windows, and how far the writer is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use super::WindowRecord;
use super::ring::LogRing;
use crate::error::JobError;

/// How far the writer is with the records of a worker.
#[derive(Debug, Default)]
struct WriterState {
    /// It has written all of them.
    done: bool,
    failure: Option<JobError>,
}

/// What a worker and the writer share.
#[derive(Debug)]
pub(crate) struct LogChannel {
    /// `None`: no log has rows of single I/Os.
    pub(super) ring: Option<LogRing>,
    windows: Mutex<VecDeque<WindowRecord>>,
    /// Most windows that wait for the writer.
    most_windows: usize,
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
    /// `ring_bytes`: memory for single I/Os; 0: there are none. `most_windows`: most windows that wait for the writer.
    pub(super) fn new(ring_bytes: usize, most_windows: usize) -> Self {
        LogChannel {
            ring: (ring_bytes > 0).then(|| LogRing::new(ring_bytes)),
            windows: Mutex::default(),
            most_windows: most_windows.max(1),
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
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let room = windows.len() < self.most_windows;
        if room {
            windows.push_back(record.clone());
        }
        room
    }

    /// The windows that were added since the last call.
    pub(super) fn take_windows(&self) -> VecDeque<WindowRecord> {
        std::mem::take(&mut *self.windows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The worker adds no more records. Called by the worker, or at the end of the run.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
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
