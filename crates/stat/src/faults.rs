//! Faults that a simulated device injected (`sim_faults`, `sim_crash`).

use serde::{Deserialize, Serialize};

use fiord_types::Bytes;

/// Maximum number of faults that an entry of the report lists. The others are only counted.
const MAX_LISTED: usize = 1000;

/// The faults that simulated devices injected into the I/Os of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultReport {
    /// Number of faults by their word in `sim_faults`.
    pub counts: Vec<(String, u64)>,
    /// The first of them.
    pub list: Vec<FaultEntry>,
}

/// A fault that was injected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultEntry {
    /// The word of the fault in `sim_faults`, or `crash`.
    pub kind: String,
    /// Number of the I/O or flush in the job, from 1.
    pub op: Option<u64>,
    /// Path of the file.
    pub file: String,
    /// First byte of the I/O.
    pub offset: Bytes,
    /// Length of the I/O; of a crash: number of bytes in the writes that were lost.
    pub len: Bytes,
    /// The other place of misdirected and swapped data.
    pub other: Option<Bytes>,
    /// The first byte that a torn write did not store, relative to the offset.
    pub torn_at: Option<Bytes>,
    /// How far the bytes were shifted.
    pub shifted_by: Option<i64>,
    /// Positions of the flipped bits, relative to the offset: 8 times the byte plus the bit, of which 0 is the lowest.
    pub bits: Vec<u64>,
}

impl FaultReport {
    /// Number of all faults.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// Adds the faults of another job.
    pub fn merge(&mut self, other: &FaultReport) {
        for (kind, more) in &other.counts {
            match self.counts.iter_mut().find(|(mine, _)| mine == kind) {
                Some((_, count)) => *count = count.saturating_add(*more),
                None => self.counts.push((kind.clone(), *more)),
            }
        }
        let room = MAX_LISTED.saturating_sub(self.list.len());
        self.list.extend(other.list.iter().take(room).cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_counts_and_joins_lists() {
        let report = |kind: &str, n: usize| FaultReport {
            counts: vec![(kind.into(), n as u64)],
            list: vec![FaultEntry { kind: kind.into(), ..FaultEntry::default() }; n],
        };
        let mut all = report("lost", 3);
        all.merge(&report("torn", 2));
        all.merge(&report("lost", 2000));
        assert_eq!(all.counts, [("lost".into(), 2003), ("torn".into(), 2)]);
        assert_eq!((all.total(), all.list.len()), (2005, 1000));
    }
}
