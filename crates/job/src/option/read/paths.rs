//! File and directory names separated by colons. `\:` is a colon in a name.

use crate::option::value::{Bases, ValueError};

/// Parses `filename`, `directory`, `read_iolog` and similar options: `/dev/sda:/dev/sdb`,
/// `F\:\fiofile`.
///
/// Only `\:` is an escape; any other backslash is part of the name. Empty names between colons are
/// ignored.
///
/// # Errors
/// There is no name, or a name starts like a Windows path with an unescaped colon (`F:\fiofile`).
/// That would mean the two files `F` and `\fiofile`, which is probably a mistake.
pub fn paths(text: &str, _: &Bases) -> Result<Vec<String>, ValueError> {
    if let Some(at) = drive_letter(text) {
        let drive = &text[at..at + 1];
        return Err(ValueError::new(format!("the colon in `{drive}:\\` separates two files"))
            .at(at, at + 3)
            .with_help(format!("To fix: write `{drive}\\:\\` if the colon is part of the name")));
    }
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
        return Err(ValueError::new("the name is missing").with_help(
            "To fix: write one or more names separated by colons; a colon in a name is `\\:`",
        ));
    }
    Ok(list)
}

/// The position of a name that starts with a letter, an unescaped colon and a backslash.
fn drive_letter(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(2)).find(|&at| {
        let begins = at == 0 || (bytes[at - 1] == b':' && !(at >= 2 && bytes[at - 2] == b'\\'));
        begins
            && bytes[at].is_ascii_alphabetic()
            && bytes[at + 1] == b':'
            && bytes[at + 2] == b'\\'
            // `f:\:x` means the files `f` and `:x`.
            && bytes.get(at + 3) != Some(&b':')
    })
}
