//! The files of each side.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fiord_compare::{ComparedRun, ComparedSide};
use fiord_report::ReadError;
use fiord_report::embedded::{embedded, is_page};
use fiord_types::Errno;

use crate::runs::{sides as side_list, store};
use crate::state_file::FileError;

/// Why a side cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {}", .0.display(), Errno::explain(.1))]
    Unreadable(PathBuf, #[source] io::Error),
    /// A file is not a report.
    #[error("{}: {}", .0.display(), .1)]
    NotAReport(PathBuf, #[source] ReadError),
    /// A directory has no reports.
    #[error(
        "{} contains no results. To fix: name a directory with JSON or terse output of runs",
        .0.display()
    )]
    EmptyDirectory(PathBuf),
    /// The list of the sides of `fiord run` cannot be read.
    #[error(transparent)]
    List(#[from] FileError),
    /// A pattern matches nothing.
    #[error("no file matches {0}. To fix: check the pattern, or name the files")]
    NoMatch(String),
}

/// Reads all sides. With `vs`, which is the second side, all of `arguments` are the first one.
pub(super) fn sides(arguments: &[String], vs: &[String]) -> Result<Vec<ComparedSide>, SideError> {
    let groups: Vec<Vec<String>> = match (arguments, vs) {
        ([only], []) => directories(only)?.into_iter().map(|side| vec![side]).collect(),
        // The shell puts the list of `fiord run` and `fiord sweep` among their results: `d/*.json`.
        (_, []) => {
            let group = |argument: &String| vec![argument.clone()];
            let others = arguments.iter().filter(|argument| !is_list(Path::new(argument)));
            let others: Vec<Vec<String>> = others.map(group).collect();
            // If it is not beside several results, the message must name it.
            if others.len() > 1 { others } else { arguments.iter().map(group).collect() }
        }
        _ => vec![arguments.to_vec(), vs.to_vec()],
    };
    groups.iter().zip(0..=u8::MAX).map(|(group, place)| side(group, place)).collect()
}

/// The directories in a directory without results of its own, in the order in which `fiord run` was given their job
/// files, otherwise by name; otherwise the argument itself.
fn directories(argument: &str) -> Result<Vec<String>, SideError> {
    let path = Path::new(argument);
    if !path.is_dir() || !read_directory(path)?.is_empty() {
        return Ok(vec![argument.to_owned()]);
    }
    let mut inside: Vec<PathBuf> =
        entries(path)?.into_iter().filter(|entry| entry.is_dir()).collect();
    side_list::sort(path, &mut inside)?;
    let inside: Vec<String> = inside.iter().map(|entry| entry.display().to_string()).collect();
    Ok(if inside.len() > 1 { inside } else { vec![argument.to_owned()] })
}

/// Whether a file is the list of runs that is beside their results, and no result itself.
fn is_list(path: &Path) -> bool {
    let not_a_report =
        || matches!(read(path), Err(SideError::NotAReport(_, ReadError::NotAReport)));
    store::is_list(path) && not_a_report()
}

fn side(group: &[String], place: u8) -> Result<ComparedSide, SideError> {
    let mut runs = Vec::new();
    for argument in group {
        read_argument(argument, &mut runs)?;
    }
    if let ([only], []) = (group, runs.as_slice()) {
        return Err(SideError::NotAReport(only.into(), ReadError::NotAReport));
    }
    Ok(ComparedSide::new(place, group.join(" "), runs))
}

fn read_argument(argument: &str, runs: &mut Vec<ComparedRun>) -> Result<(), SideError> {
    let path = Path::new(argument);
    if path.is_dir() {
        let own = read_directory(path)?;
        if own.is_empty() {
            return Err(SideError::EmptyDirectory(path.to_owned()));
        }
        runs.extend(own);
        return Ok(());
    }
    if path.exists() {
        match read(path) {
            Err(SideError::NotAReport(_, ReadError::NotAReport)) if store::is_list(path) => {}
            found => runs.extend(found?),
        }
        return Ok(());
    }
    if argument.contains(',') {
        let mut parts = argument.split(',').filter(|part| !part.is_empty());
        return parts.try_for_each(|part| read_argument(part, runs));
    }
    if argument.contains(['*', '?']) {
        let found = matching(path);
        if found.is_empty() {
            return Err(SideError::NoMatch(argument.to_owned()));
        }
        let mut files = found.iter().map(|path| path.display().to_string());
        return files.try_for_each(|file| read_argument(&file, runs));
    }
    runs.extend(read(path)?);
    Ok(())
}

/// Reads the run in a file, or the runs in a page. Results in a page that are not runs are ignored.
fn read(path: &Path) -> Result<Vec<ComparedRun>, SideError> {
    let text =
        fs::read_to_string(path).map_err(|error| SideError::Unreadable(path.into(), error))?;
    let damaged = |error: ReadError| SideError::NotAReport(path.to_owned(), error);
    let file = path.display().to_string();
    if !is_page(&text) {
        let report = fiord_report::read(&text).map_err(damaged)?;
        return Ok(vec![ComparedRun::new(file, &report)]);
    }
    let mut runs = Vec::new();
    for result in embedded(&text).map_err(|error| damaged(error.into()))? {
        match fiord_report::read(&result.json) {
            Ok(report) => runs.push(ComparedRun::new(format!("{file}: {}", result.name), &report)),
            Err(ReadError::NotAReport) => {}
            Err(error) => return Err(damaged(error)),
        }
    }
    if runs.is_empty() { Err(damaged(ReadError::NotAReport)) } else { Ok(runs) }
}

/// The runs in a directory. Other files in it are ignored, but not damaged reports.
fn read_directory(path: &Path) -> Result<Vec<ComparedRun>, SideError> {
    let mut runs = Vec::new();
    for entry in entries(path)?.iter().filter(|entry| entry.is_file()) {
        match read(entry) {
            Ok(found) => runs.extend(found),
            Err(SideError::NotAReport(_, ReadError::NoDocument | ReadError::NotAReport)) => {}
            // A file that is not text.
            Err(SideError::Unreadable(_, error)) if error.kind() == io::ErrorKind::InvalidData => {}
            Err(error) => return Err(error),
        }
    }
    Ok(runs)
}

/// The entries of a directory, sorted by name.
fn entries(path: &Path) -> Result<Vec<PathBuf>, SideError> {
    let unreadable = |error| SideError::Unreadable(path.to_owned(), error);
    let mut entries = fs::read_dir(path)
        .and_then(|list| {
            list.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
        })
        .map_err(unreadable)?;
    entries.sort();
    Ok(entries)
}

/// The paths that match a pattern, sorted. Directories that cannot be read match nothing.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = component.as_os_str().to_string_lossy();
        if !name.contains(['*', '?']) {
            found.iter_mut().for_each(|path| path.push(component));
            continue;
        }
        let inside = |directory: &PathBuf| {
            let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            let names = entries(listed)
                .unwrap_or_default()
                .into_iter()
                .filter_map(|entry| Some(entry.file_name()?.to_string_lossy().into_owned()));
            let fits = |have: &String| {
                let hidden = have.starts_with('.') && !name.starts_with('.');
                !hidden && fits(name.as_bytes(), have.as_bytes())
            };
            names.filter(fits).map(|have| directory.join(have)).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(inside).collect();
    }
    found.retain(|path| path.exists());
    found
}

/// Whether a name matches a pattern of characters, `*` and `?`.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // After a mismatch, the last star takes one character more.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, wanted) in [
            ("a-*.json", "a-1.json", true),
            ("a-*.json", "a-.json", true),
            ("a-*.json", "b-1.json", false),
            ("a-*.json", "a-1.json~", false),
            ("*1*", "a-1.json", true),
            ("a?b*", "axb", true),
            ("a?b", "ab", false),
            ("*ab", "aab", true),
            ("", "", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), wanted, "{pattern} {name}");
        }
    }
}
