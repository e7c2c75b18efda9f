//! Names of files that the plan makes up.

use std::path::{Path, PathBuf};

/// What goes into a made-up name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// `$jobname`.
    pub(crate) job: &'a str,
    /// `$jobnum`: which instance of its section, from 0.
    pub(crate) instance: u32,
    /// `$filenum`: which file of the instance, from 0.
    pub(crate) file: u64,
}

/// Replaces `$jobname`, `$jobnum`, `$filenum` and `$clientuid` (empty: there is no client) in a
/// `filename_format`. Any other text, with or without `$`, stays.
pub(crate) fn made_up(format: &str, parts: Parts) -> String {
    let mut out = String::with_capacity(format.len() + 16);
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (text, len) = if rest.starts_with("$jobname") {
            (parts.job.to_string(), "$jobname".len())
        } else if rest.starts_with("$jobnum") {
            (parts.instance.to_string(), "$jobnum".len())
        } else if rest.starts_with("$filenum") {
            (parts.file.to_string(), "$filenum".len())
        } else if rest.starts_with("$clientuid") {
            (String::new(), "$clientuid".len())
        } else {
            ("$".to_string(), 1)
        };
        out.push_str(&text);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

/// A name in a directory. An absolute name stays as it is.
pub(crate) fn below(directory: Option<&Path>, name: &str) -> PathBuf {
    directory.map_or_else(|| PathBuf::from(name), |d| d.join(name))
}
