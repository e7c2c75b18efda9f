//! Where the lines of a series go. A reader, also one of a run that was killed, finds whole lines only.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use fiord_sys::file::{FileGuard, RowFile};
use fiord_sys::standard_output;
use fiord_types::Errno;

/// Maximum number of bytes of one write: what a pipe takes as a whole (`PIPE_BUF`).
const WRITE: usize = 4096;

/// A series cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// The file cannot be opened.
    #[error("cannot open the series {}: {}\n  To fix: {}", .path.display(), Errno::explain(.source), remedy(.source))]
    Open {
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// Lines are lost.
    #[error("the series in {name} lacks rows: {}\n  To fix: {}", Errno::explain(.source), remedy(.source))]
    Write {
        /// Where it goes.
        name: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// Standard output was closed at the start.
    #[error(
        "cannot write the series to standard output: it is closed\n  To fix: name a file with --series=FILE"
    )]
    Closed,
    /// The reader of standard output closed it.
    #[error("the reader of the series has closed standard output")]
    ReaderGone,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "create the directory of the file",
        ErrorKind::IsADirectory => "name a file, not a directory",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space, name a file on another file system, or write fewer rows (--series-interval)"
        }
        ErrorKind::ResourceBusy => {
            "name another file: this one is a storage device, or a device in use lies in it"
        }
        _ => "name a file that you may create or write",
    }
}

/// The destination of a series. The first error is kept until the end, because it does not stop the run.
#[derive(Debug)]
pub struct SeriesOutput {
    to: SeriesFile,
    failed: Option<SeriesError>,
}

#[derive(Debug)]
enum SeriesFile {
    Standard(io::Stdout),
    Named(RowFile, PathBuf),
}

impl SeriesOutput {
    /// Opens and empties a file, or takes standard output for `-`.
    ///
    /// # Errors
    /// The file cannot be created or written, or standard output is closed.
    pub fn open(path: &str) -> Result<Self, SeriesError> {
        let to = if path == "-" {
            if standard_output::was_closed() {
                return Err(SeriesError::Closed);
            }
            SeriesFile::Standard(io::stdout())
        } else {
            let path = Path::new(path);
            // The user typed the path, so it may point anywhere.
            let opened = FileGuard::typed().allow_system(true).replace(path).and_then(RowFile::new);
            let open = |source| SeriesError::Open { path: path.to_owned(), source };
            SeriesFile::Named(opened.map_err(io::Error::from).map_err(open)?, path.to_owned())
        };
        Ok(SeriesOutput { to, failed: None })
    }

    /// Writes whole lines, a few at a time.
    pub fn put(&mut self, lines: &str) {
        let mut rest = lines;
        while !rest.is_empty() && self.failed.is_none() {
            let limit = rest.len().min(WRITE);
            let end = rest.as_bytes()[..limit].iter().rposition(|byte| *byte == b'\n');
            // A line that is longer than a write is written at once, too.
            let end = end.or_else(|| rest.find('\n')).map_or(rest.len(), |end| end + 1);
            let (some, later) = rest.split_at(end);
            self.failed = self.to.write(some.as_bytes()).err();
            rest = later;
        }
    }

    /// Whether all lines were written.
    ///
    /// # Errors
    /// Why lines are lost.
    pub fn end(self) -> Result<(), SeriesError> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl SeriesFile {
    fn write(&mut self, lines: &[u8]) -> Result<(), SeriesError> {
        match self {
            SeriesFile::Standard(out) => {
                let written = out.write_all(lines).and_then(|()| out.flush());
                written.map_err(|source| match source.kind() {
                    ErrorKind::BrokenPipe => SeriesError::ReaderGone,
                    _ => SeriesError::Write { name: "standard output".into(), source },
                })
            }
            SeriesFile::Named(file, path) => {
                // A part of a line would look like a row.
                file.write_lines(lines).map_err(|source| SeriesError::Write {
                    name: path.display().to_string(),
                    source,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_device_is_an_error_at_the_end() {
        let mut output = SeriesOutput::open("/dev/full").unwrap();
        output.put("a\nb\n");
        output.put("c\n");
        let error = output.end().unwrap_err().to_string();
        assert!(
            error.contains("/dev/full lacks rows") && error.contains("To fix: free"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_directory_is_an_error_at_the_start() {
        let error = SeriesOutput::open("/nonexistent-directory/a.csv").unwrap_err().to_string();
        assert!(error.contains("To fix: create the directory"), "{error}");
    }

    #[test]
    fn many_lines_arrive_as_they_are() {
        let name = format!("fiord-series-{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut output = SeriesOutput::open(path.to_str().unwrap()).unwrap();
        let lines: String = (0..3000).map(|n| format!("{n}\n")).collect();
        let long = "x".repeat(3 * WRITE) + "\n";
        [&*lines, &*long, &*lines].into_iter().for_each(|text| output.put(text));
        output.end().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), lines.clone() + &long + &lines);
        std::fs::remove_file(&path).unwrap();
    }
}
