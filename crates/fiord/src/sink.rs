//! Writes results to standard output or to the file of `--output`.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fiord_job::diagnostic::{self, Diagnostic};
use fiord_sys::file::FileGuard;
use fiord_sys::{screen, standard_output, terminal};
use fiord_types::{Errno, plain, program};

use crate::exit::Exit;

/// Destination of results. It saves the first error and reports it once at the end, so that a write
/// error does not stop a run.
#[derive(Debug)]
pub(crate) struct Sink {
    to: To,
    failed: Option<Failed>,
    /// Output that waits for the end of the full-screen view.
    covered: Vec<u8>,
}

#[derive(Debug)]
enum To {
    Standard(io::Stdout),
    File(File, PathBuf),
}

/// Cause of lost results.
#[derive(Debug)]
enum Failed {
    /// Standard output was closed at the start.
    Closed,
    /// The reader closed the pipe.
    ReaderGone,
    /// Another error.
    Write(io::Error),
}

/// The file of `--output` or `--html` cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("output file open error: {path}: {}\n  To fix: {}", Errno::explain(.source), remedy(.source))]
pub(crate) struct OutputFile {
    path: PathBuf,
    source: io::Error,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::IsADirectory => "name a file, not a directory",
        ErrorKind::NotFound => "create the directory of the file",
        ErrorKind::ResourceBusy => {
            "name another file: this one is a storage device, or a device in use lies in it"
        }
        _ => "name a file that you may create or write",
    }
}

impl Sink {
    /// Writes to standard output.
    pub(crate) fn standard() -> Self {
        Sink { to: To::Standard(io::stdout()), failed: None, covered: Vec::new() }
    }

    /// Truncates and opens the file, or uses standard output for `None`.
    pub(crate) fn open(path: Option<&str>) -> Result<Self, OutputFile> {
        let Some(path) = path else { return Ok(Sink::standard()) };
        // The user typed the path, so it may point anywhere.
        let opened = FileGuard::typed().allow_system(true).replace(path.as_ref());
        match opened.map_err(io::Error::from) {
            Ok(file) => {
                Ok(Sink { to: To::File(file, path.into()), failed: None, covered: Vec::new() })
            }
            Err(source) => Err(OutputFile { path: path.into(), source }),
        }
    }

    /// Returns another sink that appends to the same destination.
    pub(crate) fn twin(&self) -> io::Result<Self> {
        let to = match &self.to {
            To::Standard(_) => To::Standard(io::stdout()),
            To::File(file, path) => To::File(file.try_clone()?, path.clone()),
        };
        Ok(Sink { to, failed: None, covered: Vec::new() })
    }

    /// Whether results go to a file.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.to, To::File(..))
    }

    /// Number of columns of the terminal that shows the results; `None` if they go to a file or a pipe.
    pub(crate) fn columns(&self) -> Option<usize> {
        match self.to {
            To::Standard(_) => terminal_columns(),
            To::File(..) => None,
        }
    }

    /// Writes and flushes bytes. While the full-screen view covers standard output, they wait for the next call after
    /// its end.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if matches!(self.to, To::Standard(_)) && is_covered(io::stdout()) {
            self.covered.extend(bytes);
            return;
        }
        let covered = std::mem::take(&mut self.covered);
        self.write_out(&covered);
        self.write_out(bytes);
    }

    fn write_out(&mut self, bytes: &[u8]) {
        if self.failed.is_some() || bytes.is_empty() {
            return;
        }
        let result = match &mut self.to {
            To::Standard(_) if standard_output::was_closed() => {
                return self.failed = Some(Failed::Closed);
            }
            To::Standard(out) => out.write_all(bytes).and_then(|()| out.flush()),
            To::File(file, _) => file.write_all(bytes),
        };
        self.failed = match result {
            Ok(()) => None,
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Some(Failed::ReaderGone),
            Err(e) => Some(Failed::Write(e)),
        };
    }

    /// Returns the exit status: `exit`, unless results were lost. Reports lost results on standard
    /// error. A pipe without a reader needs no message and changes only the status of success.
    pub(crate) fn end(mut self, exit: Exit) -> Exit {
        self.put(&[]);
        let name = match &self.to {
            To::Standard(_) => "standard output".to_owned(),
            To::File(_, path) => path.display().to_string(),
        };
        let why = match self.failed {
            None => return exit,
            Some(Failed::ReaderGone) if exit == Exit::Success => return Exit::ReaderGone,
            Some(Failed::ReaderGone) => return exit,
            Some(Failed::Closed) => {
                "it is closed\n  To fix: use >/dev/null, or --output=FILE, instead of >&-".into()
            }
            Some(Failed::Write(error)) => Errno::explain(&error),
        };
        report(format_args!("cannot write the results to {name}: {why}\n"));
        Exit::Failure
    }
}

/// Subcommands write incrementally; [`Sink::end`] reports errors.
impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints a text to standard output and returns the exit status.
pub(crate) fn print(text: &str) -> Exit {
    let mut sink = Sink::standard();
    sink.put(text.as_bytes());
    sink.end(Exit::Success)
}

/// Shows a note on a terminal. A program that reads standard error takes any output there for a
/// failure, so a note never goes to a pipe or a file.
///
/// With `beside_results`, the note goes to standard output if only that is a terminal.
pub(crate) fn notice(text: &str, beside_results: bool) {
    let text = &*plain(text);
    if terminal::is_terminal(io::stderr()) {
        complain(text);
    } else if beside_results && terminal::is_terminal(io::stdout()) {
        let mut out = io::stdout();
        // The report also contains the note.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Reports an error on standard error, after the name of this program.
pub(crate) fn report(text: impl std::fmt::Display) {
    complain(&plain(&program::message(text)));
}

/// Prints errors of jobs or of the command line. No target was touched.
pub(crate) fn refuse(errors: &[Diagnostic]) -> Exit {
    let color = terminal::is_terminal(io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    complain(&diagnostic::render(errors, color));
    Exit::Failure
}

/// Number of columns of the terminal that is standard output, at least 40; `None` if it is not a terminal.
pub(crate) fn terminal_columns() -> Option<usize> {
    let out = io::stdout();
    terminal::is_terminal(&out).then(|| terminal::width(&out).unwrap_or(80).max(40))
}

/// Whether the full-screen view covers a stream.
fn is_covered(stream: impl AsFd) -> bool {
    screen::is_open() && terminal::is_terminal(stream)
}

/// Errors that wait for the end of the full-screen view.
static COVERED: Mutex<String> = Mutex::new(String::new());

/// Writes a text to standard error. While the full-screen view covers it, the text waits for the view's end.
pub(crate) fn complain(text: &str) {
    let mut waiting = COVERED.lock().unwrap_or_else(PoisonError::into_inner);
    if is_covered(io::stderr()) {
        waiting.push_str(text);
        return;
    }
    let mut all = std::mem::take(&mut *waiting);
    all.push_str(text);
    let _ = io::stderr().write_all(all.as_bytes());
}
