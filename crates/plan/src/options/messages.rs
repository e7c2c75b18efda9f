//! Collects the errors and warnings that arise while jobs are resolved.

use fiord_job::diagnostic::{Diagnostic, Level};

/// Errors and warnings. Equal messages, such as those of the clones of a job, are kept once.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Messages {
    /// Adds a message unless the list already has it.
    pub(crate) fn push(&mut self, message: Diagnostic) {
        let list = match message.level {
            Level::Error => &mut self.errors,
            Level::Warning(_) | Level::Found(_) => &mut self.warnings,
        };
        if !list.contains(&message) {
            list.push(message);
        }
    }
}
