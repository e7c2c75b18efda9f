//! `fiord report`: results of earlier runs as an HTML page.
//!
//! | question | module |
//! |---|---|
//! | which files and directories can it read, and where does the page go | this one |
//! | which errors are there | `error.rs` |

mod error;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use fiord_html::page;
use fiord_html::result::{self, NamedResult};
use fiord_sys::file::FileGuard;
use fiord_sys::terminal;

pub use error::ReportError;

use crate::runs::store::{self, KeptResults};
use crate::session::{CommandEnd, Session};
use crate::sweep::json;
use crate::sweep::results::SweepResults;

/// Command line of `fiord report`.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Results: JSON of fiord or fio, terse lines, JSON of a sweep, suite or precondition, directories of a sweep or suite, or
    /// pages of `--html`. `-`: standard input.
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,
    /// File for the page; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Reads the results and writes the page.
///
/// # Errors
/// A result cannot be read, or the page cannot be written.
pub fn run(args: &ReportArgs, session: &mut Session) -> Result<CommandEnd, ReportError> {
    let to_terminal = args.output.is_none() && terminal::is_terminal(io::stdout());
    if to_terminal {
        return Err(ReportError::Terminal);
    }
    let mut results: Vec<NamedResult> = Vec::new();
    for path in &args.results {
        results.append(&mut read(path)?);
    }
    let page = page::page(&results);
    match &args.output {
        None => session.print_document(&page)?,
        Some(path) => write(path, &page)?,
    }
    Ok(CommandEnd::Done)
}

/// Reads the results in a file; `-`: standard input.
pub(crate) fn read(path: &Path) -> Result<Vec<NamedResult>, ReportError> {
    let failed = |source| ReportError::Result { path: path.to_owned(), source };
    result::read(&name(path), &text(path)?).map_err(failed)
}

/// The text of a result.
fn text(path: &Path) -> Result<String, ReportError> {
    let failed = |source| ReportError::Read { path: path.to_owned(), source };
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(failed)?;
        return Ok(text);
    }
    if path.is_dir() {
        return of_directory(path);
    }
    let bytes = fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| ReportError::NotText { path: path.to_owned() })
}

/// The results in a directory of a sweep or a suite, as JSON.
fn of_directory(path: &Path) -> Result<String, ReportError> {
    let failed = |source| ReportError::Directory { path: path.to_owned(), source };
    match store::results(path).map_err(failed)? {
        KeptResults::Document(document) => Ok(document),
        KeptResults::Runs(points) if !points.is_empty() => {
            let job = name(path);
            Ok(json::json(&SweepResults::of_runs(job, points)))
        }
        KeptResults::Runs(_) => Err(ReportError::NoRuns { path: path.to_owned() }),
        KeptResults::Nothing => Err(ReportError::NotResults { path: path.to_owned() }),
    }
}

/// The name of a result: that of its file or directory.
fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return String::new();
    }
    // `.` has a name, too.
    let full = path.file_name().is_none().then(|| fs::canonicalize(path).ok()).flatten();
    full.as_deref()
        .unwrap_or(path)
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn write(path: &Path, page: &str) -> Result<(), ReportError> {
    let failed = |source| ReportError::Write { path: path.to_owned(), source };
    // The user typed the path, so it may point anywhere.
    let file = FileGuard::typed().allow_system(true).replace(path);
    let mut file = file.map_err(|error| failed(error.into()))?;
    file.write_all(page.as_bytes()).map_err(failed)
}
