//! Findings: what makes a result not worth believing.

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The number may measure something else.
    Suspect,
    /// The number measures something else.
    Invalid,
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
    /// The option or command that mends it.
    pub mend: String,
}
