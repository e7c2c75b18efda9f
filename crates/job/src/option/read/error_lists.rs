//! `ignore_error`: lists of errors for reads, writes and verification.

use fiord_types::Errno;

use crate::option::value::{Bases, ErrorLists, ValueError};
use crate::suggest;

/// Parses lists such as `EAGAIN,ENOSPC:122` or `,,EILSEQ`. As in fio, a list may be empty, empty entries are ignored, and
/// a number may be negative or hexadecimal.
///
/// # Errors
/// A name or number does not stand for an error, or there are more than three lists.
pub fn error_lists(text: &str, _: &Bases) -> Result<ErrorLists, ValueError> {
    let mut lists: [Vec<i32>; 3] = Default::default();
    let mut at = 0;
    for (number, part) in text.split(',').enumerate() {
        let Some(list) = lists.get_mut(number) else {
            return Err(ValueError::list_too_long("lists", 3).at(at, text.len()).with_help(
                "To fix: write up to three lists, separated by commas: errors of reads, of writes, of verification",
            ));
        };
        for entry in part.split(':') {
            if !entry.trim().is_empty() {
                list.push(error(entry.trim()).map_err(|e| e.at(at, at + entry.len()))?);
            }
            at += entry.len() + 1;
        }
    }
    let [reads, writes, verification] = lists;
    Ok(ErrorLists { reads, writes, verification })
}

fn error(text: &str) -> Result<i32, ValueError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hexadecimal) => i32::from_str_radix(hexadecimal, 16).ok(),
        None => digits.parse().ok(),
    };
    match number.filter(|number| *number > 0) {
        Some(number) => Ok(number),
        None => Errno::named(text).map(Errno::raw).ok_or_else(|| {
            let error = ValueError::new(format!("unknown error `{text}`"));
            match suggest::nearest(&text.to_uppercase(), Errno::names()) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help(
                    "To fix: write a name such as EIO (`man 3 errno` lists them), or a number above 0",
                ),
            }
        }),
    }
}
