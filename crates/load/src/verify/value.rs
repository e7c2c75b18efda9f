//! What a byte of the map says about its granule.

use crate::rng;

/// The byte of a granule that no write touched.
pub(super) const NEVER_WRITTEN: u8 = 0;
/// The byte of a granule whose contents are unknown.
pub(super) const UNKNOWN: u8 = 253;
/// The byte of a claimed granule.
pub(super) const IN_FLIGHT: u8 = 254;
/// The byte of a trimmed granule.
pub(super) const TRIMMED: u8 = 255;

/// Identifies a write among the writes of a granule, in one byte: 251 values.
///
/// A byte cannot tell all writes apart, so a stale block may have the value of the current write and pass. How
/// often this happens depends on the source of the value:
///
/// - [`of_generation`](Self::of_generation): a block that is stale by 1 to 250 generations never passes. One that is
///   stale by 251 generations, or a multiple of it, does.
/// - [`of_number`](Self::of_number): a stale block passes with a probability of 1/251 (0.4 %), independently of
///   other blocks, so `n` stale blocks all pass with a probability of 251 to the power of `-n`. The value is a hash of the
///   number for that reason. A job that rewrites a file in order numbers the old and the new write of each block with
///   the same distance; without a hash, either none of its stale blocks would pass or all of them.
///
/// ```
/// use fiord_load::verify::WriteValue;
///
/// let old = WriteValue::of_generation(1000);
/// let new = WriteValue::of_generation(1003);
/// assert_eq!(new.generations_since(old), 3);
/// assert_eq!(old.next(), WriteValue::of_generation(1001));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WriteValue(u8);

impl WriteValue {
    /// Number of different values.
    pub const COUNT: u8 = 251;

    /// The value of a write that has this number in this job. If headers on the target hold fewer bits of the
    /// number, pass only these bits, so that the value can be computed from a header.
    #[inline]
    #[must_use]
    pub fn of_number(number: u64, job: u32) -> WriteValue {
        let mut state = number ^ (u64::from(job) << 40).rotate_left(7);
        // The high half of the product maps 64 random bits to 0..COUNT.
        let wide = u128::from(rng::splitmix(&mut state)) * u128::from(Self::COUNT);
        WriteValue(1 + (wide >> 64) as u8)
    }

    /// The value of a write that has this generation.
    #[inline]
    #[must_use]
    pub fn of_generation(generation: u64) -> WriteValue {
        WriteValue(1 + (generation % u64::from(Self::COUNT)) as u8)
    }

    /// The value of the next generation.
    #[inline]
    #[must_use]
    pub fn next(self) -> WriteValue {
        WriteValue(if self.0 == Self::COUNT { 1 } else { self.0 + 1 })
    }

    /// Number of generations from `older` to this one, modulo [`COUNT`](Self::COUNT).
    #[inline]
    #[must_use]
    pub fn generations_since(self, older: WriteValue) -> u8 {
        if self.0 >= older.0 { self.0 - older.0 } else { self.0 + (Self::COUNT - older.0) }
    }

    /// The byte of the map.
    pub(super) fn byte(self) -> u8 {
        self.0
    }
}

/// What the map knows about a granule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GranuleState {
    /// No write of this run touched it.
    NeverWritten,
    /// The granule is claimed: a write, a trim or an exclusive read of it is under way.
    InFlight,
    /// A write of it failed or did not complete. It may contain the old data, the new data or parts of both, so it
    /// must not be judged.
    Unknown,
    /// The granule was trimmed after the last write.
    Trimmed,
    /// The granule contains this write.
    Written(WriteValue),
}

impl GranuleState {
    /// The state that a byte of the map means.
    #[inline]
    pub(super) fn of_byte(byte: u8) -> GranuleState {
        match byte {
            NEVER_WRITTEN => GranuleState::NeverWritten,
            IN_FLIGHT => GranuleState::InFlight,
            TRIMMED => GranuleState::Trimmed,
            1..=WriteValue::COUNT => GranuleState::Written(WriteValue(byte)),
            _ => GranuleState::Unknown,
        }
    }

    #[cfg(test)]
    pub(super) fn byte(self) -> u8 {
        match self {
            GranuleState::NeverWritten => NEVER_WRITTEN,
            GranuleState::InFlight => IN_FLIGHT,
            GranuleState::Unknown => UNKNOWN,
            GranuleState::Trimmed => TRIMMED,
            GranuleState::Written(value) => value.byte(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_a_byte() {
        for byte in (0..=WriteValue::COUNT).chain([UNKNOWN, IN_FLIGHT, TRIMMED]) {
            assert_eq!(GranuleState::of_byte(byte).byte(), byte);
        }
    }

    #[test]
    fn generations_are_counted_modulo_the_number_of_values() {
        for generation in 0..600u64 {
            let old = WriteValue::of_generation(generation);
            assert_eq!(old.next(), WriteValue::of_generation(generation + 1));
            for newer in 0..WriteValue::COUNT {
                let new = WriteValue::of_generation(generation + u64::from(newer));
                assert_eq!(new.generations_since(old), newer);
            }
        }
    }

    /// The numbers of the old and the new write differ by the number of blocks when a job rewrites its file in
    /// order. The multiples of 251 among them must not be worse than others.
    #[test]
    fn stale_blocks_of_sequential_rewrites_rarely_look_current() {
        for distance in [251, 502, 251 * 1024, 256, 1 << 20] {
            let equal = |number: &u64| {
                WriteValue::of_number(*number, 3) == WriteValue::of_number(number + distance, 3)
            };
            let missed = (0..100_000).filter(equal).count();
            // 398 are expected; the standard deviation is 20.
            assert!((298..498).contains(&missed), "{distance}: {missed}");
        }
        let equal =
            |number: &u64| WriteValue::of_number(*number, 3) == WriteValue::of_number(*number, 4);
        assert!((298..498).contains(&(0..100_000).filter(equal).count()));
    }

    #[test]
    fn all_values_are_used() {
        let mut seen = [0u32; 256];
        for number in 0..251_000 {
            seen[WriteValue::of_number(number, 0).byte() as usize] += 1;
        }
        assert!(seen[1..=251].iter().all(|n| (800..1200).contains(n)), "{seen:?}");
        assert_eq!(seen[1..=251].iter().sum::<u32>(), 251_000);
    }
}
