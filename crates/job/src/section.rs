//! A section as it was typed, before its options are looked up.

use crate::scan::RawOption;
use crate::spec::Place;

/// A section of a job file, or the command line options up to the next `--name`.
#[derive(Debug, Clone)]
pub struct RawSection {
    /// The name of the job, or `global` for defaults.
    pub name: String,
    /// The place of the section's header or of `--name`.
    pub place: Place,
    /// The options in the order typed.
    pub options: Vec<RawOption>,
    /// Whether the section is on the command line. There, options are parsed strictly in order. In
    /// a job file, `kb_base` and `ioengine` apply to their whole section.
    pub command_line: bool,
}

impl RawSection {
    /// Whether the section sets defaults. As in fio, this holds for every name that starts with
    /// `global` (`[globals]`, `[global 2]`) in lower case (`[GLOBAL]` is a job).
    #[must_use]
    pub fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}
