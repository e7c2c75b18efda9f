//! Errors and warnings on the way to a plan.

use fiord_job::diagnostic::{Diagnostic, Level};

/// Collects messages; the same one, said for each of a thousand clones, is kept once.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Messages {
    /// Takes a message.
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
