//! Flags as `0` and `1`, as fio's JSON has them.

use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(flag: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u8(u8::from(*flag))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(u8::deserialize(from)? != 0)
}

/// Flags that may be unknown.
pub(crate) mod option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(flag: &Option<bool>, to: S) -> Result<S::Ok, S::Error> {
        flag.map(u8::from).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<bool>, D::Error> {
        Ok(Option::<u8>::deserialize(from)?.map(|flag| flag != 0))
    }
}
