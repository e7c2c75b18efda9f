//! The JSON of preconditioning (`fiord precondition --format=json`), which the command writes and the page reads.

use fiord_types::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Version of the document. A later version adds keys; it gets another number only if a key changes its meaning.
const VERSION: u32 = 1;

/// How devices were filled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PreconditionDocument {
    /// Version of the document.
    precondition: u32,
    /// Name and version of the program.
    pub version: String,
    /// The devices and files.
    pub targets: Vec<FilledTarget>,
    /// All of them are written, and steady if that was asked for.
    pub complete: bool,
    /// The document itself, for the data of the page.
    #[serde(skip)]
    pub json: String,
}

impl PreconditionDocument {
    /// A document of the current version.
    #[must_use]
    pub fn new(version: String, targets: Vec<FilledTarget>) -> Self {
        let complete = targets.iter().all(|target| target.end == FilledState::Written);
        let json = String::new();
        PreconditionDocument { precondition: VERSION, version, targets, complete, json }
    }

    /// The document as text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Writing plain values to memory cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Whether a later version of fiord wrote it, in which keys have another meaning.
    #[must_use]
    pub fn is_too_new(&self) -> bool {
        self.precondition > VERSION
    }
}

/// How a device or file was filled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilledTarget {
    /// The host that filled it; empty for the machine of the command.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Short name of the target.
    pub name: String,
    /// Path of the target as typed.
    pub path: String,
    /// Model of the disk; empty if unknown or for a file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// File systems, partition tables and partitions that were on it.
    pub contents: Vec<String>,
    /// How the command ended.
    pub end: FilledState,
    /// How the command ended, in a sentence, with the reason of a failure.
    pub outcome: String,
    /// Data that this call wrote sequentially.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Time that these writes took.
    #[serde(rename = "write_ns")]
    pub write_time: Nanos,
    /// The sequential passes of this call.
    pub passes: Vec<FilledPass>,
    /// The random writes; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random: Option<RandomWrites>,
}

/// How the writes of a device ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilledState {
    /// The device is fully written, and steady if that was asked for.
    Written,
    /// The device is fully written, but the limit ended the random writes before their rate was steady.
    NotSteady,
    /// A signal stopped the writes.
    Stopped,
    /// An error ended the writes.
    Failed,
    /// `--dry-run`: nothing was written.
    #[default]
    DryRun,
}

/// A sequential pass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilledPass {
    /// Which one, such as `1/2`.
    pub name: String,
    /// Extents of the pass, in the order in which they were written. Times count from the start of the command.
    pub extents: Vec<WriteStep>,
}

/// Random writes until the rate is steady.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RandomWrites {
    /// The intended duration of a round.
    #[serde(rename = "round_ns")]
    pub round: Nanos,
    /// Maximum duration of the random writes.
    #[serde(rename = "limit_ns")]
    pub limit: Nanos,
    /// The rounds. Times count from the start of the random writes.
    pub rounds: Vec<WriteStep>,
    /// The last rounds, by which the rate is judged; `None` if there were too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<SteadyRounds>,
}

/// An extent, or a round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WriteStep {
    /// When it began.
    #[serde(rename = "from_ns")]
    pub from: Nanos,
    /// When it ended.
    #[serde(rename = "to_ns")]
    pub to: Nanos,
    /// Writes per second.
    pub iops: f64,
    /// Bytes per second.
    #[serde(rename = "bw_bytes")]
    pub bw: Bytes,
}

/// The rounds by which the rate is judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SteadyRounds {
    /// The rate was steady.
    pub attained: bool,
    /// When the first of them began.
    #[serde(rename = "from_ns")]
    pub from: Nanos,
    /// When the last of them ended.
    #[serde(rename = "to_ns")]
    pub to: Nanos,
    /// Mean of the IOPS.
    pub iops: f64,
    /// The highest minus the lowest IOPS, per cent of the mean.
    pub range_percent: f64,
    /// Rise of the fitted line over these rounds, per cent of the mean.
    pub slope_percent: f64,
}
