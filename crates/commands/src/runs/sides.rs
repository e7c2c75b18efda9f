//! The list of the sides of `fiord run`: the directories of its job files, in the order in which they were given. A
//! comparison takes the first one as the base.

use std::path::{Path, PathBuf};

use fiord_sys::file::FileGuard;
use serde::{Deserialize, Serialize};

use crate::state_file::{self, FileError};

/// File name of the list, beside the directories.
const NAME: &str = "sides.json";

/// The contents of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sides {
    /// Names of the directories.
    sides: Vec<String>,
}

/// Records the sides of a call, in its order. Sides of earlier calls keep their places.
///
/// # Errors
/// The list cannot be read or written.
pub fn keep(dir: &Path, given: &[&str]) -> Result<(), FileError> {
    let path = dir.join(NAME);
    let known = state_file::read::<Sides>(&path)?.unwrap_or_default().sides;
    let sides = ordered(known, given);
    FileGuard::generated().make_directories(dir)?;
    state_file::replace(FileGuard::generated(), &path, &Sides { sides })
}

/// The known sides and those of a call: the places that its sides have already get its sides in their order, and the
/// others follow.
fn ordered(mut known: Vec<String>, given: &[&str]) -> Vec<String> {
    let mut rest = given.iter();
    for place in known.iter_mut().filter(|side| given.contains(&side.as_str())) {
        place.clone_from(&rest.next().map_or_else(String::new, |side| (*side).to_owned()));
    }
    known.extend(rest.map(|side| (*side).to_owned()));
    known
}

/// Sorts the directories in `dir` as `fiord run` was given their job files; those that it does not know come last.
///
/// # Errors
/// The list exists and cannot be read.
pub fn sort(dir: &Path, directories: &mut [PathBuf]) -> Result<(), FileError> {
    let known = state_file::read::<Sides>(&dir.join(NAME))?.unwrap_or_default().sides;
    let place = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        known.iter().position(|side| name.as_deref() == Some(side)).unwrap_or(usize::MAX)
    };
    directories.sort_by_key(place);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_call_adds_its_sides_or_changes_their_order() {
        let order = |known: &[&str], given: &[&str]| {
            ordered(known.iter().map(ToString::to_string).collect(), given).join(" ")
        };
        assert_eq!(order(&[], &["before", "after"]), "before after");
        assert_eq!(order(&["before"], &["after"]), "before after");
        assert_eq!(order(&["before", "after"], &["after", "before"]), "after before");
        assert_eq!(order(&["before", "after"], &["before"]), "before after");
        assert_eq!(order(&["before", "after"], &["new", "before"]), "new after before");
    }
}
