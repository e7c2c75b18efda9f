//! JSON of types that serde derives.
//!
//! serde compiles the code of a type again for each source and each form of JSON: text, bytes, a tree, with and without
//! indentation. These functions have one reader, of a tree (`reader.rs`), and one writer, without indentation, so all
//! code shares it.

mod reader;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

use reader::TreeReader;

/// Reads a value from a text.
///
/// ```
/// let facts: Vec<u8> = fiord_stat::json::read("[1, 2]")?;
/// assert_eq!(fiord_stat::json::to_value(&facts)?, serde_json::json!([1, 2]));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// The text is not JSON, or another value. The error begins with the names of the fields that lead to it.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    read_bytes(text.as_bytes())
}

/// Reads a value from the bytes of a text.
///
/// # Errors
/// As those of [`read`].
pub fn read_bytes<T: DeserializeOwned>(text: &[u8]) -> Result<T, Error> {
    from_value(tree(text)?)
}

/// Reads a value from a tree.
///
/// # Errors
/// The tree is another value. The error begins with the names of the fields that lead to it.
pub fn from_value<T: DeserializeOwned>(tree: Value) -> Result<T, Error> {
    T::deserialize(TreeReader(tree))
}

/// Parses a text. Compiled once.
#[inline(never)]
fn tree(text: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(text)
}

/// Whether a field has its default and need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// Turns a value into a tree.
///
/// # Errors
/// The value has keys that are not text.
pub fn to_value(value: &impl Serialize) -> Result<Value, Error> {
    tree(&serde_json::to_vec(value)?)
}

/// Writes a value with indentation.
///
/// # Errors
/// The value has keys that are not text.
pub fn to_string_pretty(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(&to_value(value)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn numbers_and_the_order_of_keys_survive_each_form() {
        let tree = json!({"z": 0.1 + 0.2, "a": u64::MAX, "m": -1, "e": 1e300, "none": null, "text": "\u{7f}\"\n√"});
        assert_eq!(super::to_value(&tree).unwrap(), tree);
        assert_eq!(super::from_value::<serde_json::Value>(tree.clone()).unwrap(), tree);
        let text = super::to_string_pretty(&tree).unwrap();
        assert_eq!(text, serde_json::to_string_pretty(&tree).unwrap());
        assert_eq!(super::read::<serde_json::Value>(&text).unwrap(), tree);
        assert!(super::read::<u8>("1 2").unwrap_err().to_string().contains("line 1"));
    }
}
