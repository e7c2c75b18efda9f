//! Lines of `--debug` about a run, in fio's format. The loops have no code for it: a traced job has an engine
//! that wraps its own (`worker/traced.rs`).

use std::fmt;
use std::sync::Arc;

use fiord_types::JobIndex;

/// Destination of the lines, and the enabled categories.
#[derive(Clone)]
pub struct DebugOutput {
    categories: Arc<[String]>,
    /// Index of the only job to trace; `None`: all jobs.
    job: Option<JobIndex>,
    write: Arc<dyn Fn(&str) + Send + Sync>,
}

impl DebugOutput {
    /// Enables `categories` for one `job` or for all. `write` receives whole lines, from any thread.
    pub fn new(
        categories: &[String],
        job: Option<JobIndex>,
        write: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        DebugOutput { categories: categories.into(), job, write: Arc::new(write) }
    }

    /// Whether a category is enabled.
    #[must_use]
    pub fn has(&self, category: &str) -> bool {
        self.categories.iter().any(|c| c == category)
    }

    /// Whether a category is enabled for this job.
    #[must_use]
    pub fn wants(&self, category: &str, job: JobIndex) -> bool {
        self.has(category) && self.job.is_none_or(|only| only == job)
    }

    /// Writes text unchanged.
    pub fn raw(&self, text: &str) {
        (self.write)(text);
    }

    /// Writes a line about a process or thread.
    pub fn line(&self, category: &str, pid: u32, text: impl fmt::Display) {
        self.raw(&line(category, pid, text));
    }
}

impl fmt::Debug for DebugOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugOutput").field("categories", &self.categories).finish_non_exhaustive()
    }
}

/// Formats a line: the category in eight columns, the process id in five, the text.
pub(crate) fn line(category: &str, pid: u32, text: impl fmt::Display) -> String {
    format!("{category:<8} {pid:<5} {text}\n")
}
