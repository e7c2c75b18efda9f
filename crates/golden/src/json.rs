//! JSON as text: a parser that keeps the order, repeated keys and how numbers are written, and
//! the comparison of two trees.

use crate::difference::{Difference, NotJson};

/// A value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// Keys and values in the order written; keys may repeat.
    Object(Vec<(String, Json)>),
    /// Elements.
    Array(Vec<Json>),
    /// A string with resolved escapes.
    Text(String),
    /// The digits of a number.
    Number(String),
    /// `true`, `false` or `null`.
    Word(String),
}

impl Json {
    /// Parses one document. Ignores white space around it.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn parse(text: &str) -> Result<Json, NotJson> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value()?;
        reader.space();
        match reader.at == text.len() {
            true => Ok(value),
            false => Err(reader.error("something follows the document")),
        }
    }
    /// Returns the first value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(keys) => keys.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }
    fn kind(&self) -> String {
        match self {
            Json::Object(_) => "an object".into(),
            Json::Array(_) => "an array".into(),
            Json::Text(_) => "a string".into(),
            Json::Word(word) => format!("`{word}`"),
            Json::Number(n) => match n.split_once('.') {
                None => "an integer".into(),
                Some((_, decimals)) => format!("a number with {} decimals", decimals.len()),
            },
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self, what: &'static str) -> NotJson {
        let line = self.text[..self.at].matches('\n').count() + 1;
        NotJson { line, byte: self.at, what }
    }
    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\r', '\t']).len();
    }
    fn eat(&mut self, c: char) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }
    fn value(&mut self) -> Result<Json, NotJson> {
        self.space();
        let rest = &self.text[self.at..];
        match rest.chars().next() {
            Some('{') => self.object(),
            Some('[') => self.array(),
            Some('"') => Ok(Json::Text(self.string()?)),
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let end = rest.find(|c: char| !"+-.eE0123456789".contains(c));
                let digits = &rest[..end.unwrap_or(rest.len())];
                digits.parse::<f64>().map_err(|_| self.error("a number is malformed"))?;
                self.at += digits.len();
                Ok(Json::Number(digits.into()))
            }
            _ => match ["true", "false", "null"].into_iter().find(|w| rest.starts_with(w)) {
                Some(word) => {
                    self.at += word.len();
                    Ok(Json::Word(word.into()))
                }
                None => Err(self.error("a value should begin here")),
            },
        }
    }
    fn object(&mut self) -> Result<Json, NotJson> {
        let mut keys = Vec::new();
        self.at += 1;
        if self.eat('}') {
            return Ok(Json::Object(keys));
        }
        loop {
            self.space();
            let key = self.string()?;
            if !self.eat(':') {
                return Err(self.error("a colon is missing"));
            }
            keys.push((key, self.value()?));
            if self.eat('}') {
                return Ok(Json::Object(keys));
            }
            if !self.eat(',') {
                return Err(self.error("a comma or `}` is missing"));
            }
        }
    }
    fn array(&mut self) -> Result<Json, NotJson> {
        let mut values = Vec::new();
        self.at += 1;
        if self.eat(']') {
            return Ok(Json::Array(values));
        }
        loop {
            values.push(self.value()?);
            if self.eat(']') {
                return Ok(Json::Array(values));
            }
            if !self.eat(',') {
                return Err(self.error("a comma or `]` is missing"));
            }
        }
    }
    fn string(&mut self) -> Result<String, NotJson> {
        if !self.text[self.at..].starts_with('"') {
            return Err(self.error("a string should begin here"));
        }
        self.at += 1;
        let mut found = String::new();
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(self.error("a string has no end"));
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(found),
                '\\' => found.push(self.escape()?),
                c if (c as u32) < 0x20 => return Err(self.error("a bare control character")),
                c => found.push(c),
            }
        }
    }
    fn escape(&mut self) -> Result<char, NotJson> {
        let c = self.text[self.at..].chars().next().unwrap_or(' ');
        self.at += c.len_utf8();
        Ok(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '"' | '\\' | '/' => c,
            'u' => {
                let digits = self.text.get(self.at..self.at + 4).unwrap_or("");
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                self.at += digits.len();
                code.ok_or_else(|| self.error("an escape is malformed"))?
            }
            _ => return Err(self.error("an escape is unknown")),
        })
    }
}

/// Compares the shape of a document with that of the reference.
///
/// # Errors
/// The first difference.
pub fn shape(reference: &str, ours: &str) -> Result<(), Difference> {
    let reference = Json::parse(reference).map_err(Difference::ReferenceNotJson)?;
    compare("", &reference, &Json::parse(ours)?)
}

fn compare(path: &str, reference: &Json, ours: &Json) -> Result<(), Difference> {
    match (reference, ours) {
        (Json::Object(a), Json::Object(b)) => objects(path, a, b),
        (Json::Array(a), Json::Array(b)) => arrays(path, a, b),
        (a, b) if a.kind() == b.kind() => Ok(()),
        (a, b) => Err(Difference::Type { path: path.into(), ours: b.kind(), reference: a.kind() }),
    }
}

/// Keys whose presence depends on the machine.
const MACHINE: [&str; 1] = ["disk_util"];
/// Objects whose keys are measured values.
const MEASURED_KEYS: [&str; 1] = ["bins"];

fn objects(path: &str, a: &[(String, Json)], b: &[(String, Json)]) -> Result<(), Difference> {
    if MEASURED_KEYS.iter().any(|key| path.ends_with(&format!(".{key}"))) {
        let mut values = a.iter().take(1).flat_map(|x| b.iter().map(move |y| (x, y)));
        return values.try_for_each(|((_, x), (key, y))| compare(&format!("{path}.{key}"), x, y));
    }
    let both = |list: &[(String, Json)], other: &[(String, Json)]| -> Vec<(String, Json)> {
        let foreign = |key: &str| {
            key == "fiord" || (MACHINE.contains(&key) && !other.iter().any(|(k, _)| k == key))
        };
        list.iter().filter(|(key, _)| !foreign(key)).cloned().collect()
    };
    let (a, b) = (both(a, b), both(b, a));
    for (i, (key, value)) in a.iter().enumerate() {
        match b.get(i) {
            Some((ours, other)) if ours == key => compare(&format!("{path}.{key}"), value, other)?,
            Some((ours, _)) => {
                let (ours, reference) = (ours.clone(), key.clone());
                return Err(Difference::Order { path: path.into(), ours, reference });
            }
            None => return Err(Difference::MissingKey { path: path.into(), key: key.clone() }),
        }
    }
    match b.get(a.len()) {
        Some((key, _)) => Err(Difference::ExtraKey { path: path.into(), key: key.clone() }),
        None => Ok(()),
    }
}

fn arrays(path: &str, a: &[Json], b: &[Json]) -> Result<(), Difference> {
    let counted = path == ".jobs";
    if counted && a.len() != b.len() {
        let (ours, reference) = (b.len(), a.len());
        return Err(Difference::Count {
            place: format!("{path}: "),
            unit: "elements",
            ours,
            reference,
        });
    }
    for (i, ours) in b.iter().enumerate() {
        let reference = if counted { a.get(i) } else { a.first() };
        if let Some(reference) = reference {
            compare(&format!("{path}[{i}]"), reference, ours)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let reference = r#"{"a" : 1, "jobs" : [{"x" : 1.000000, "clat" : {"bins" : {"3" : 1}}}]}"#;
        let check = |ours| shape(reference, ours).expect_err("it differs").to_string();
        assert_eq!(shape(reference, reference), Ok(()));
        let same = r#"{"a" : 7, "jobs" : [{"x" : 2.500000, "clat" : {"bins" : {}}}],
                       "disk_util" : [], "fiord" : {}}"#;
        assert_eq!(shape(reference, same), Ok(()));
        assert_eq!(check(r#"{"b" : 1}"#), ": key `b` where `a` should be");
        assert_eq!(check(r#"{"a" : 1}"#), ": key `jobs` is missing");
        assert_eq!(
            check(r#"{"a" : 1.0, "jobs":[]}"#),
            ".a: is a number with 1 decimals, not an integer"
        );
        assert_eq!(check(r#"{"a" : 1, "jobs":[]}"#), ".jobs: 0 elements, not 1");
        assert!(check("text {").starts_with("not JSON: line 1 (byte 0)"));
    }
}
