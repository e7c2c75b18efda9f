//! JSON whose missing parts have defaults: 0, an empty text, an empty list. A part of another type counts as
//! missing. Objects keep repeated keys, because fio repeats an option that a job sets twice.

use std::fmt;

use fiord_types::{Bytes, Errno, Nanos};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};

/// Maximum integer that every JSON reader can represent. No run reaches it, and sums of such integers fit into
/// 64 bits.
const MAX_INTEGER: u64 = 1 << 53;

/// A JSON value.
#[derive(Debug)]
pub(super) enum Value {
    /// `null` or a missing value.
    Missing,
    Flag(bool),
    Integer(u64),
    /// A number with a fraction, a negative or a large one.
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Missing)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Object(entries))
    }
}

/// A value, possibly missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a>(pub &'a Value);

impl<'a> Node<'a> {
    /// The value of a key.
    pub(super) fn get(self, key: &str) -> Node<'a> {
        self.find(key).unwrap_or(Node(&Value::Missing))
    }

    /// Whether the object has the key.
    pub(super) fn has(self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The value of a key, if the object has it.
    pub(super) fn find(self, key: &str) -> Option<Node<'a>> {
        let Value::Object(entries) = self.0 else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| Node(value))
    }

    pub(super) fn text(self, key: &str) -> String {
        self.get(key).string()
    }

    pub(super) fn float(self, key: &str) -> f64 {
        self.get(key).number()
    }

    pub(super) fn whole(self, key: &str) -> u64 {
        self.get(key).integer()
    }

    /// A number of bytes.
    pub(super) fn bytes(self, key: &str) -> Bytes {
        Bytes(self.whole(key))
    }

    /// A time in nanoseconds.
    pub(super) fn nanos(self, key: &str) -> Nanos {
        Nanos(self.whole(key))
    }

    /// A time in milliseconds; at most [`Nanos::MAX`].
    pub(super) fn millis(self, key: &str) -> Nanos {
        Nanos::from_millis(self.whole(key))
    }

    /// A number that fits into 32 bits; the largest one if it does not.
    pub(super) fn small(self, key: &str) -> u32 {
        u32::try_from(self.whole(key)).unwrap_or(u32::MAX)
    }

    /// The number of an error; 0 means that there is none.
    pub(super) fn errno(self, key: &str) -> Option<Errno> {
        let number = i32::try_from(self.whole(key)).unwrap_or(i32::MAX);
        (number != 0).then(|| Errno::from_raw(number))
    }

    /// Whether a number is above 0.
    pub(super) fn flag(self, key: &str) -> bool {
        self.whole(key) > 0
    }

    /// The value itself as a number.
    pub(super) fn number(self) -> f64 {
        match self.0 {
            Value::Integer(value) => *value as f64,
            Value::Number(value) => *value,
            _ => 0.0,
        }
    }

    /// The value itself as an integer. Fractions are cut off, and integers above [`MAX_INTEGER`] count as that.
    pub(super) fn integer(self) -> u64 {
        match self.0 {
            Value::Integer(value) => (*value).min(MAX_INTEGER),
            // The cast saturates.
            _ => (self.number() as u64).min(MAX_INTEGER),
        }
    }

    fn string(self) -> String {
        match self.0 {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        }
    }

    pub(super) fn has_list(self, key: &str) -> bool {
        matches!(self.get(key).0, Value::List(_))
    }

    /// The elements of a list.
    pub(super) fn list(self, key: &str) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let list = match self.get(key).0 {
            Value::List(list) => list.as_slice(),
            _ => &[],
        };
        list.iter().map(Node)
    }

    /// Reads a value by the rules of its type. A part of another type counts as missing, as everywhere: only this part is
    /// left out.
    pub(super) fn read<T: DeserializeOwned + Default>(self) -> T {
        let mut tree = self.to_json();
        let is_read = |tree: serde_json::Value| serde_json::from_value::<T>(tree).is_ok();
        match serde_json::from_value(tree.clone()) {
            Ok(value) => value,
            Err(_) if prune(&mut tree, &is_read) => {
                serde_json::from_value(tree).unwrap_or_default()
            }
            Err(_) => T::default(),
        }
    }

    /// The value as plain JSON.
    fn to_json(self) -> serde_json::Value {
        match self.0 {
            Value::Missing => serde_json::Value::Null,
            Value::Flag(flag) => (*flag).into(),
            Value::Integer(value) => (*value).into(),
            Value::Number(value) if value.fract() == 0.0 && value.abs() <= MAX_INTEGER as f64 => {
                (*value as i64).into()
            }
            Value::Number(value) => (*value).into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(list) => list.iter().map(|value| Node(value).to_json()).collect(),
            Value::Object(entries) => {
                let entry = |(key, value): &(String, Value)| (key.clone(), Node(value).to_json());
                serde_json::Value::Object(entries.iter().map(entry).collect())
            }
        }
    }

    /// The keys and values of an object, in their order.
    pub(super) fn entries(self, key: &str) -> impl Iterator<Item = (&'a str, Node<'a>)> + use<'a> {
        let entries = match self.get(key).0 {
            Value::Object(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(key, value)| (key.as_str(), Node(value)))
    }

    /// The texts of the object itself: name and value.
    pub(super) fn pairs(self) -> Vec<(String, String)> {
        let entries = match self.0 {
            Value::Object(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(name, value)| (name.clone(), Node(value).string())).collect()
    }

    /// An object of options: name and value.
    pub(super) fn options(self, key: &str) -> Vec<(String, String)> {
        self.entries(key).map(|(name, value)| (name.to_owned(), value.string())).collect()
    }

    /// An object with `N` numbers; numbers that are missing at its end are 0.
    pub(super) fn shares<const N: usize>(self, key: &str) -> [f64; N] {
        let mut all = [0.0; N];
        for (share, (_, value)) in all.iter_mut().zip(self.entries(key)) {
            *share = value.number();
        }
        all
    }
}

/// Removes the parts of an object or a list that keep it from being read. Returns whether the rest can be read.
fn prune(part: &mut serde_json::Value, is_read: &dyn Fn(serde_json::Value) -> bool) -> bool {
    if is_read(part.clone()) {
        return true;
    }
    match part {
        serde_json::Value::Object(entries) => entries.retain(|key, value| {
            prune(value, &|value| is_read([(key.clone(), value)].into_iter().collect()))
        }),
        serde_json::Value::Array(list) => {
            list.retain_mut(|element| prune(element, &|element| is_read(vec![element].into())));
        }
        _ => return false,
    }
    is_read(part.clone())
}
