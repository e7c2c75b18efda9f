//! The thread that writes all logs of a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fiord_sys::cpu::{self, CpuSet};
use fiord_sys::signal;

use super::files::LogFiles;
use super::sink::{JobSink, RowBuffers};

/// Longest time until rows are written. A run that is killed loses the rows of this time.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time after which rows are also compressed and written.
const FLUSH: Duration = Duration::from_millis(200);

/// What the thread writes.
#[derive(Debug)]
pub(super) struct LogWriter {
    pub(super) sinks: Vec<JobSink>,
    pub(super) files: Arc<Mutex<LogFiles>>,
    /// `log_compression_cpus`: where the thread runs; `None`: on all CPUs.
    pub(super) cpus: Option<CpuSet>,
    /// The run is over: no more records come.
    pub(super) over: Arc<AtomicBool>,
}

impl LogWriter {
    /// Writes rows until the run is over.
    pub(super) fn run(mut self) {
        // Only the conductor handles signals. If blocking them here fails, it reacts a moment later.
        let _ = signal::block_in_this_thread();
        if let Some(cpus) = &self.cpus {
            // The plan has checked them. If they are gone, the thread runs on other ones.
            let _ = cpu::set_affinity(cpus);
        }
        let mut scratch = RowBuffers::default();
        let mut flushed = Instant::now();
        loop {
            let over = self.over.load(Ordering::Acquire);
            let flush = flushed.elapsed() >= FLUSH;
            if flush {
                flushed = Instant::now();
            }
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            for sink in &mut self.sinks {
                sink.write(&mut files, &mut scratch, flush, over);
            }
            drop(files);
            if over {
                return;
            }
            if !self.sinks.iter().any(JobSink::is_filling) {
                std::thread::park_timeout(INTERVAL);
            }
        }
    }
}

/// Workers do not wait for a thread that has panicked.
impl Drop for LogWriter {
    fn drop(&mut self) {
        self.sinks.iter().for_each(|sink| sink.channel.set_done());
    }
}
