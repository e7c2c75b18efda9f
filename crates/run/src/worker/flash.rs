//! Warnings about what a job did to raw flash.

use fiord_stat::engine::{FlashCount, FlashCounts};
use fiord_types::plural;

/// Warnings about writes over older data, and about lost data.
pub(crate) fn warnings(counts: FlashCounts) -> impl Iterator<Item = String> {
    let overwrites = counts.get(FlashCount::Overwrites);
    let uncorrected = counts.get(FlashCount::Uncorrected);
    let mixed = (overwrites > 0).then(|| {
        format!(
            "{overwrites} write{} went to flash that was not erased, so it contains a mixture of old and new data. To \
             fix: erase each block before a write: use `rw=trimwrite`, or first run a job with `rw=trim`",
            plural(overwrites)
        )
    });
    let lost = (uncorrected > 0).then(|| {
        format!(
            "the flash could not correct {uncorrected} error{}, and the kernel returned the corrupt data without an \
             error",
            plural(uncorrected)
        )
    });
    mixed.into_iter().chain(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writes_over_data_and_lost_bits_are_worth_a_warning() {
        let mut counts = FlashCounts::default();
        for what in [FlashCount::Erases, FlashCount::Skipped, FlashCount::CorrectedBits] {
            counts.add(what, 3);
        }
        assert_eq!(warnings(counts).count(), 0);
        counts.add(FlashCount::Overwrites, 7);
        counts.add(FlashCount::Uncorrected, 2);
        let texts: Vec<String> = warnings(counts).collect();
        assert!(texts[0].starts_with("7 writes went to flash"), "{texts:?}");
        assert!(texts[1].contains("could not correct 2 errors"), "{texts:?}");
    }
}
