//! `--showcmd`: prints jobs as a command line.

use std::fmt::Write;

use fiord_types::is_obeyed;

use crate::option::table::DESCRIPTION;
use crate::spec::Setting;

/// A part of the command line: a job starts, or an option is set.
#[derive(Debug, Clone)]
pub enum CommandPart {
    /// `--name=JOB`. The name is `global` if defaults change after a job.
    Open(String),
    /// One job option.
    Set(Setting),
}

/// The command line for one job file (or for the command line itself), in fio's format: it starts
/// with `fio`, so that it can be compared, and ends with a space. Values are in quotes only if a
/// shell needs them.
#[must_use]
pub fn line(steps: &[CommandPart]) -> String {
    let mut out = String::from("fio ");
    for step in steps {
        let _ = match step {
            CommandPart::Open(name) => write!(out, "--name={} ", quoted(name)),
            CommandPart::Set(s) => match s.shown_text() {
                None => write!(out, "--{} ", s.def.name),
                // fio always quotes this option.
                Some(t) if s.def == DESCRIPTION.def() => {
                    write!(out, "--description={} ", in_quotes(&t))
                }
                Some(t) => write!(out, "--{}={} ", s.def.name, quoted(&t)),
            },
        };
    }
    out.push('\n');
    out
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+=:,./%@^".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_string() } else { in_quotes(text) }
}

fn in_quotes(text: &str) -> String {
    if text.contains(is_obeyed) {
        return escaped(text);
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// A text with characters that a terminal obeys, in quotes in which a shell reads escape sequences.
fn escaped(text: &str) -> String {
    let mut out = String::from("$'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if is_obeyed(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(out, "\\x{byte:02x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_terminal_obeys_are_escape_sequences_of_the_shell() {
        assert_eq!(quoted("a\u{1b}[1m'\\\u{9b}"), r"$'a\x1b[1m\'\\\xc2\x9b'");
        assert_eq!(quoted("two words"), "\"two words\"");
    }
}
