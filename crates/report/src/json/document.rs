//! JSON in fio's layout: two spaces per level, ` : ` after a key, six decimals.

use std::io::{self, Write};

/// A JSON value. Objects keep their order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with six decimals.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    Object(Vec<(String, Value)>),
    Array(Vec<Value>),
    /// An array of whole numbers on one line.
    Series(Vec<u64>),
}

pub(super) fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

pub(super) fn integer(value: impl Into<i128>) -> Value {
    Value::Integer(value.into())
}

/// JSON has no infinities and no NaN: they become 0.
pub(super) fn number(value: f64) -> Value {
    Value::Number(if value.is_finite() { value } else { 0.0 })
}

impl Value {
    /// A value of a type that is written by its own rules. `null` becomes an empty text. Leaves out keys that begin with
    /// `wire:`, which hosts send each other and readers of reports do not need.
    pub(super) fn of(value: &impl serde::Serialize) -> Value {
        // Only types without maps of other keys than text are passed, so this does not fail.
        Value::from_plain(serde_json::to_value(value).unwrap_or_default())
    }

    fn from_plain(value: serde_json::Value) -> Value {
        match value {
            serde_json::Value::Null => text(""),
            serde_json::Value::Bool(flag) => Value::Flag(flag),
            serde_json::Value::Number(value) => match (value.as_i64(), value.as_u64()) {
                (Some(value), _) => integer(value),
                (None, Some(value)) => integer(value),
                (None, None) => number(value.as_f64().unwrap_or(0.0)),
            },
            serde_json::Value::String(value) => Value::Text(value),
            serde_json::Value::Array(list) => {
                Value::Array(list.into_iter().map(Value::from_plain).collect())
            }
            serde_json::Value::Object(entries) => {
                let shown = entries.into_iter().filter(|(key, _)| !key.starts_with("wire:"));
                Value::Object(shown.map(|(key, value)| (key, Value::from_plain(value))).collect())
            }
        }
    }

    /// The keys of an object, and none of another value.
    pub(super) fn into_keys(self) -> Vec<(String, Value)> {
        if let Value::Object(keys) = self { keys } else { Vec::new() }
    }

    /// A value whose lists of whole numbers are each on one line.
    pub(super) fn with_series(self) -> Value {
        match self {
            Value::Array(list) => {
                Value::Series(list.into_iter().filter_map(Value::count).collect())
            }
            Value::Object(keys) => Value::Object(
                keys.into_iter().map(|(key, value)| (key, value.with_series())).collect(),
            ),
            other => other,
        }
    }

    fn count(self) -> Option<u64> {
        if let Value::Integer(number) = self { u64::try_from(number).ok() } else { None }
    }

    /// Writes the value as a document, with a line feed at its end.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.nested(0, out)?;
        writeln!(out)
    }

    fn nested(&self, level: usize, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Value::Text(value) => quoted(value, out),
            Value::Integer(value) => write!(out, "{value}"),
            Value::Number(value) => write!(out, "{value:.6}"),
            Value::Flag(value) => write!(out, "{value}"),
            Value::Object(keys) => {
                let write = |(key, value): &(String, Value), out: &mut dyn Write| {
                    quoted(key, out)?;
                    write!(out, " : ")?;
                    value.nested(level + 1, out)
                };
                list(('{', '}'), keys, level, write, out)
            }
            Value::Series(numbers) => {
                let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
                write!(out, "[{}]", words.join(", "))
            }
            Value::Array(values) => {
                let write = |value: &Value, out: &mut dyn Write| value.nested(level + 1, out);
                list(('[', ']'), values, level, write, out)
            }
        }
    }
}

/// A part of a document that is written piece by piece.
pub(super) enum Part<'a> {
    Whole(Value),
    /// An array, of which one element at a time is in memory.
    List(Box<dyn Iterator<Item = Value> + 'a>),
}

/// Writes an object as a document, with a line feed at its end. A run on many hosts has a long list of jobs, whose values
/// would need more memory than their results.
pub(super) fn write_parts(parts: Vec<(&str, Part<'_>)>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{")?;
    for (i, (key, part)) in parts.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}\n  ")?;
        quoted(key, out)?;
        write!(out, " : ")?;
        match part {
            Part::Whole(value) => value.nested(1, out)?,
            Part::List(values) => {
                write!(out, "[")?;
                for (i, value) in values.enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(out, "{comma}\n    ")?;
                    value.nested(2, out)?;
                }
                write!(out, "\n  ]")?;
            }
        }
    }
    writeln!(out, "\n}}")
}

fn list<T>(
    (open, close): (char, char),
    items: &[T],
    level: usize,
    write: impl Fn(&T, &mut dyn Write) -> io::Result<()>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "{open}")?;
    for (i, item) in items.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}\n{:w$}", "", w = (level + 1) * 2)?;
        write(item, out)?;
    }
    write!(out, "\n{:w$}{close}", "", w = level * 2)
}

fn quoted(value: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\"")?;
    for c in value.chars() {
        match c {
            '"' => write!(out, "\\\"")?,
            '\\' => write!(out, "\\\\")?,
            '\n' => write!(out, "\\n")?,
            '\r' => write!(out, "\\r")?,
            '\t' => write!(out, "\\t")?,
            c if (c as u32) < 0x20 => write!(out, "\\u{:04x}", c as u32)?,
            c => write!(out, "{c}")?,
        }
    }
    write!(out, "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout() {
        let value = Value::Object(vec![
            ("a\"b\\c\u{1}".into(), integer(-3)),
            ("n".into(), number(f64::NAN)),
            ("list".into(), Value::Array(vec![number(1.5), text("é\n")])),
        ]);
        let mut out = Vec::new();
        value.write(&mut out).expect("a vector takes everything");
        let expected = "{\n  \"a\\\"b\\\\c\\u0001\" : -3,\n  \"n\" : 0.000000,\n  \"list\" : [\n    \
                        1.500000,\n    \"é\\n\"\n  ]\n}\n";
        assert_eq!(String::from_utf8(out).expect("it is text"), expected);
    }
}
