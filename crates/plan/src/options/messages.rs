//! Collects the errors and warnings that arise while jobs are resolved.

use std::cell::RefCell;

use fiord_job::diagnostic::{Diagnostic, Level};

use crate::model::EndpointError;

/// Errors and warnings. Equal messages, such as those of the clones of a job, are kept once. All jobs of a run add to one list
/// ([`Reading::report`](super::reading::Reading::report)).
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) errors: RefCell<Vec<Diagnostic>>,
    pub(crate) warnings: RefCell<Vec<Diagnostic>>,
    /// Errors that end one job when it starts, while the others run.
    pub(crate) unavailable: RefCell<Vec<Diagnostic>>,
    /// Why the instance that is being planned cannot run.
    pub(crate) obstacle: RefCell<Option<EndpointError>>,
}

impl Messages {
    /// Records why the instance that is being planned cannot run, although its options are right. `message` says it to
    /// the user of `fiord check`.
    pub(crate) fn cannot_run(&self, why: EndpointError, message: Diagnostic) {
        add(&self.unavailable, message);
        self.obstacle.replace(Some(why));
    }

    /// Adds a message unless the list already has it.
    pub(crate) fn push(&self, message: Diagnostic) {
        match message.level {
            Level::Error => add(&self.errors, message),
            Level::Warning(_) | Level::Found(_) => add(&self.warnings, message),
        }
    }

    /// The number of different errors so far.
    pub(crate) fn error_count(&self) -> usize {
        self.errors.borrow().len()
    }
}

fn add(list: &RefCell<Vec<Diagnostic>>, message: Diagnostic) {
    let mut list = list.borrow_mut();
    if !list.contains(&message) {
        list.push(message);
    }
}
