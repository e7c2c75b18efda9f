//! Why there is no page.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use fiord_html::result::ResultError;
use fiord_types::Errno;

use crate::runs::store::StoreError;
use crate::session::CannotPrint;

/// Why `fiord report` wrote no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The page would go to a terminal.
    #[error("the page would go to the terminal\nTo fix: add -o FILE.html")]
    Terminal,
    /// A file cannot be read.
    #[error("cannot read {path}: {}\nTo fix: {}", Errno::explain(.source), remedy(.source))]
    Read { path: PathBuf, source: io::Error },
    /// The results in a directory cannot be read.
    #[error("cannot read the results in {path}: {source}")]
    Directory { path: PathBuf, source: StoreError },
    /// A directory of a sweep or a suite in which no run is done.
    #[error("no run in {path} is finished\nTo fix: run the same command again")]
    NoRuns { path: PathBuf },
    /// Another directory.
    #[error(
        "{path} is not the directory of a sweep or a suite\nTo fix: name the files with the results, such as {path}/*.json"
    )]
    NotResults { path: PathBuf },
    #[error(
        "{path} is not text\nTo fix: name a result, such as the file of --output-format=json+ --output=FILE"
    )]
    NotText { path: PathBuf },
    /// A file is not a result.
    #[error("cannot read the results in {path}: {source}")]
    Result { path: PathBuf, source: ResultError },
    /// The page cannot be written.
    #[error("cannot write {path}: {}. To fix: name a file that you may write, not a device", Errno::explain(.source))]
    Write { path: PathBuf, source: io::Error },
    /// The page cannot be written to standard output.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "check the name",
        _ => "check the permissions of the file",
    }
}
