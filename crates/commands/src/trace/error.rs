//! Why a trace cannot be summarized.

use std::io;
use std::path::PathBuf;

use fiord_formats::trace::TraceError;
use fiord_types::Errno;

use crate::rejected::Rejected;
use crate::session::CannotPrint;

/// Why a trace cannot be summarized.
#[derive(Debug, thiserror::Error)]
pub enum TraceCommandError {
    /// A file of the trace cannot be opened.
    #[error(
        "cannot open {}: {}\n  To fix: name a trace of fio, blktrace or a CSV file; for the files of all CPUs, the name without .blktrace.0",
        path.display(),
        Errno::explain(source)
    )]
    Open { path: PathBuf, source: io::Error },
    /// The trace cannot be read or is invalid.
    #[error("{}: {source}{}", path.display(), remedy(source))]
    Trace {
        path: PathBuf,
        /// What is wrong.
        source: TraceError,
    },
    /// The trace has no I/O that a job could make.
    #[error("{}: the trace has no read, write or trim, so no job approximates it", path.display())]
    NoIo { path: PathBuf },
    /// The job file cannot be written.
    #[error("cannot write {}: {}", path.display(), Errno::explain(source))]
    WriteJob {
        /// The job file.
        path: PathBuf,
        source: io::Error,
    },
    /// The planner rejects the job that approximates the trace.
    #[error("cannot compare the job with the trace: {0}")]
    Job(#[from] Rejected),
    /// The summary cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// What the options of the command can do about an error.
fn remedy(error: &TraceError) -> &'static str {
    use fiord_formats::trace::RowProblem;
    match error {
        TraceError::Line { problem: RowProblem::Gap { .. }, .. }
        | TraceError::Sequence { problem: RowProblem::Gap { .. }, .. } => " (--longest-gap)",
        TraceError::Line { .. } => ". To fix: correct the line, or pass --skip-invalid",
        _ => "",
    }
}
