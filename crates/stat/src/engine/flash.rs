//! Counts of what a job did to raw flash.

use serde::{Deserialize, Serialize};

use crate::named::{ByName, count_names};

count_names! {
    /// What is counted about raw flash.
    FlashCount {
        /// Erase blocks that the job erased, each as often as it was erased.
        Erases = "erases",
        /// Erase blocks that the job erased at least once. Jobs on the same flash count a block each.
        ErasedBlocks = "erased_blocks",
        /// Erases of the block that one job erased most.
        MostErases = "most_erases",
        /// Erase blocks in the job's region that are marked as bad.
        BadBlocks = "bad_blocks",
        /// I/Os that were not issued because they touch a bad block (`skip_bad`).
        Skipped = "skipped",
        /// Writes over flash that the job knew not to be erased: it then contains a mixture of old and new data.
        Overwrites = "overwrites",
        /// Wrong bits that the flash corrected during the job.
        CorrectedBits = "corrected_bits",
        /// Errors that the flash could not correct during the job. Its reads return such data without an error.
        Uncorrected = "uncorrected",
    }
}

/// What a job did to raw flash, and what the flash says about its errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlashCounts(#[serde(with = "ByName::<FlashCount>")] [u64; FlashCount::ALL.len()]);

impl FlashCounts {
    #[must_use]
    pub const fn get(&self, what: FlashCount) -> u64 {
        self.0[what as usize]
    }

    /// Adds to a count. Keeps the larger number for `MostErases`.
    pub fn add(&mut self, what: FlashCount, count: u64) {
        let now = &mut self.0[what as usize];
        *now = match what {
            FlashCount::MostErases => (*now).max(count),
            _ => now.saturating_add(count),
        };
    }

    /// Adds the counts of another flash or job.
    pub fn merge(&mut self, other: &FlashCounts) {
        FlashCount::ALL.into_iter().for_each(|what| self.add(what, other.get(what)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_counts_and_keeps_the_largest_number_of_erases() {
        let mut all = FlashCounts::default();
        for (erases, most) in [(10, 3), (5, 2)] {
            let mut one = FlashCounts::default();
            one.add(FlashCount::Erases, erases);
            one.add(FlashCount::MostErases, most);
            all.merge(&one);
        }
        assert_eq!((all.get(FlashCount::Erases), all.get(FlashCount::MostErases)), (15, 3));
        assert_eq!(FlashCount::ALL.map(|what| what as usize), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
