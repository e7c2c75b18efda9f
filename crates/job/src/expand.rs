//! Expands environment variables and reserved words in values.

use crate::load::Loader;
use crate::scan::RawOption;

/// Expands the `${VAR}`s in an option's name. As in fio, which expands whole lines, a variable may
/// also contain `name=value`.
pub fn name(raw: &RawOption, loader: &dyn Loader) -> RawOption {
    let mut raw = raw.clone();
    if !raw.variables || !raw.name.contains("${") {
        return raw;
    }
    let name = environment(&raw.name, loader);
    match (name.split_once('='), &raw.text) {
        (Some((name, text)), None) => {
            raw.name = name.trim().to_string();
            raw.text = Some(text.trim().to_string());
        }
        _ => raw.name = name.trim().to_string(),
    }
    raw
}

/// Expands `${VAR}` (to nothing if it is unset), then `$pagesize`, `$mb_memory` and `$ncpus`.
///
/// As fio documents, arithmetic with these words needs no parentheses: if the text contains one of
/// them and the result consists only of numbers and operators, it is evaluated (`8*$mb_memory`).
/// `$jobname`, `$jobnum`, `$filenum` and `$clientuid` are expanded later and stay unchanged here.
pub fn expand(text: &str, variables: bool, loader: &dyn Loader) -> String {
    let mut out = if variables { environment(text, loader) } else { text.to_string() };
    if !out.contains('$') {
        return out;
    }
    let mut replaced = false;
    let mut put = |word: &str, value: &dyn Fn() -> String| {
        if out.contains(word) {
            out = out.replace(word, &value());
            replaced = true;
        }
    };
    // Query the machine only for words that occur: a query is slow, and there are many values.
    put("$pagesize", &|| loader.page_size().to_string());
    put("$mb_memory", &|| loader.memory_mb().to_string());
    put("$ncpus", &|| loader.cpus().to_string());
    let computes = |b: u8| matches!(b, b'+' | b'*' | b'/' | b'-' | b'^' | b'%');
    if replaced
        && out.bytes().any(computes)
        && let Some(v) = plain_arithmetic(&out)
    {
        return v.to_string();
    }
    out
}

/// The value of a text that consists only of digits, operators, parentheses and spaces. `None` for
/// other texts.
fn plain_arithmetic(text: &str) -> Option<i128> {
    let plain = |b: u8| b.is_ascii_digit() || b"+-*/%^() ".contains(&b);
    if !text.bytes().all(plain) {
        return None;
    }
    let counts = crate::number::Suffixes::Size(Default::default());
    crate::expression::evaluate(text, counts).ok().map(|v| v.floor())
}

/// The names of the variables in a text that are unset or empty.
pub fn unset(text: &str, loader: &dyn Loader) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    walk(text, |part| {
        if let Part::Variable(name) = part
            && loader.variable(name).is_none_or(|v| v.is_empty())
            && !names.iter().any(|n| n == name)
        {
            names.push(name.to_string());
        }
    });
    names
}

fn environment(text: &str, loader: &dyn Loader) -> String {
    let mut out = String::with_capacity(text.len());
    walk(text, |part| match part {
        Part::Text(text) => out.push_str(text),
        Part::Variable(name) => out.push_str(&loader.variable(name).unwrap_or_default()),
    });
    out
}

enum Part<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Splits a text at its `${VAR}`s. A `${` without a closing brace is plain text.
fn walk<'a>(text: &'a str, mut each: impl FnMut(Part<'a>)) {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(len) = rest[start + 2..].find('}') else { break };
        each(Part::Text(&rest[..start]));
        each(Part::Variable(&rest[start + 2..start + 2 + len]));
        rest = &rest[start + 3 + len..];
    }
    each(Part::Text(rest));
}
