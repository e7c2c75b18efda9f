//! `fiord series`: the time series of a finished run, as `--series` would have written it.

use std::path::PathBuf;

use fiord_export::series::output::{SeriesError, SeriesOutput};
use fiord_export::series::{header, line, of_report};
use fiord_job::command::SeriesFormat;
use fiord_report::read::ReadError;
use fiord_types::{Errno, Nanos};

use crate::session::{CannotPrint, CommandEnd, Session};

/// Command line of `fiord series`.
#[derive(Debug, clap::Args)]
pub struct SeriesArgs {
    /// The JSON report of a run.
    result: PathBuf,
    /// Write the rows to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Format of the rows. Default: that of the name of the file (.csv, .jsonl, .influx), else csv.
    #[arg(long, value_parser = ["csv", "jsonl", "influx"])]
    format: Option<String>,
    /// Milliseconds between two rows of a job. The windows of the report can be longer.
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,
}

/// Why there are no rows.
#[derive(Debug, thiserror::Error)]
pub enum SeriesCommandError {
    /// The file of the report cannot be read.
    #[error("cannot read {path}: {}", Errno::explain(.source))]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: std::io::Error,
    },
    /// The file contains no report.
    #[error("{path}: {source}")]
    NotAReport {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// The report has no samples.
    #[error(
        "{0} has no samples: fiord puts them into JSON, fio does not. To fix: use a report that fiord wrote with \
         --output-format=json"
    )]
    NoSamples(PathBuf),
    /// The rows cannot be written to a file.
    #[error(transparent)]
    Write(#[from] SeriesError),
    /// The rows cannot be printed.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// Writes the rows.
///
/// # Errors
/// The report cannot be read or has no samples, or the rows cannot be written.
pub fn run(args: &SeriesArgs, session: &mut Session) -> Result<CommandEnd, SeriesCommandError> {
    let path = || args.result.clone();
    let text = std::fs::read_to_string(&args.result)
        .map_err(|source| SeriesCommandError::Read { path: path(), source })?;
    let report = fiord_report::read(&text)
        .map_err(|source| SeriesCommandError::NotAReport { path: path(), source })?;
    let rows = of_report(&report, Nanos::from_millis(args.interval));
    if rows.is_empty() {
        return Err(SeriesCommandError::NoSamples(path()));
    }
    let format = args.format();
    let mut text = header(format);
    text.extend(rows.iter().map(|row| line(format, row)));
    match args.output.as_deref().filter(|output| *output != "-") {
        None => session.print_document(&text)?,
        Some(output) => {
            let mut output = SeriesOutput::open(output)?;
            output.put(&text);
            output.end()?;
        }
    }
    Ok(CommandEnd::Done)
}

impl SeriesArgs {
    fn format(&self) -> SeriesFormat {
        let of_name = || SeriesFormat::of_path(self.output.as_deref()?);
        match self.format.as_deref() {
            Some("jsonl") => SeriesFormat::JsonLines,
            Some("influx") => SeriesFormat::Influx,
            Some(_) => SeriesFormat::Csv,
            None => of_name().unwrap_or(SeriesFormat::Csv),
        }
    }
}
