//! Seeds: one for each instance, all from one number.

use crate::facts::Facts;
use crate::reading::Reading;

/// What `randseed` is when nobody sets it.
const DEFAULT_SEED: u64 = 0x89;

/// The seed of the whole run as this job sees it: `randseed` when it was set, else the default
/// with `randrepeat`, else a new one for each run (`fresh`).
pub(crate) fn base(job: Reading, fresh: u64) -> u64 {
    if job.is_set("randseed") {
        job.int("randseed").map_or(DEFAULT_SEED, |v| v as u64)
    } else if job.flag("randrepeat") {
        DEFAULT_SEED
    } else {
        fresh
    }
}

/// The number that runs with `randrepeat=0` are seeded from.
pub(crate) fn fresh(facts: &dyn Facts) -> u64 {
    mix(facts.entropy(), 0)
}

/// SplitMix64 (Steele, Lea, Flood 2014) of a number and a salt: seeds that differ in one bit are
/// unrelated.
pub(crate) fn mix(seed: u64, salt: u64) -> u64 {
    let mut z = seed.wrapping_add(salt.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number that depends on all bytes of a text (FNV-1a, 64 bits): the same file has the same draw
/// in every job that shares it.
pub(crate) fn of_text(text: &[u8]) -> u64 {
    text.iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}
