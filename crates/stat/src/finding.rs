//! Findings: what makes a result not worth believing.

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Hash, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The number may measure something else.
    Suspect,
    /// The number measures something else.
    Invalid,
}

impl Severity {
    /// As every format names it.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Suspect => "suspect",
            Severity::Invalid => "invalid",
        }
    }
}

/// A finding that could not be looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchecked {
    /// The finding's name.
    pub id: String,
    /// Why, in a few words: `needs root`.
    pub why: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its stable name, in kebab-case: `depth-ignored`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// The job it is about; `None` for the whole run.
    pub job: Option<String>,
    /// What is wrong, in one sentence.
    pub what: String,
    /// The evidence, with its numbers.
    pub evidence: String,
    /// What to do about it: an option, a command or a change of the machine. Empty if the finding
    /// names no remedy. JSON has it under the key `mend`; text has [`Finding::to_fix`].
    #[serde(rename = "mend")]
    pub remedy: String,
    /// The documented name of the option that it is about.
    #[serde(default)]
    pub option: Option<String>,
    /// Where the option, or else the job, stands.
    #[serde(default)]
    pub location: Option<Location>,
}

impl Finding {
    /// The remedy as text shows it: `To fix: …`; `None` if the finding names no remedy.
    pub fn to_fix(&self) -> Option<String> {
        (!self.remedy.is_empty()).then(|| to_fix(&self.remedy))
    }
}

/// The start that every remedy has in text.
pub fn to_fix(remedy: &str) -> String {
    format!("To fix: {remedy}")
}

/// A place in a job file or on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file's path as given, `-` for standard input or `command line`.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// Something that a run could not do as asked and went on without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunWarning {
    /// The job; `None` for the whole run.
    pub job: Option<String>,
    /// What, in one sentence.
    pub what: String,
}
