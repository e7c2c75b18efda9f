//! The page of `--html`: its file is created before the run, so that a wrong name is noticed in time.

use std::path::Path;

use fiord_html::page;
use fiord_html::result::{NamedResult, PageResult};
use fiord_job::command::GeneralOptions;

use crate::exit::Exit;
use crate::sink::{OutputFile, Sink, report};

/// The open file of a page.
pub(crate) struct PageFile(Sink);

/// Why there is no file for a page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoPageFile {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] OutputFile),
    /// The other results have the same file.
    #[error(
        "fio: --html and --output name the same file, {0}\n  To fix: give them different names"
    )]
    Taken(String),
}

impl PageFile {
    /// Creates the file of `--html`. `None` without that option.
    pub(crate) fn of(general: &GeneralOptions) -> Result<Option<Self>, NoPageFile> {
        let Some(path) = general.html.as_deref() else { return Ok(None) };
        // A file that does not exist yet has no other name that matters here.
        let resolved = |path: &str| Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
        if general.output.as_deref().is_some_and(|other| resolved(other) == resolved(path)) {
            return Err(NoPageFile::Taken(path.to_owned()));
        }
        Ok(Some(PageFile(Sink::open(Some(path))?)))
    }

    /// Creates the file of `--html`, and reports why that is impossible.
    pub(crate) fn open(general: &GeneralOptions) -> Result<Option<Self>, Exit> {
        PageFile::of(general).map_err(|why| {
            report(format_args!("{why}\n"));
            Exit::Failure
        })
    }

    /// Writes the page of a run. Returns `exit`, or another status if the page could not be written.
    pub(crate) fn finish(mut self, content: PageResult, exit: Exit) -> Exit {
        let text = page::page(&[NamedResult { name: String::new(), content }]);
        self.0.put(text.as_bytes());
        self.0.end(exit)
    }
}
