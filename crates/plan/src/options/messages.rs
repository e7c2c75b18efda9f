//! Collects the errors and warnings that arise while jobs are resolved.

use fiord_job::diagnostic::{Diagnostic, Level};

use crate::model::EndpointError;

/// Errors and warnings. Equal messages, such as those of the clones of a job, are kept once.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
    /// Errors that end one job when it starts, while the others run.
    pub(crate) unavailable: Vec<Diagnostic>,
    /// Why the instance that is being planned cannot run.
    pub(crate) obstacle: Option<EndpointError>,
}

impl Messages {
    /// Records why the instance that is being planned cannot run, although its options are right. `message` says it to
    /// the user of `fiord check`.
    pub(crate) fn cannot_run(&mut self, why: EndpointError, message: Diagnostic) {
        if !self.unavailable.contains(&message) {
            self.unavailable.push(message);
        }
        self.obstacle = Some(why);
    }

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
