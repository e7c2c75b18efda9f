//! Random seeds: each instance has its own, derived from one number.

use fiord_job::option::table::{RANDREPEAT, RANDSEED};

use crate::machine::facts::Facts;
use crate::options::reading::Reading;

/// The base seed of a job: `randseed` if the job sets it, otherwise the default with `randrepeat`,
/// otherwise the seed of this run (`fresh`).
pub(crate) fn base(job: Reading, fresh: u64) -> u64 {
    match job.explicit(RANDSEED) {
        Some(seed) => seed,
        None if job.get(RANDREPEAT) => job.get(RANDSEED),
        None => fresh,
    }
}

/// A new seed for jobs with `randrepeat=0`.
pub(crate) fn fresh(facts: &dyn Facts) -> u64 {
    mix(facts.entropy(), 0)
}

/// Hashes a number and a salt with SplitMix64 (Steele, Lea, Flood 2014): inputs that differ in one
/// bit give unrelated results.
pub(crate) fn mix(seed: u64, salt: u64) -> u64 {
    let mut z = seed.wrapping_add(salt.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes a text (FNV-1a, 64 bits), so that all jobs that share a file draw the same value for it.
pub(crate) fn of_text(text: &[u8]) -> u64 {
    text.iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}
