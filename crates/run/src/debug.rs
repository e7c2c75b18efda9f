//! `--debug`: lines about what a run does, in fio's form. The loops know nothing of it: a job that is
//! traced has another engine around its own ([`crate::worker`], `traced.rs`).

use std::fmt;
use std::sync::Arc;

/// Where the lines go, and which of them are wanted.
#[derive(Clone)]
pub struct DebugOutput {
    categories: Arc<[String]>,
    /// The only job that is of interest, by its index.
    job: Option<usize>,
    write: Arc<dyn Fn(&str) + Send + Sync>,
}

impl DebugOutput {
    /// `write` takes whole lines, from any thread. `job`: of one job only.
    pub fn new(
        categories: &[String],
        job: Option<usize>,
        write: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        DebugOutput { categories: categories.into(), job, write: Arc::new(write) }
    }

    /// Whether a category is wanted at all.
    pub fn has(&self, category: &str) -> bool {
        self.categories.iter().any(|c| c == category)
    }

    /// Whether a category is wanted for this job.
    pub fn wants(&self, category: &str, job: usize) -> bool {
        self.has(category) && self.job.is_none_or(|only| only == job)
    }

    /// Writes text as it is.
    pub fn raw(&self, text: &str) {
        (self.write)(text);
    }

    /// Writes a line of a process or thread.
    pub fn line(&self, category: &str, pid: u32, text: impl fmt::Display) {
        self.raw(&line(category, pid, text));
    }
}

impl fmt::Debug for DebugOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugOutput").field("categories", &self.categories).finish_non_exhaustive()
    }
}

/// The category in eight columns, the process number in five, the text.
pub(crate) fn line(category: &str, pid: u32, text: impl fmt::Display) -> String {
    format!("{category:<8} {pid:<5} {text}\n")
}
