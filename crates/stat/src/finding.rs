//! Findings: problems that make a result doubtful or invalid.

use std::cmp::Reverse;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::claim::Claim;

/// Severity of a finding.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Hash, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Useful to know; the result is valid.
    #[default]
    Note,
    /// The result may measure something other than intended.
    Suspect,
    /// The result measures something other than intended.
    Invalid,
}

impl Severity {
    /// The name that every output format uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Suspect => "suspect",
            Severity::Invalid => "invalid",
        }
    }
}

/// The id of the finding about damaged data, which comes before all others of its severity.
pub const BAD_DATA: &str = "bad-data";

/// A finding that could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchecked {
    /// The finding's id.
    pub id: String,
    /// Why, in a few words: `needs root`.
    pub why: String,
}

/// One finding. Serialized, it is the object that the JSON of a report has under `findings`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Stable id in kebab case: `depth-ignored`.
    pub id: String,
    /// How severe it is.
    pub severity: Severity,
    /// The job concerned; `None` for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What is wrong, in one sentence.
    pub what: String,
    /// The measured evidence, with numbers.
    pub evidence: String,
    /// What to do about it: an option, a command or a change of the machine. Empty if the finding
    /// names no remedy. JSON has it under the key `mend`; text has [`Finding::to_fix`].
    #[serde(rename = "mend")]
    pub remedy: String,
    /// Where the option is set; else where the job begins.
    #[serde(flatten)]
    pub location: Option<Location>,
    /// The documented name of the option concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// What the finding states, as data. Empty if it was read and this version does not understand it.
    #[serde(deserialize_with = "understood", skip_serializing_if = "Claim::is_empty")]
    pub claim: Claim,
}

fn understood<'de, D: Deserializer<'de>>(from: D) -> Result<Claim, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

impl Finding {
    /// The position of the finding among others: all outputs sort by it. The worst come first, and damaged data comes
    /// before everything else.
    #[must_use]
    pub fn rank(&self) -> (Reverse<Severity>, bool) {
        (Reverse(self.severity), self.id != BAD_DATA)
    }

    /// The remedy as text shows it: `To fix: …`; `None` if the finding names no remedy.
    #[must_use]
    pub fn to_fix(&self) -> Option<String> {
        (!self.remedy.is_empty()).then(|| to_fix(&self.remedy))
    }
}

/// The start that every remedy has in text.
#[must_use]
pub fn to_fix(remedy: &str) -> String {
    format!("To fix: {remedy}")
}

/// A place in a job file or on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file's path as given, `-` for standard input or `command line`.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Something that a run could not do as asked; the run continued without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunWarning {
    /// The job concerned; `None` for the whole run.
    pub job: Option<String>,
    /// What the run could not do, in one sentence.
    pub what: String,
}
