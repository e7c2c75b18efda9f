//! Faults that a simulated device injected (`sim_faults`, `sim_crash`).

use std::borrow::Cow;

use fiord_types::Bytes;
use serde::{Deserialize, Serialize, Serializer};

/// Maximum number of faults that an entry of the report lists. The others are only counted.
const MAX_LISTED: usize = 1000;

/// The faults that simulated devices injected into the I/Os of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FaultReport {
    /// Number of faults by their word in `sim_faults`.
    #[serde(deserialize_with = "by_word::deserialize")]
    pub counts: Vec<(FaultWord, u64)>,
    /// The first of them.
    pub list: Vec<FaultEntry>,
}

/// The word of a fault in `sim_faults`, or `crash`.
pub type FaultWord = Cow<'static, str>;

/// A fault that was injected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultEntry {
    /// What happened.
    pub kind: FaultWord,
    /// Number of the I/O or flush in the job, from 1 in the order of submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<u64>,
    /// Path of the file.
    pub file: String,
    /// First byte of the I/O.
    pub offset: Bytes,
    /// Length of the I/O; of a crash: number of bytes in the writes that were lost.
    #[serde(rename = "length")]
    pub len: Bytes,
    /// The other place: where the data of a misdirected write went, or that of a misdirected read came from; the
    /// partner of a swapped write.
    #[serde(rename = "other_offset", skip_serializing_if = "Option::is_none")]
    pub other: Option<Bytes>,
    /// The first byte that a torn write did not store, relative to the offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torn_at: Option<Bytes>,
    /// How far the bytes were shifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shifted_by: Option<i64>,
    /// Positions of the flipped bits, relative to the offset: 8 times the byte plus the bit, of which 0 is the lowest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bits: Vec<u64>,
}

impl FaultReport {
    /// Number of all faults.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Counts a fault. Returns whether the list has it.
    pub fn add(&mut self, fault: FaultEntry) -> bool {
        self.count(&fault.kind, 1);
        let listed = self.list.len() < MAX_LISTED;
        if listed {
            self.list.push(fault);
        }
        listed
    }

    fn count(&mut self, kind: &FaultWord, more: u64) {
        match self.counts.iter_mut().find(|(mine, _)| mine == kind) {
            Some((_, count)) => *count = count.saturating_add(more),
            None => self.counts.push((kind.clone(), more)),
        }
    }

    /// Adds the faults of another job.
    pub fn merge(&mut self, other: &FaultReport) {
        other.counts.iter().for_each(|(kind, more)| self.count(kind, *more));
        let room = MAX_LISTED.saturating_sub(self.list.len());
        self.list.extend(other.list.iter().take(room).cloned());
    }
}

impl Serialize for FaultReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stored<'a> {
            total: u64,
            #[serde(serialize_with = "by_word::serialize")]
            counts: &'a [(FaultWord, u64)],
            list: &'a [FaultEntry],
        }
        Stored { total: self.total(), counts: &self.counts, list: &self.list }.serialize(to)
    }
}

/// Counts as an object, whose keys are the words of the faults.
mod by_word {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::{Map, Value};

    use super::FaultWord;

    pub(super) fn serialize<S: Serializer>(
        counts: &[(FaultWord, u64)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(counts.iter().map(|(word, count)| (word, count)))
    }

    /// Keeps the order of the keys.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(FaultWord, u64)>, D::Error> {
        let counts = Map::<String, Value>::deserialize(from)?;
        let count = |(word, count): (String, Value)| (word.into(), count.as_u64().unwrap_or(0));
        Ok(counts.into_iter().map(count).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_counts_and_joins_lists() {
        let report = |kind: &str, n: usize| FaultReport {
            counts: vec![(kind.to_owned().into(), n as u64)],
            list: vec![FaultEntry { kind: kind.to_owned().into(), ..FaultEntry::default() }; n],
        };
        let mut all = report("lost", 3);
        all.merge(&report("torn", 2));
        all.merge(&report("lost", 2000));
        assert_eq!(all.counts, [("lost".into(), 2003), ("torn".into(), 2)]);
        assert_eq!((all.total(), all.list.len()), (2005, 1000));
    }
}
