//! `--showcmd`: jobs as a command line.

use std::fmt::Write;

use crate::spec::Setting;

/// A step of the command line: a job opens, or an option is set.
#[derive(Debug, Clone)]
pub enum Step {
    /// `--name=JOB`; `global` where defaults change after a job.
    Open(String),
    /// An option.
    Set(Setting),
}

/// The line for one job file (or for the command line), as fio prints it: it begins with `fio` so
/// that it can be compared, ends in a blank, and values are quoted only where a shell needs it.
pub fn line(steps: &[Step]) -> String {
    let mut out = String::from("fio ");
    for step in steps {
        let _ = match step {
            Step::Open(name) => write!(out, "--name={} ", quoted(name)),
            Step::Set(s) => match &s.text {
                None => write!(out, "--{} ", s.def.name),
                // fio always quotes this one.
                Some(t) if s.def.name == "description" => {
                    write!(out, "--description={} ", in_quotes(t))
                }
                Some(t) => write!(out, "--{}={} ", s.def.name, quoted(t)),
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
