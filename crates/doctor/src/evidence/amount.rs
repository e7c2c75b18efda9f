//! Formats numbers for the sentences of findings, and keeps them for their claims.

use fiord_stat::claim::{ClaimedNumber, ClaimedUnit};
use fiord_types::{Bytes, plural};

/// Formats a number of bytes: `4.0 KiB`, `1.5 GiB`. Exact below 1 KiB.
pub(crate) fn bytes(amount: Bytes) -> String {
    shown(amount.as_f64(), ClaimedUnit::Bytes)
}

/// Formats a count: `950`, `12.3k`, `4.0M`.
pub(crate) fn count(n: f64) -> String {
    shown(n, ClaimedUnit::Count)
}

/// Formats a time in nanoseconds: `800 ns`, `4.7 us`, `1.2 s`.
pub(crate) fn time(ns: f64) -> String {
    shown(ns, ClaimedUnit::Ns)
}

/// Formats a share (1.0 is all) in per cent: `0.4 %`, `37 %`.
pub(crate) fn percent(share: f64) -> String {
    shown(share, ClaimedUnit::Share)
}

fn shown(value: f64, unit: ClaimedUnit) -> String {
    ClaimedNumber::new("", value, unit).to_string()
}

/// Formats the numbers of a finding and keeps them, so that its claim has the numbers of its sentences.
#[derive(Debug, Clone, Default)]
pub(crate) struct SaidNumbers(Vec<ClaimedNumber>);

impl SaidNumbers {
    /// Formats a number of bytes as [`bytes`].
    pub(crate) fn bytes(&mut self, name: &str, amount: Bytes) -> String {
        self.say(name, amount.as_f64(), ClaimedUnit::Bytes)
    }

    /// Formats a count as [`count`].
    pub(crate) fn count(&mut self, name: &str, n: f64) -> String {
        self.say(name, n, ClaimedUnit::Count)
    }

    /// Formats a number of things: `1 read`, `12.3k reads`.
    pub(crate) fn things(&mut self, name: &str, n: u64, thing: &str) -> String {
        format!("{} {thing}{}", self.count(name, n as f64), plural(n))
    }

    /// Formats a time in nanoseconds as [`time`].
    pub(crate) fn time(&mut self, name: &str, ns: f64) -> String {
        self.say(name, ns, ClaimedUnit::Ns)
    }

    /// Formats a share as [`percent`].
    pub(crate) fn percent(&mut self, name: &str, share: f64) -> String {
        self.say(name, share, ClaimedUnit::Share)
    }

    /// Keeps a count that the sentence shows with all of its digits.
    pub(crate) fn exact(&mut self, name: &str, n: u64) -> u64 {
        self.say(name, n as f64, ClaimedUnit::Count);
        n
    }

    /// Keeps a count that the sentence shows with one decimal.
    pub(crate) fn decimal(&mut self, name: &str, n: f64) -> String {
        self.say(name, n, ClaimedUnit::Count);
        format!("{n:.1}")
    }

    fn say(&mut self, name: &str, value: f64, unit: ClaimedUnit) -> String {
        let number = ClaimedNumber::new(name, value, unit);
        let text = number.to_string();
        // JSON has no number for a value that is not finite.
        self.0.extend(value.is_finite().then_some(number));
        text
    }
}

impl IntoIterator for SaidNumbers {
    type Item = ClaimedNumber;
    type IntoIter = std::vec::IntoIter<ClaimedNumber>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
