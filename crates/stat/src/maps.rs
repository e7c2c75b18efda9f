//! How serde writes some fields: lists of pairs as objects with numbers as keys, and fields with their default not at all.

use std::str::FromStr;

use fiord_types::Nanos;
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::{Map, Value};

/// Whether a field has its default and need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// Percentages and times, for `#[serde(with = "by_percent")]`. The keys have six decimals, as fio's have.
pub(crate) mod by_percent {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        list: &[(f64, Nanos)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(list.iter().map(|(percent, time)| (format!("{percent:.6}"), time)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(f64, Nanos)>, D::Error> {
        pairs(from, |percent, time| (percent, Nanos(time)))
    }
}

/// The buckets of a histogram, times and counts, for `#[serde(with = "by_time")]`.
pub(crate) mod by_time {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        list: &[(Nanos, u64)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(list.iter().map(|(time, count)| (time, count)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(Nanos, u64)>, D::Error> {
        pairs(from, |time, count| (Nanos(time), count))
    }
}

/// Reads pairs in their order. Leaves out those that are not numbers.
fn pairs<'de, D: Deserializer<'de>, K: FromStr, P>(
    from: D,
    pair: fn(K, u64) -> P,
) -> Result<Vec<P>, D::Error> {
    let entries = Map::<String, Value>::deserialize(from)?;
    let read = |(key, value): (String, Value)| Some(pair(key.parse().ok()?, value.as_u64()?));
    Ok(entries.into_iter().filter_map(read).collect())
}
