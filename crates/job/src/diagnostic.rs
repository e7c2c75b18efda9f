//! Messages for the person who wrote the job.

use crate::spec::Place;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The run does not start.
    Error,
    /// The run starts; with `--warnings-fatal` it does not.
    Warning,
}

/// One message: what is wrong, where, and what would be right.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// What is wrong, in one sentence without a full stop.
    pub what: String,
    /// The text that is wrong.
    pub place: Option<Place>,
    /// A label under the underlined text.
    pub label: Option<String>,
    /// What would be right.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error about a place.
    pub fn error(what: impl Into<String>, place: Option<Place>) -> Self {
        Diagnostic { level: Level::Error, what: what.into(), place, label: None, help: Vec::new() }
    }
    /// Adds what would be right.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}
