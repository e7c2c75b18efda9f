//! Counts with names: an array of numbers in memory, an object with a key for each count in stored data.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) trait CountName: Copy + 'static {
    /// All counts, in the order of their numbers.
    const NAMES: &'static [&'static str];
}

/// Defines an enum of counts with the key of each in reports.
macro_rules! count_names {
    ($(#[$about:meta])* $enum:ident { $($(#[$doc:meta])* $name:ident = $key:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $enum {
            $($(#[$doc])* $name,)*
        }

        impl $enum {
            pub const ALL: [$enum; [$($key),*].len()] = [$($enum::$name),*];
        }

        impl crate::named::CountName for $enum {
            const NAMES: &'static [&'static str] = &[$($key),*];
        }
    };
}
pub(crate) use count_names;

/// Writes and reads an array of counts, for `#[serde(with = "ByName::<FlashCount>")]`. A later version may add a count:
/// a name that is missing is zero, and one that this version does not know is ignored.
pub(crate) struct ByName<C>(PhantomData<C>);

/// The value of a name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Count(u64),
    Other(IgnoredAny),
}

impl<C: CountName> ByName<C> {
    pub(crate) fn serialize<S: Serializer, const N: usize>(
        counts: &[u64; N],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(C::NAMES.iter().zip(counts))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        from: D,
    ) -> Result<[u64; N], D::Error> {
        let named = BTreeMap::<Cow<'de, str>, Named>::deserialize(from)?;
        let count = |name: &&str| match named.get(*name) {
            Some(Named::Count(count)) => *count,
            Some(Named::Other(_)) | None => 0,
        };
        let mut counts = [0; N];
        counts.iter_mut().zip(C::NAMES).for_each(|(one, name)| *one = count(name));
        Ok(counts)
    }
}
