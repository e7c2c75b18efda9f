//! Secrets in jobs: where their values come from, and how they are kept out of everything that fiord prints or stores.
//!
//! An option whose value is a secret says so in its declaration. Its value may be a reference, `env:NAME` or `@file:PATH`,
//! which itself is not secret. Passwords in addresses (`//user:password@host`) are found in the values of all options.

use std::borrow::Cow;
use std::ops::Range;

use crate::command::table::COMMANDS;
use crate::load::Loader;
use crate::option::def::OptionDef;
use crate::option::table;
use crate::option::value::ValueError;
use crate::suggest;

/// What is shown instead of a secret.
pub const MASK: &str = "***";

/// The beginning of a reference to an environment variable.
const VARIABLE: &str = "env:";

/// The beginning of a reference to a file.
const FILE: &str = "@file:";

/// The text of a setting as reports, messages and stored results show it.
///
/// ```
/// use fiord_job::option::table;
/// use fiord_job::secret::shown;
///
/// let key = table::find_for_engine("http", "http_s3_key").unwrap();
/// assert_eq!(shown(key, "abc"), "***");
/// assert_eq!(shown(key, "env:KEY"), "env:KEY");
/// let uri = table::find_for_engine("nbd", "uri").unwrap();
/// assert_eq!(shown(uri, "nbd://me:abc@host/x"), "nbd://me:***@host/x");
/// ```
#[must_use]
pub fn shown<'a>(option: &OptionDef, text: &'a str) -> Cow<'a, str> {
    match option.secret {
        true if !text.is_empty() && !is_reference(text) => Cow::Borrowed(MASK),
        true => Cow::Borrowed(text),
        false => without_passwords(text),
    }
}

/// Whether a value says where the secret is.
fn is_reference(text: &str) -> bool {
    let text = text.trim();
    let variable = text.starts_with("${") && text.find('}') == Some(text.len() - 1);
    variable || text.starts_with(VARIABLE) || text.starts_with(FILE)
}

/// The value of a secret option: the text, or what a reference leads to.
///
/// # Errors
/// The variable is not set, or the file cannot be read.
pub(crate) fn resolve(text: &str, loader: &dyn Loader) -> Result<String, ValueError> {
    if let Some(name) = text.strip_prefix(VARIABLE) {
        let value = loader.variable(name).filter(|value| !value.is_empty());
        let what = || ValueError::new(format!("the environment variable {name} is not set"));
        return value
            .ok_or_else(|| what().with_help(format!("To fix: run `export {name}=...` first")));
    }
    let Some(path) = text.strip_prefix(FILE) else { return Ok(text.to_owned()) };
    let read = loader.secret_file(path);
    let value = read.map_err(|error| {
        ValueError::new(format!("cannot read the secret in `{path}`: {error}"))
            .with_help("To fix: write the path of a file that contains only the secret")
    })?;
    Ok(value.trim_end_matches(['\n', '\r']).to_owned())
}

/// A text without the passwords in addresses: `//user:password@host` and `//user%password@host`.
#[must_use]
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("//") {
        let start = at + found + 2;
        let end =
            text[start..].find(['/', ' ', ',', '?', '\n']).map_or(text.len(), |end| start + end);
        let authority = &text[start..end];
        if let Some(user_end) = authority.rfind('@')
            && let Some(colon) = authority[..user_end].find([':', '%'])
        {
            ranges.push(start + colon + 1..start + user_end);
        }
        at = start;
    }
    match ranges.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(Masked::new(text, &ranges).text),
    }
}

/// A text in which parts were replaced by [`MASK`].
pub(crate) struct Masked {
    pub(crate) text: String,
    /// The parts in the original, in order.
    parts: Vec<Range<usize>>,
}

impl Masked {
    fn new(original: &str, parts: &[Range<usize>]) -> Masked {
        let mut text = String::new();
        let mut at = 0;
        for part in parts {
            text.push_str(&original[at..part.start]);
            text.push_str(MASK);
            at = part.end;
        }
        text.push_str(&original[at..]);
        Masked { text, parts: parts.to_vec() }
    }

    /// Masks the secrets in a part of a job file or of a command line.
    pub(crate) fn source(text: &str, is_command_line: bool) -> Masked {
        let mut parts = match is_command_line {
            true => arguments(text),
            false => lines(text),
        };
        parts.sort_by_key(|part| part.start);
        Masked::new(text, &parts)
    }

    /// Where a place of the original is now.
    fn moved(&self, at: usize, is_end: bool) -> usize {
        let (mut added, mut removed) = (0, 0);
        for part in &self.parts {
            if at <= part.start {
                break;
            }
            if at <= part.end {
                let to = part.start + added - removed;
                return if is_end { to + MASK.len() } else { to };
            }
            added += MASK.len();
            removed += part.len();
        }
        at + added - removed
    }

    /// Where a range of the original is now.
    pub(crate) fn range(&self, range: &Range<usize>) -> Range<usize> {
        self.moved(range.start, false)..self.moved(range.end, true)
    }
}

/// The secret values in lines `name=value`.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(equals) = line.find('=') {
            parts.extend(value(
                line[..equals].trim(),
                text,
                start + equals + 1..start + line.len(),
            ));
        }
        start += line.len();
    }
    parts
}

/// The secret values in arguments `--name=value` and `--name value`.
fn arguments(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut starts: Vec<usize> = text.match_indices("--").map(|(at, _)| at).collect();
    starts.retain(|at| *at == 0 || text[..*at].ends_with(' '));
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(text.len());
        let argument = &text[*start..end];
        if let Some(separator) = argument.find(['=', ' ']) {
            let name = argument[..separator].trim_start_matches('-');
            parts.extend(value(name, text, start + separator + 1..end));
        }
    }
    parts
}

/// The parts of a value that are secret.
fn value(name: &str, text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let whole = &text[range.clone()];
    let start = range.start + (whole.len() - whole.trim_start().len());
    let trimmed = whole.trim();
    if trimmed.is_empty() {
        return Vec::new();
    }
    if is_secret_name(name) {
        let secret = (!is_reference(trimmed)).then(|| start..start + trimmed.len());
        return secret.into_iter().collect();
    }
    let mut parts = Vec::new();
    for (slashes, _) in trimmed.match_indices("//") {
        let authority = &trimmed[slashes + 2..];
        let end = authority.find(['/', ' ', ',', '?']).unwrap_or(authority.len());
        let authority = &authority[..end];
        if let Some(user_end) = authority.rfind('@')
            && let Some(colon) = authority[..user_end].find([':', '%'])
        {
            let first = start + slashes + 2;
            parts.push(first + colon + 1..first + user_end);
        }
    }
    parts
}

/// Whether an option of this name has a secret value. A name that is not in the table may be a misspelt one: it counts
/// as secret if it looks like it.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let is = |option: &&&OptionDef| option.name == name || option.aliases.contains(&name);
    let known =
        table::engine_options().iter().find(is).or_else(|| table::options().iter().find(is));
    match known {
        Some(option) => option.secret,
        None if COMMANDS.iter().any(|command| command.name == name) => false,
        None => {
            let name = name.to_ascii_lowercase();
            let looks = ["key", "pas", "pwd", "secret", "token", "credential"];
            let looks = looks.iter().any(|word| name.contains(word)) && !name.ends_with("keyid");
            let all = table::engine_options().iter().chain(table::options());
            looks
                || suggest::nearest(&name, all.map(|option| option.name))
                    .is_some_and(is_secret_name)
        }
    }
}

/// `name=value` as the user typed it, without a secret.
pub(crate) fn typed(name: &str, text: Option<&str>) -> String {
    match text {
        Some(text) if is_secret_name(name) && !is_reference(text) => format!("{name}={MASK}"),
        Some(text) => format!("{name}={text}"),
        None => name.to_owned(),
    }
}

/// The arguments of a command line without the secrets in them: `--http_pass=***`.
///
/// ```
/// let arguments = ["job.fio", "--http_pass=abc", "--http_s3_key", "abc", "--rw=read"].map(str::to_owned);
/// let shown = fiord_job::secret::in_arguments(&arguments);
/// assert_eq!(shown, ["job.fio", "--http_pass=***", "--http_s3_key", "***", "--rw=read"]);
/// ```
#[must_use]
pub fn in_arguments(arguments: &[String]) -> Vec<String> {
    let mut is_value = false;
    let mut shown = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let name = argument.trim_start_matches('-');
        let is_option = name.len() < argument.len();
        if is_value && !is_option {
            shown.push(if is_reference(argument) { argument.clone() } else { MASK.to_owned() });
        } else {
            let dashes = &argument[..argument.len() - name.len()];
            shown.push(format!("{dashes}{}", Masked::source(name, false).text));
        }
        is_value = is_option && !name.contains('=') && is_secret_name(name);
    }
    shown
}

/// A sentence of a message without the values of secret options in it: `http_pass=***`.
#[must_use]
pub fn in_sentence(text: String) -> String {
    let mut parts = Vec::new();
    for (equals, _) in text.match_indices('=') {
        let before = &text[..equals];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &before[before.trim_end_matches(is_part).len()..];
        if name.is_empty() || !is_secret_name(name) {
            continue;
        }
        let rest = &text[equals + 1..];
        let end = rest.find([' ', '>', '\'', '`', '"', ':']).unwrap_or(rest.len());
        let end = rest.find(['>', '`']).map_or(end, |closing| end.max(closing));
        let overlaps = parts.last().is_some_and(|last: &Range<usize>| last.end > equals);
        if end > 0 && !overlaps && !is_reference(&rest[..end]) {
            parts.push(equals + 1..equals + 1 + end);
        }
    }
    let text = if parts.is_empty() { text } else { Masked::new(&text, &parts).text };
    match without_passwords(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(masked) => masked,
    }
}

#[cfg(test)]
mod tests;
