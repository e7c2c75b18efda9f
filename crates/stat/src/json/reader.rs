//! A reader of JSON trees for serde.
//!
//! For each type, serde compiles all forms of it that the reader offers. The reader of `serde_json` reads a struct also from
//! an array, and contains the code that parses numbers and texts. This one reads a struct from an object only, and what
//! does not depend on the type is in functions without type parameters. This makes the code of a type half as large.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Number, Value};

/// Reads a tree.
pub(super) struct TreeReader(pub(super) Value);

/// The methods for numbers. A number of a tree has one of three types; a visitor converts it or refuses it.
macro_rules! numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0 {
                Value::Number(number) => visit_number(&number, visitor),
                other => Err(wrong(&other, &visitor)),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for TreeReader {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => visit_number(&number, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(elements) => visitor.visit_seq(Elements(elements.into_iter())),
            Value::Object(entries) => visitor.visit_map(Entries::of(entries)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            other => Err(wrong(&other, &visitor)),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            other => Err(wrong(&other, &visitor)),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => Err(wrong(&other, &visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let elements = match self.0 {
            Value::Array(elements) => elements,
            other => return Err(wrong(&other, &visitor)),
        };
        let len = elements.len();
        let mut elements = Elements(elements.into_iter());
        let value = visitor.visit_seq(&mut elements)?;
        match elements.0.len() {
            0 => Ok(value),
            _ => Err(too_long(len)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(entries) => visitor.visit_map(Entries::of(entries)),
            other => Err(wrong(&other, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(variant_of(self.0)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

/// Passes a number on in the type that it has.
fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    if let Some(number) = number.as_u64() {
        visitor.visit_u64(number)
    } else if let Some(number) = number.as_i64() {
        visitor.visit_i64(number)
    } else {
        visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
    }
}

/// The elements of an array.
struct Elements(std::vec::IntoIter<Value>);

impl<'de> SeqAccess<'de> for Elements {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        match self.0.next() {
            Some(element) => seed.deserialize(TreeReader(element)).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The entries of an object.
struct Entries {
    entries: serde_json::map::IntoIter,
    /// The entry whose key has been read.
    entry: Option<(String, Value)>,
}

impl Entries {
    fn of(entries: Map<String, Value>) -> Self {
        Entries { entries: entries.into_iter(), entry: None }
    }

    /// Takes the value of the entry whose key has been read.
    fn take(&mut self) -> (String, Value) {
        self.entry.take().unwrap_or_default()
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.entry = self.entries.next();
        match &self.entry {
            Some((key, _)) => seed.deserialize(Key(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let (key, value) = self.take();
        seed.deserialize(TreeReader(value)).map_err(|error| within(&key, &error))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// The key of an entry. A number that is a key is a text in JSON.
struct Key<'a>(&'a str);

/// The methods for numbers that are keys.
macro_rules! number_keys {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse::<Number>() {
                Ok(number) => visit_number(&number, visitor),
                Err(_) => Err(Error::invalid_type(Unexpected::Str(self.0), &visitor)),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Error;

    number_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Variant { name: self.0.to_owned(), contents: None })
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A variant of an enum: its name alone, or an object with one entry.
struct Variant {
    name: String,
    contents: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Contents;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Contents), Error> {
        let name: StrDeserializer<'_, Error> = self.name.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, Contents(self.contents)))
    }
}

/// What a variant contains.
struct Contents(Option<Value>);

impl Contents {
    fn reader(self) -> Result<TreeReader, Error> {
        self.0
            .map(TreeReader)
            .ok_or_else(|| Error::custom("the contents of the variant are missing"))
    }
}

impl<'de> VariantAccess<'de> for Contents {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            None | Some(Value::Null) => Ok(()),
            Some(value) => {
                Err(Error::invalid_type(unexpected(&value), &"a variant without contents"))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.reader()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Error> {
        self.reader()?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.reader()?.deserialize_map(visitor)
    }
}

/// The variant that a tree names.
fn variant_of(tree: Value) -> Result<Variant, Error> {
    match tree {
        Value::String(name) => Ok(Variant { name, contents: None }),
        Value::Object(entries) => {
            let mut entries = entries.into_iter();
            match (entries.next(), entries.next()) {
                (Some((name, contents)), None) => Ok(Variant { name, contents: Some(contents) }),
                _ => Err(Error::custom("expected an object with one entry, the name of a variant")),
            }
        }
        other => Err(Error::invalid_type(unexpected(&other), &"the name of a variant")),
    }
}

/// The error of a value of another type.
#[cold]
#[inline(never)]
fn wrong(found: &Value, expected: &dyn Expected) -> Error {
    Error::invalid_type(unexpected(found), expected)
}

fn unexpected(found: &Value) -> Unexpected<'_> {
    match found {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => Unexpected::Unsigned(number),
            (_, Some(number), _) => Unexpected::Signed(number),
            (_, _, number) => Unexpected::Float(number.unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

/// The error of an array with more elements than the value has.
#[cold]
#[inline(never)]
fn too_long(len: usize) -> Error {
    Error::invalid_length(len, &"fewer elements")
}

/// An error, with the name of the field in which it is.
#[cold]
#[inline(never)]
fn within(field: &str, error: &Error) -> Error {
    Error::custom(format_args!("{field}: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::super::{from_value, read, to_value};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct All {
        truth: bool,
        small: i8,
        large: u64,
        ratio: f64,
        letter: char,
        nothing: Option<u8>,
        some: Option<String>,
        pair: (u8, Unit),
        list: Vec<Shape>,
        by_number: BTreeMap<u32, String>,
        by_shape: BTreeMap<Shape, Newtype>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Unit;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Newtype(u16);

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    enum Shape {
        Point,
        Circle(u8),
        Line(u8, u8),
        Text { size: u8 },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Short { length: u64 },
        Long { parts: Vec<u64> },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flat {
        id: u8,
        #[serde(flatten)]
        rest: Tagged,
    }

    fn all() -> All {
        let list = vec![Shape::Point, Shape::Circle(1), Shape::Line(1, 2), Shape::Text { size: 3 }];
        All {
            truth: true,
            small: -8,
            large: u64::MAX,
            ratio: 0.1 + 0.2,
            letter: '√',
            nothing: None,
            some: Some("a\"b".into()),
            pair: (7, Unit),
            list,
            by_number: [(1, "one".into()), (u32::MAX, "most".into())].into(),
            by_shape: [(Shape::Point, Newtype(5))].into(),
        }
    }

    #[test]
    fn all_forms_of_types_are_read_back() {
        let tree = to_value(&all()).unwrap();
        assert_eq!(from_value::<All>(tree).unwrap(), all());
        let flat = Flat { id: 1, rest: Tagged::Long { parts: vec![1, 2] } };
        assert_eq!(from_value::<Flat>(to_value(&flat).unwrap()).unwrap(), flat);
        assert_eq!(
            read::<Tagged>(r#"{"length": 3, "kind": "Short"}"#).unwrap(),
            Tagged::Short { length: 3 }
        );
        assert_eq!(read::<f64>("3").unwrap(), 3.0);
        assert_eq!(read::<[u8; 2]>("[1, 2]").unwrap(), [1, 2]);
    }

    #[test]
    fn errors_say_what_is_wrong_and_in_which_field() {
        let with = |field: &str, value: serde_json::Value| {
            let mut tree = to_value(&all()).unwrap();
            tree[field] = value;
            from_value::<All>(tree).unwrap_err().to_string()
        };
        assert_eq!(with("small", json!(300)), "small: invalid value: integer `300`, expected i8");
        assert_eq!(with("truth", json!(1)), "truth: invalid type: integer `1`, expected a boolean");
        assert_eq!(with("some", json!([])), "some: invalid type: sequence, expected a string");
        assert!(
            with("list", json!([{"Text": {"size": "x"}}])).starts_with("list: size: invalid type")
        );
        assert!(with("list", json!(["Square"])).starts_with("list: unknown variant `Square`"));
        assert!(with("list", json!(["Circle"])).contains("contents of the variant are missing"));
        assert!(with("list", json!([{"Circle": 1, "Point": null}])).contains("one entry"));
        assert!(with("pair", json!([1, null, 3])).contains("invalid length 3"));
        assert!(with("by_number", json!({"x": "one"})).contains("invalid type: string \"x\""));
        assert!(with("more", json!(1)).starts_with("unknown field `more`"));
        assert_eq!(read::<All>("{}").unwrap_err().to_string(), "missing field `truth`");
        assert!(read::<All>("[true]").unwrap_err().to_string().contains("invalid type: sequence"));
    }
}
