//! Reading bad data again, to find out whether it is wrong on the medium or only on the way to the reader.
//!
//! [`Recheck`] says which read comes next, and draws the conclusion. It does no I/O.
//!
//! ```
//! use fiord_formats::integrity::recheck::{Recheck, Reread, RereadConclusion};
//!
//! let mut recheck = Recheck::new(true, 3);
//! while recheck.wants_another() {
//!     recheck.add(Reread::Right);
//! }
//! assert_eq!(recheck.conclusion(), Some(RereadConclusion::Cache));
//! ```

use serde::{Deserialize, Serialize};

/// The default number of reads.
pub const REREADS: u32 = 3;

/// Reads of one bad extent, each past all caches of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    /// The first, bad read could have come from the page cache.
    cached: bool,
    /// Reads that are still to be done.
    left: u32,
    /// Reads that returned right data, the bad data of the first read, other bad data, and errors.
    right: u32,
    same: u32,
    other: u32,
    failed: u32,
}

/// Result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reread {
    /// The data is right.
    Right,
    /// The data is wrong, and the first read had returned the same bytes.
    Same,
    /// The data is wrong, and differs from what the first read had returned.
    Other,
    /// The read failed.
    Failed,
}

/// What reads of a bad extent say about the place of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RereadConclusion {
    /// Every read returned the same wrong data: it is wrong on the medium.
    Medium,
    /// Every read returned right data, and the first read bypassed the caches as well: the data was damaged on its
    /// way to the reader.
    Transit,
    /// Every read past the cache returned right data: the page cache has wrong data, or the first read was damaged
    /// on its way.
    Cache,
    /// The reads differ.
    Unstable,
    /// No read succeeded.
    Unreadable,
}

impl RereadConclusion {
    pub const ALL: [RereadConclusion; 5] = [
        RereadConclusion::Medium,
        RereadConclusion::Transit,
        RereadConclusion::Cache,
        RereadConclusion::Unstable,
        RereadConclusion::Unreadable,
    ];

    /// The word of the conclusion in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RereadConclusion::Medium => "medium",
            RereadConclusion::Transit => "transit",
            RereadConclusion::Cache => "cache",
            RereadConclusion::Unstable => "unstable",
            RereadConclusion::Unreadable => "unreadable",
        }
    }

    /// What the conclusion means, in words.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            RereadConclusion::Medium => "every re-read returned the same: wrong on the medium",
            RereadConclusion::Transit => "every re-read was right: damaged on its way",
            RereadConclusion::Cache => {
                "every re-read past the cache was right: wrong in the page cache or on its way"
            }
            RereadConclusion::Unstable => "re-reads differ from each other",
            RereadConclusion::Unreadable => "every re-read failed",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        RereadConclusion::ALL.into_iter().find(|conclusion| conclusion.word() == word)
    }
}

impl Recheck {
    /// Begins with `reads` reads to do. `cached`: the first, bad read went through the page cache.
    #[must_use]
    pub fn new(cached: bool, reads: u32) -> Self {
        Recheck { cached, left: reads, right: 0, same: 0, other: 0, failed: 0 }
    }

    /// Whether to read the extent again, past all caches.
    #[must_use]
    pub fn wants_another(&self) -> bool {
        self.left > 0
    }

    /// Adds the result of a read.
    pub fn add(&mut self, result: Reread) {
        self.left = self.left.saturating_sub(1);
        let count = match result {
            Reread::Right => &mut self.right,
            Reread::Same => &mut self.same,
            Reread::Other => &mut self.other,
            Reread::Failed => &mut self.failed,
        };
        *count = count.saturating_add(1);
    }

    /// The conclusion; `None` while reads are left, or if there were none.
    #[must_use]
    pub fn conclusion(&self) -> Option<RereadConclusion> {
        if self.left > 0 {
            return None;
        }
        match (self.right, self.same, self.other, self.failed) {
            (0, 0, 0, 0) => None,
            (0, 0, 0, _) => Some(RereadConclusion::Unreadable),
            (_, 0, 0, 0) if self.cached => Some(RereadConclusion::Cache),
            (_, 0, 0, 0) => Some(RereadConclusion::Transit),
            (0, _, 0, 0) => Some(RereadConclusion::Medium),
            _ => Some(RereadConclusion::Unstable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions() {
        use Reread::*;
        let cases: [(bool, &[Reread], Option<RereadConclusion>); 8] = [
            (false, &[Same, Same, Same], Some(RereadConclusion::Medium)),
            (true, &[Same, Same, Same], Some(RereadConclusion::Medium)),
            (false, &[Right, Right, Right], Some(RereadConclusion::Transit)),
            (true, &[Right, Right, Right], Some(RereadConclusion::Cache)),
            (false, &[Same, Right, Same], Some(RereadConclusion::Unstable)),
            (false, &[Other, Other, Other], Some(RereadConclusion::Unstable)),
            (false, &[Failed, Failed, Failed], Some(RereadConclusion::Unreadable)),
            (false, &[], None),
        ];
        for (cached, results, conclusion) in cases {
            let mut recheck = Recheck::new(cached, results.len() as u32);
            for result in results {
                assert_eq!(recheck.conclusion(), None);
                assert!(recheck.wants_another());
                recheck.add(*result);
            }
            assert!(!recheck.wants_another());
            assert_eq!(recheck.conclusion(), conclusion, "{results:?}");
        }
    }

    #[test]
    fn words_are_read_as_written() {
        for conclusion in RereadConclusion::ALL {
            assert_eq!(RereadConclusion::from_word(conclusion.word()), Some(conclusion));
        }
    }
}
