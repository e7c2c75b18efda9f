//! The scripts of scenarios and devices, and their headers: the comment lines at the start.
//!
//! ```text
//! # Subject in one line
//! # key: value
//! ```
//!
//! Some keys may occur several times. The header ends at the first line that is not a comment.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// A parsed header.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The first line.
    pub title: String,
    values: Vec<(String, String)>,
}

impl Header {
    /// Reads the header of a file. Refuses keys that are not in `known`.
    pub(super) fn read(path: &Path, known: &[&str]) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text, known).with_context(|| path.display().to_string())
    }

    fn parse(text: &str, known: &[&str]) -> Result<Self> {
        let mut lines = text.lines().take_while(|line| line.starts_with('#'));
        let title = lines.next().unwrap_or_default().trim_start_matches('#').trim().to_owned();
        ensure!(!title.is_empty(), "the first line has to say what it is about: '# …'");
        let mut values = Vec::new();
        for line in lines {
            let line = line.trim_start_matches('#').trim();
            if line.is_empty() {
                continue;
            }
            let (key, value) = line
                .split_once(':')
                .with_context(|| format!("'{line}' in the header is not 'key: value'"))?;
            if !known.contains(&key) {
                bail!("the header has no key '{key}': {}", known.join(", "));
            }
            values.push((key.to_owned(), value.trim().to_owned()));
        }
        Ok(Header { title, values })
    }

    /// Returns all values of a key.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.values.iter().filter(move |(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a key that may occur once.
    pub(super) fn one<'a>(&'a self, key: &'a str) -> Result<Option<&'a str>> {
        let mut values = self.all(key);
        let first = values.next();
        ensure!(values.next().is_none(), "'{key}' is in the header twice");
        Ok(first)
    }

    /// Returns all words in all values of a key.
    pub(super) fn words(&self, key: &str) -> Vec<String> {
        let values = self.values.iter().filter(|(k, _)| k == key);
        values.flat_map(|(_, value)| value.split_whitespace()).map(str::to_owned).collect()
    }
}

/// Returns the scripts of a directory, sorted by name.
pub(super) fn scripts(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sh") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_at_the_first_line_that_is_no_comment() {
        let text = "# About it\n# devices: a b\n# devices: c\n\n# limit: not read\n";
        let header = Header::parse(text, &["devices", "limit"]).unwrap();
        assert_eq!(header.title, "About it");
        assert_eq!(header.words("devices"), ["a", "b", "c"]);
        assert_eq!(header.one("limit").unwrap(), None);
        assert!(header.one("devices").is_err());
    }

    #[test]
    fn mistakes_are_reported() {
        assert!(Header::parse("echo\n", &[]).is_err());
        assert!(Header::parse("# A\n# device: x\n", &["devices"]).is_err());
        assert!(Header::parse("# A\n# more words\n", &["devices"]).is_err());
    }
}
