//! `replay_map`: which file takes the place of which one of the trace.

use std::path::{Path, PathBuf};

use fiord_formats::trace::TraceName;
use fiord_job::option::table::REPLAY_MAP;

use crate::options::reading::Reading;

/// `replay_map`: which file takes the place of which one of the trace.
#[derive(Debug, Default)]
pub(super) struct MapOption {
    /// Name in the trace and path; an empty path skips its I/Os.
    pairs: Vec<(String, PathBuf)>,
}

impl MapOption {
    pub(super) fn read(job: Reading) -> Self {
        let text = job.get(REPLAY_MAP).unwrap_or_default();
        let mut pairs = Vec::new();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.rsplit_once(':').filter(|(old, _)| !old.is_empty()) {
                Some((old, new)) => pairs.push((old.to_owned(), PathBuf::from(new))),
                None => {
                    let what = format!("`{pair}` is not a pair OLD:NEW");
                    let help =
                        "To fix: write `replay_map=8:16:/dev/nvme0n1` or `replay_map=/old:/new`";
                    job.report(job.error(REPLAY_MAP, what).help(help));
                }
            }
        }
        MapOption { pairs }
    }

    pub(super) fn path(&self, name: &TraceName) -> Option<&Path> {
        let names = names_of(name);
        let pair = self.pairs.iter().find(|(old, _)| names.contains(old));
        pair.map(|(_, new)| new.as_path())
    }

    /// Whether the I/Os of a file are skipped.
    pub(super) fn skips(&self, name: &TraceName) -> bool {
        self.path(name).is_some_and(|path| path.as_os_str().is_empty())
    }
}

/// The names that `replay_map` accepts for a file of the trace.
fn names_of(name: &TraceName) -> Vec<String> {
    match name {
        TraceName::Device { major, minor } => vec![format!("{major}:{minor}")],
        other => vec![other.to_string()],
    }
}
