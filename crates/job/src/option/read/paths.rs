//! File and directory names by colons; `\:` is a colon in a name.

use crate::option::value::{Bases, Value, ValueError};

/// `filename`, `directory`, `read_iolog`…: `/dev/sda:/dev/sdb`, `F\:\fiofile`.
///
/// Only `\:` is an escape: any other backslash is a character of the name. Empty names between
/// colons are left out.
pub fn paths(text: &str, _: &Bases) -> Result<Value, ValueError> {
    let mut list = Vec::new();
    let mut name = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                name.push(':');
            }
            ':' => list.push(std::mem::take(&mut name)),
            c => name.push(c),
        }
    }
    list.push(name);
    list.retain(|n| !n.is_empty());
    if list.is_empty() {
        return Err(ValueError::new("there is no name")
            .with_help("write one or more names by colons; a colon in a name is `\\:`"));
    }
    Ok(Value::Paths(list))
}
