//! The connection between an engine and the end of its job, for engines whose ops may take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells an engine that its job must stop, and the worker that the engine has no more work. Clones
/// refer to the same job.
///
/// ```
/// use fiord_engine::EndSignal;
///
/// let (worker, engine) = { let end = EndSignal::default(); (end.clone(), end) };
/// worker.stop();
/// assert!(engine.is_stopped() && !worker.is_done());
/// ```
#[derive(Debug, Clone, Default)]
pub struct EndSignal(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    stopped: AtomicBool,
    interrupted: AtomicBool,
    done: AtomicBool,
}

impl EndSignal {
    /// The job must stop: an op that takes long ends early.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the job must stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// The user ended the run: the job must stop, and does not wait for slow ops in flight.
    pub fn interrupt(&self) {
        self.0.interrupted.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Whether the user ended the run.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.0.interrupted.load(Ordering::Relaxed)
    }

    /// The engine has no more work, so the job ends.
    pub fn finish(&self) {
        self.0.done.store(true, Ordering::Relaxed);
    }

    /// Whether the engine has no more work.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.done.load(Ordering::Relaxed)
    }
}
