//! Why logs cannot be shown or converted.

use std::io;
use std::path::PathBuf;

use fiord_formats::log::LogError;
use fiord_types::Errno;

use crate::session::CannotPrint;

/// Why logs cannot be shown or converted.
#[derive(Debug, thiserror::Error)]
pub enum ShowLogError {
    #[error(
        "cannot open {}: {}\n  To fix: name a log file; their names end with .log, .log.fz or .log.compact",
        .path.display(),
        Errno::explain(.source)
    )]
    Open { path: PathBuf, source: io::Error },
    /// A file cannot be read, or is not a log.
    #[error("{}: {source}{}", .path.display(), remedy(.source))]
    Read { path: PathBuf, source: LogError },
    /// Neither the name of a file nor its contents say what the values are.
    #[error(
        "{}: the name does not say what the values are\n  To fix: pass --kind=bw, iops, lat, slat or clat",
        .path.display()
    )]
    UnknownKind { path: PathBuf },
    /// A `.fz` file has the name of a histogram log.
    #[error(
        "{}: a compressed histogram log of fio contains addresses of fio's memory instead of histograms\n  To fix: \
         record the log without log_store_compressed",
        .path.display()
    )]
    EmptyHistogram { path: PathBuf },
    /// There are too many windows.
    #[error(
        "the logs span {windows} windows of {width} ms, but at most {most} can be shown\n  To fix: pass --window={fits} \
         or more"
    )]
    Windows {
        /// Windows that the logs span.
        windows: u64,
        /// Length of a window in milliseconds.
        width: u64,
        /// Windows that can be shown.
        most: u64,
        /// A length in milliseconds that fits.
        fits: u64,
    },
    /// No log has latencies.
    #[error(
        "a heat map needs latencies, and these logs have none\n  To fix: name a histogram log (write_hist_log) or a \
         latency log (write_lat_log)"
    )]
    NoLatencies,
    /// The target of a conversion was not given.
    #[error("the name of the output is missing\n  To fix: pass --output={0}")]
    NoOutput(&'static str),
    /// A histogram log cannot be converted to `.fz`.
    #[error(
        "{name}: fio's compressed format cannot store histograms\n  To fix: convert this log to text or compact"
    )]
    HistogramInFz { name: String },
    /// Two logs would have the same file name.
    #[error("two of the logs would be written to {}\n  To fix: convert them one at a time", .path.display())]
    Twice { path: PathBuf },
    /// A file cannot be written.
    #[error("cannot write {}: {}. To fix: name a file that you may write, not a device", .path.display(), Errno::explain(.source))]
    Write { path: PathBuf, source: io::Error },
    /// Standard output cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

fn remedy(error: &LogError) -> &'static str {
    match error {
        LogError::Line { .. } => {
            "\n  To fix: correct the line, or pass --skip-invalid to skip and count such lines"
        }
        LogError::Direction { .. } => "\n  To fix: pass --skip-invalid to skip and count such rows",
        LogError::Block { .. } => {
            "\n  To fix: pass --skip-invalid to skip and count damaged blocks"
        }
        _ => "",
    }
}
