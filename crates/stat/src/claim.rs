//! What a finding states, as data: which jobs, which bytes, which numbers, and which options make it go away.
//!
//! A test, or a script, can compare a claim with the record of the run (`write_iolog`, `sim_record`). The sentences of the
//! finding are made of the same values.
//!
//! ```
//! use fiord_stat::claim::{ClaimedNumber, ClaimedUnit};
//!
//! let dirty = ClaimedNumber::new("dirty", 12_288.0, ClaimedUnit::Bytes);
//! assert_eq!(dirty.to_string(), "12 KiB");
//! ```

use std::fmt;

use fiord_types::Bytes;
use serde::{Deserialize, Serialize};

use crate::report::DirKind;
use crate::units::{self, Scaled};

/// What a finding states. Lists are empty if the finding states nothing of the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    /// Names of the jobs that the finding is about, if they are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    /// The bytes that the finding is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extents: Vec<ClaimedExtent>,
    /// The numbers in the sentences, before they were rounded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<ClaimedNumber>,
    /// The options that make the finding go away: the first alternative of the remedy. Empty if the remedy is a command, a
    /// change of the machine, or a decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ClaimedSetting>,
}

impl Claim {
    /// Whether the finding states nothing as data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Claim::default()
    }
}

/// Bytes of a file that a finding is about. If the finding is about several jobs, this holds for each of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedExtent {
    /// The file, as the job names it.
    pub file: String,
    /// The first byte.
    pub from: Bytes,
    /// The byte after the last one.
    pub to: Bytes,
    /// Direction of the I/Os.
    pub direction: DirKind,
    /// Which of these bytes the job touches.
    pub touched: ClaimedCoverage,
}

/// How much of an extent a job touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimedCoverage {
    /// Every byte.
    All,
    /// Some bytes; the job touches no byte of the file outside of the extent in this direction.
    Within,
    /// A relation that this version does not know.
    #[serde(other)]
    Other,
}

/// A number of a finding. [`Display`](fmt::Display) rounds it as the sentences of findings do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimedNumber {
    /// What the number is about: `dirty`, `rate_reached`.
    pub name: String,
    /// The value, in `unit`.
    pub value: f64,
    /// The unit of `value`.
    pub unit: ClaimedUnit,
}

/// The unit of a number of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedUnit {
    Bytes,
    /// I/Os, calls, jobs, or other things that are counted; also per second.
    Count,
    /// Nanoseconds.
    Ns,
    /// A part of a whole: 1 is all of it.
    Share,
    /// A unit that this version does not know.
    #[serde(other)]
    Other,
}

impl ClaimedNumber {
    /// Creates a number.
    #[must_use]
    pub fn new(name: &str, value: f64, unit: ClaimedUnit) -> Self {
        ClaimedNumber { name: name.to_owned(), value, unit }
    }
}

/// `12 KiB`, `4.7 us`, `12.3k`, `37 %`.
impl fmt::Display for ClaimedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scaled = |units: units::Units| units.of(self.value);
        match self.unit {
            ClaimedUnit::Bytes => f.write_str(&text(scaled(units::BINARY))),
            ClaimedUnit::Ns => f.write_str(&text(scaled(units::TIME))),
            ClaimedUnit::Count | ClaimedUnit::Other => {
                let scaled = scaled(units::COUNT);
                f.write_str(&scaled.joined(decimals(scaled)))
            }
            ClaimedUnit::Share => {
                let percent = self.value * 100.0;
                write!(f, "{percent:.*} %", usize::from(percent < 10.0))
            }
        }
    }
}

fn text(scaled: Scaled) -> String {
    scaled.text(decimals(scaled))
}

/// Returns the number of decimals: one, except for whole numbers that are large or have no unit
/// prefix.
fn decimals(scaled: Scaled) -> usize {
    usize::from(!(scaled.is_whole() && (scaled.index == 0 || scaled.value >= 10.0)))
}

/// An option that a remedy sets or leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedSetting {
    /// The job that gets the option, if it is not the job of the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The documented name of the option.
    pub option: String,
    /// The value that the option gets. `None`: the remedy leaves the option out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// `iodepth=16`, as in a job file; the name alone for an option that is left out.
impl fmt::Display for ClaimedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.option),
            None => f.write_str(&self.option),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_in_sentences() {
        let shown = |value, unit| ClaimedNumber::new("n", value, unit).to_string();
        assert_eq!(shown(512.0, ClaimedUnit::Bytes), "512 B");
        assert_eq!(shown(4096.0, ClaimedUnit::Bytes), "4.0 KiB");
        assert_eq!(shown(1.5 * f64::from(1 << 30), ClaimedUnit::Bytes), "1.5 GiB");
        assert_eq!(shown(950.0, ClaimedUnit::Count), "950");
        assert_eq!(shown(12_345.0, ClaimedUnit::Count), "12.3k");
        assert_eq!(shown(800.0, ClaimedUnit::Ns), "800 ns");
        assert_eq!(shown(4_700.0, ClaimedUnit::Ns), "4.7 us");
        assert_eq!(shown(0.004, ClaimedUnit::Share), "0.4 %");
        assert_eq!(shown(0.37, ClaimedUnit::Share), "37 %");
    }

    #[test]
    fn claims_of_other_versions_are_read() {
        let text = r#"{"extents": [{"file": "f", "from": 0, "to": 9, "direction": "read", "touched": "most"}],
            "numbers": [{"name": "n", "value": 3, "unit": "kelvin", "note": "x"}], "colour": 7,
            "settings": [{"option": "bs"}]}"#;
        let claim: Claim = serde_json::from_str(text).unwrap();
        assert_eq!(claim.extents[0].touched, ClaimedCoverage::Other);
        assert_eq!(claim.numbers, [ClaimedNumber::new("n", 3.0, ClaimedUnit::Other)]);
        assert_eq!(claim.settings[0].to_string(), "bs");
        assert!(!claim.is_empty() && Claim::default().is_empty());
        let back = serde_json::to_value(&claim).unwrap();
        assert_eq!(serde_json::from_value::<Claim>(back).unwrap(), claim);
    }
}
