//! How well the clock of a host is known, and why a host has no complete result.

use fiord_types::Nanos;
use serde::{Deserialize, Serialize, Serializer};

use crate::maps::is_default;
use crate::zero_one;

/// How well a host's clock is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockError {
    /// The times of this host differ from the coordinator's by at most this, after conversion.
    #[serde(rename = "clock_error_ns")]
    pub bound: Nanos,
    /// The fastest round trip of a probe.
    #[serde(default, rename = "round_trip_ns")]
    pub round_trip: Nanos,
}

/// Why a host has no complete result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFailure {
    /// What the run was doing, for messages: `while its jobs ran`.
    #[serde(default, rename = "failed_stage")]
    pub stage: HostStage,
    /// When, by the monotonic clock of the coordinator.
    #[serde(default, rename = "failed_at_ns")]
    pub at: Nanos,
    /// What happened: messages without the name of the host.
    #[serde(rename = "failure")]
    pub why: String,
    /// The host is not lost: its jobs are invalid there, its policy forbids them, or they failed before the start.
    #[serde(default, with = "zero_one", skip_serializing_if = "is_default")]
    pub refused: bool,
}

impl HostFailure {
    /// The first line of `why` without its remedy, for tables.
    #[must_use]
    pub fn cause(&self) -> &str {
        let line = self.why.lines().next().unwrap_or_default();
        let cause = line.split_once("To fix: ").map_or(line, |(cause, _)| cause);
        cause.trim_end().trim_end_matches(['.', ':'])
    }

    /// The remedy in the first line of `why`, as it is after `To fix: `.
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.why.lines().next()?.split_once("To fix: ").map(|(_, remedy)| remedy)
    }
}

/// The stages of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub enum HostStage {
    /// The connection is made, and both ends say who they are.
    #[default]
    Greet,
    /// The jobs are checked.
    Check,
    /// Files are laid out and opened, memory is allocated.
    LayOut,
    /// The clocks are compared before the run. This is the last stage before the start, because a layout can take hours,
    /// in which clocks drift.
    CompareClocks,
    /// The jobs run.
    Run,
    /// Results arrive.
    Collect,
    /// The clocks are compared after the run.
    CompareAgain,
    Done,
}

impl Serialize for HostStage {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.words())
    }
}

/// The stage with these [words](HostStage::words), or the first stage.
impl From<String> for HostStage {
    fn from(words: String) -> Self {
        use HostStage::*;
        let all = [Greet, Check, LayOut, CompareClocks, Run, Collect, CompareAgain, Done];
        all.into_iter().find(|stage| stage.words() == words).unwrap_or_default()
    }
}

impl HostStage {
    /// The stage as part of a sentence: `while its jobs ran`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            HostStage::Greet => "while the connection was made",
            HostStage::Check => "while its jobs were checked",
            HostStage::LayOut => "while its files were laid out",
            HostStage::CompareClocks => "while the clocks were compared",
            HostStage::Run => "while its jobs ran",
            HostStage::Collect => "while its results arrived",
            HostStage::CompareAgain => "while the clocks were compared after the run",
            HostStage::Done => "after its results had arrived",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_and_remedy() {
        let failed = |why: &str| HostFailure {
            why: why.into(),
            stage: HostStage::Check,
            at: Nanos::ZERO,
            refused: true,
        };
        let both = failed("no route: host down. To fix: start it\nsecond line");
        assert_eq!((both.cause(), both.remedy()), ("no route: host down", Some("start it")));
        let plain = failed("killed by signal 9");
        assert_eq!((plain.cause(), plain.remedy()), ("killed by signal 9", None));
        let jobs = failed("in these jobs:\n  here");
        assert_eq!((jobs.cause(), failed("").cause()), ("in these jobs", ""));
    }
}
