//! Numbers and bytes as hexadecimal digits in JSON. Many readers of JSON round integers above 2^53.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// A value of a fixed number of bytes, the first byte first.
pub(crate) trait Hex: Sized {
    fn to_bytes(&self) -> Vec<u8>;
    /// The value of these bytes; `None` if there are too many or too few.
    fn of_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Hex for u64 {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }
}

impl<const N: usize> Hex for [u8; N] {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_vec()
    }
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

pub(crate) fn serialize<T: Hex, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    let digits: String = value.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    to.serialize_str(&digits)
}

pub(crate) fn deserialize<'de, T: Hex, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let digits = String::deserialize(from)?;
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
    bytes.and_then(|bytes| T::of_bytes(&bytes)).ok_or_else(|| D::Error::custom("invalid digits"))
}
