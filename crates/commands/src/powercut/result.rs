//! The result of a round.

use std::collections::BTreeMap;

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What ended the writes of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutKind {
    /// The writer was killed.
    Kill,
    /// The user cut the power of the target.
    Manual,
    /// A command of the user.
    Command,
    /// The whole machine was switched off.
    Machine,
}

impl CutKind {
    /// The word in tables and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CutKind::Kill => "kill",
            CutKind::Manual => "manual",
            CutKind::Command => "command",
            CutKind::Machine => "machine",
        }
    }
}

/// The result of a round in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoundVerdict {
    /// Everything that was promised is there.
    Passed,
    /// Acknowledged and flushed data is missing.
    Lost,
    /// Data is damaged or foreign.
    Corrupt,
    /// Nothing had been flushed, so nothing could be lost.
    Untested,
}

impl RoundVerdict {
    /// The word in tables and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RoundVerdict::Passed => "passed",
            RoundVerdict::Lost => "lost",
            RoundVerdict::Corrupt => "corrupt",
            RoundVerdict::Untested => "untested",
        }
    }

    /// Whether the target has broken a promise.
    #[must_use]
    pub fn is_broken(self) -> bool {
        matches!(self, RoundVerdict::Lost | RoundVerdict::Corrupt)
    }
}

/// What `fiord verify` says about a round; the part that the table shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct CheckReport {
    verdict: String,
    writes_issued: u64,
    writes_acknowledged: u64,
    writes_flushed: u64,
    flushes_completed: u64,
    blocks_checked: u64,
    blocks_lost: u64,
    blocks_out_of_order: u64,
    blocks_torn: u64,
    blocks_corrupt: u64,
    /// Blocks of earlier rounds that were checked. The other counts of blocks contain them.
    #[serde(default)]
    blocks_of_earlier_rounds: u64,
    #[serde(default)]
    faults: BTreeMap<String, serde_json::Value>,
}

impl CheckReport {
    /// Whether a read failed.
    pub(super) fn has_read_errors(&self) -> bool {
        self.faults.contains_key("read-error")
    }

    /// Whether data is missing or damaged.
    pub(super) fn is_broken(&self) -> bool {
        self.verdict().is_broken()
    }

    /// Adds the check of what an earlier round has written.
    pub(super) fn add_earlier(&mut self, earlier: CheckReport) {
        if earlier.is_broken() && self.verdict != "lost" {
            self.verdict = earlier.verdict;
        }
        self.blocks_of_earlier_rounds += earlier.blocks_checked;
        self.blocks_checked += earlier.blocks_checked;
        self.blocks_lost += earlier.blocks_lost;
        self.blocks_out_of_order += earlier.blocks_out_of_order;
        self.blocks_torn += earlier.blocks_torn;
        self.blocks_corrupt += earlier.blocks_corrupt;
        self.faults.extend(earlier.faults);
    }

    fn verdict(&self) -> RoundVerdict {
        match self.verdict.as_str() {
            "lost" => RoundVerdict::Lost,
            "corrupt" => RoundVerdict::Corrupt,
            _ if self.writes_flushed == 0 => RoundVerdict::Untested,
            _ => RoundVerdict::Passed,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundResult {
    /// Number of the round, from 1.
    round: u32,
    /// What ended the writes.
    pub cut: CutKind,
    /// Time from the first write to the cut; `None` if it is unknown.
    pub after: Option<Nanos>,
    report: CheckReport,
    pub verdict: RoundVerdict,
}

/// The headings of [`RoundResult::cells`].
pub(super) const HEADINGS: [&str; 11] = [
    "round",
    "cut",
    "after",
    "written",
    "acknowledged",
    "flushed",
    "lost",
    "out of order",
    "torn",
    "corrupt",
    "verdict",
];

impl RoundResult {
    /// Number of the round, from 1.
    pub(super) fn number(&self) -> u32 {
        self.round
    }

    /// Judges a round by its check.
    pub(super) fn new(round: u32, cut: CutKind, after: Option<Nanos>, report: CheckReport) -> Self {
        RoundResult { round, cut, after, verdict: report.verdict(), report }
    }

    /// The row of a table.
    pub(super) fn cells(&self) -> Vec<String> {
        let report = &self.report;
        let after = self.after.map_or("-".into(), |after| format!("{:.1} s", after.as_secs_f64()));
        vec![
            self.round.to_string(),
            self.cut.word().into(),
            after,
            report.writes_issued.to_string(),
            report.writes_acknowledged.to_string(),
            report.writes_flushed.to_string(),
            report.blocks_lost.to_string(),
            report.blocks_out_of_order.to_string(),
            report.blocks_torn.to_string(),
            report.blocks_corrupt.to_string(),
            self.verdict.word().into(),
        ]
    }

    /// The JSON object.
    pub(super) fn json(&self) -> Value {
        let report = &self.report;
        json!({
            "round": self.round,
            "cut": self.cut.word(),
            "after_ns": self.after,
            "writes_issued": report.writes_issued,
            "writes_acknowledged": report.writes_acknowledged,
            "writes_flushed": report.writes_flushed,
            "flushes_completed": report.flushes_completed,
            "blocks_checked": report.blocks_checked,
            "blocks_of_earlier_rounds": report.blocks_of_earlier_rounds,
            "blocks_lost": report.blocks_lost,
            "blocks_out_of_order": report.blocks_out_of_order,
            "blocks_torn": report.blocks_torn,
            "blocks_corrupt": report.blocks_corrupt,
            "verdict": self.verdict.word(),
        })
    }
}
