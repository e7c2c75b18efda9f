//! Times in stored data whose unit is not the nanosecond.

use fiord_types::{Nanos, PerDir};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

/// A time that the text holds as a number of units of `UNIT` ns, for `#[serde(with = "Millis")]`. Writing rounds it
/// down, and reading stops at [`Nanos::MAX`].
pub(crate) struct TimeUnit<const UNIT: u64>;

/// Microseconds.
pub(crate) type Micros = TimeUnit<1000>;
/// Milliseconds.
pub(crate) type Millis = TimeUnit<1_000_000>;
pub(crate) type Seconds = TimeUnit<1_000_000_000>;

impl<const UNIT: u64> TimeUnit<UNIT> {
    pub(crate) fn serialize<T: TimeValues, S: Serializer>(
        times: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        times.numbers(|time| time.0 / UNIT).serialize(to)
    }
    pub(crate) fn deserialize<'de, T: TimeValues, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        Ok(T::of(T::Numbers::deserialize(from)?, |number| Nanos(number).saturating_mul(UNIT)))
    }
}

/// A time, or several.
pub(crate) trait TimeValues {
    /// What the text holds.
    type Numbers: Serialize + for<'de> Deserialize<'de>;
    fn numbers(&self, number: fn(Nanos) -> u64) -> Self::Numbers;
    fn of(numbers: Self::Numbers, time: fn(u64) -> Nanos) -> Self;
}

impl TimeValues for Nanos {
    type Numbers = u64;
    fn numbers(&self, number: fn(Nanos) -> u64) -> u64 {
        number(*self)
    }
    fn of(numbers: u64, time: fn(u64) -> Nanos) -> Self {
        time(numbers)
    }
}

impl TimeValues for Option<Nanos> {
    type Numbers = Option<u64>;
    fn numbers(&self, number: fn(Nanos) -> u64) -> Option<u64> {
        self.map(number)
    }
    fn of(numbers: Option<u64>, time: fn(u64) -> Nanos) -> Self {
        numbers.map(time)
    }
}

impl TimeValues for PerDir<Nanos> {
    type Numbers = PerDir<u64>;
    fn numbers(&self, number: fn(Nanos) -> u64) -> PerDir<u64> {
        self.map(number)
    }
    fn of(numbers: PerDir<u64>, time: fn(u64) -> Nanos) -> Self {
        numbers.map(time)
    }
}
