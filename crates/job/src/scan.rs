//! Scans the text of a job file into sections and options with their places. The scanner does not
//! know the meaning of options.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::spec::{Place, SourceText};

/// A section, option or include of a job file.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `[name]`.
    Section {
        /// The text between the brackets.
        name: String,
        /// The place of the section's header.
        place: Place,
    },
    /// `name=value` or `name`.
    Option(RawOption),
    /// `include file`.
    Include {
        /// The name of the file, as written.
        file: String,
        /// The place of the name.
        place: Place,
    },
}

impl Item {
    /// The place of the item in its source.
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Item::Section { place, .. } | Item::Include { place, .. } => place.clone(),
            Item::Option(option) => option.place(),
        }
    }
}

/// An option with its value, before it is looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct RawOption {
    /// The text before the `=`.
    pub name: String,
    /// The text after the `=`, as typed. `None` without a `=`.
    pub text: Option<String>,
    /// The byte range of the name in the source.
    pub name_span: Range<usize>,
    /// The byte range of the value in the source. Empty if there is no value.
    pub text_span: Range<usize>,
    /// The source of name and value.
    pub source: Arc<SourceText>,
    /// Whether `${VAR}` in the value is a variable. True in job files; false on the command line,
    /// where the shell has already expanded variables.
    pub variables: bool,
}

impl RawOption {
    /// The place of the whole `name=value`.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { source: self.source.clone(), span: self.name_span.start..self.text_span.end }
    }
    #[must_use]
    pub fn name_place(&self) -> Place {
        Place { source: self.source.clone(), span: self.name_span.clone() }
    }
    /// The place of the value, or of the name if there is no value.
    #[must_use]
    pub fn text_place(&self) -> Place {
        let span = if self.text.is_some() && !self.text_span.is_empty() {
            self.text_span.clone()
        } else {
            self.name_span.clone()
        };
        Place { source: self.source.clone(), span }
    }
}

/// Scans a text. Reports invalid lines and returns the items of all other lines.
#[must_use]
pub fn scan(source: &Arc<SourceText>) -> (Vec<Item>, Vec<Diagnostic>) {
    let (mut items, mut wrong) = (Vec::new(), Vec::new());
    let mut at = 0;
    for line in source.text.split_inclusive('\n') {
        match line_item(source, line, at) {
            Ok(Some(item)) => items.push(item),
            Ok(None) => {}
            Err(e) => wrong.push(*e),
        }
        at += line.len();
    }
    (items, wrong)
}

/// Removes a comment, which starts at the first `;` or `#` and ends with the line. fio documents
/// comments only at the start of a line, but it removes them everywhere, also inside quotes.
fn without_comment(line: &str) -> &str {
    &line[..line.find([';', '#']).unwrap_or(line.len())]
}

fn line_item(
    source: &Arc<SourceText>,
    line: &str,
    at: usize,
) -> Result<Option<Item>, Box<Diagnostic>> {
    let body = without_comment(line);
    let lead = body.len() - body.trim_start().len();
    let body = body.trim();
    let start = at + lead;
    let place = |span: Range<usize>| Place { source: source.clone(), span };
    if body.is_empty() {
        return Ok(None);
    }
    if let Some(inner) = body.strip_prefix('[') {
        return section(inner, start, &place).map(Some);
    }
    if let Some(file) = include(body) {
        let from = start + body.len() - file.len();
        return Ok(Some(Item::Include {
            file: file.to_string(),
            place: place(if file.is_empty() { start } else { from }..start + body.len()),
        }));
    }
    let (name, text) = match body.split_once('=') {
        Some((n, t)) => (n.trim_end(), Some(t)),
        None => (body, None),
    };
    if name.is_empty() {
        let error = Diagnostic::error(
            "the option name before `=` is missing",
            Some(place(start..start + 1)),
        )
        .help("To fix: write `name=value`");
        return Err(Box::new(error));
    }
    let name_span = start..start + name.len();
    let (text, text_span) = match text {
        Some(t) => {
            let from = start + body.len() - t.trim_start().len();
            (Some(t.trim().to_string()), from..start + body.len())
        }
        None => (None, name_span.end..name_span.end),
    };
    Ok(Some(Item::Option(RawOption {
        name: name.to_string(),
        text,
        name_span,
        text_span,
        source: source.clone(),
        variables: true,
    })))
}

fn section(
    inner: &str,
    start: usize,
    place: &dyn Fn(Range<usize>) -> Place,
) -> Result<Item, Box<Diagnostic>> {
    // As in fio, the last bracket ends the name: `[a]b]` is called `a]b`.
    let Some(end) = inner.rfind(']') else {
        let here = place(start..start + 1 + inner.len());
        let error = Diagnostic::error("the section's closing `]` is missing", Some(here))
            .help(format!("To fix: write `[{}]`", inner.trim()));
        return Err(Box::new(error));
    };
    let after = inner[end + 1..].trim();
    if !after.is_empty() {
        let from = start + 1 + inner.len() - after.len();
        let error = Diagnostic::error(
            format!("unexpected `{after}` after the section's name"),
            Some(place(from..from + after.len())),
        )
        .help("To fix: put it on a separate line");
        return Err(Box::new(error));
    }
    let name = inner[..end].to_string();
    if name.trim().is_empty() {
        let here = place(start..start + 2 + end);
        let error = Diagnostic::error("the section has no name", Some(here))
            .help("To fix: write the job's name between the brackets: `[job1]`");
        return Err(Box::new(error));
    }
    Ok(Item::Section { place: place(start..start + 2 + end), name })
}

/// The file name of `include FILE` or `include=FILE`. `None` if the line is not an include.
fn include(body: &str) -> Option<&str> {
    let rest = body.strip_prefix("include")?;
    if rest.is_empty() {
        return Some("");
    }
    if !rest.starts_with([' ', '\t', '=']) {
        return None;
    }
    Some(rest.trim_start().trim_start_matches('=').trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(text: &str) -> Arc<SourceText> {
        Arc::new(SourceText { name: "t".into(), text: text.into() })
    }

    fn options(text: &str) -> Vec<(String, Option<String>)> {
        let (items, wrong) = scan(&source(text));
        assert!(wrong.is_empty(), "{wrong:?}");
        let option = |i| match i {
            Item::Option(o) => Some((o.name, o.text)),
            _ => None,
        };
        items.into_iter().filter_map(option).collect()
    }

    fn one(text: &str) -> (String, Option<String>) {
        options(text).remove(0)
    }

    #[test]
    fn white_space_around_names_and_values_is_removed() {
        let pair = |n: &str, t: &str| (n.to_string(), Some(t.to_string()));
        assert_eq!(one("size=1m"), pair("size", "1m"));
        assert_eq!(one("\t size\t=  1m \r\n"), pair("size", "1m"));
        assert_eq!(one("exec_prerun=echo a=b c"), pair("exec_prerun", "echo a=b c"));
        assert_eq!(one("description=\"a b\""), pair("description", "\"a b\""));
        assert_eq!(one("rw="), pair("rw", ""));
        assert_eq!(one(" direct "), ("direct".into(), None));
    }

    #[test]
    fn comments_end_a_line_wherever_they_start() {
        assert_eq!(one("size=1m ; one").1.unwrap(), "1m");
        assert_eq!(one("size=1m#one").1.unwrap(), "1m");
        assert_eq!(one("filename=\"a;b\"").1.unwrap(), "\"a");
        assert!(options("; a\n  # b\n\n[x] ; c\n").is_empty());
    }

    #[test]
    fn includes() {
        let file = |t: &str| match scan(&source(t)).0.remove(0) {
            Item::Include { file, .. } => file,
            other => panic!("{other:?}"),
        };
        assert_eq!(file("include a.fio"), "a.fio");
        assert_eq!(file("include\ta b.fio ; c"), "a b.fio");
        assert_eq!(file("include=a.fio"), "a.fio");
        assert_eq!(one("included=1").0, "included");
    }

    proptest! {
        /// Every place is inside the text, and the place of an option contains its name and value.
        #[test]
        fn places_contain_name_and_value(text in "([a-z_]{1,8} ?=? ?[^\\n]{0,12}\\n|\\[[a-z]{0,4}\\]?.{0,4}\\n|.{0,16}\\n?){0,8}") {
            let source = source(&text);
            let (items, wrong) = scan(&source);
            for place in wrong.iter().filter_map(|d| d.place.clone()).chain(items.iter().map(Item::place)) {
                prop_assert!(text.get(place.span.clone()).is_some(), "{place:?}");
            }
            for item in items {
                if let Item::Option(o) = item {
                    prop_assert_eq!(&text[o.name_span.clone()], o.name.as_str());
                    prop_assert_eq!(&text[o.text_span.clone()], o.text.clone().unwrap_or_default());
                }
            }
        }
    }
}
