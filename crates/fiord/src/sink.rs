//! Where results go: standard output, or the file of `--output`.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use fiord_sys::file::Guard;
use fiord_sys::{standard_output, terminal};

use crate::exit::Exit;

/// Takes results. It remembers the first error and reports it once, at the end, so that results
/// which cannot be written do not stop a run.
#[derive(Debug)]
pub struct Sink {
    to: To,
    failed: Option<Failed>,
}

#[derive(Debug)]
enum To {
    Standard(io::Stdout),
    File(File, PathBuf),
}

/// Why results were lost.
#[derive(Debug)]
enum Failed {
    /// There was no standard output from the start.
    Closed,
    /// The reader of a pipe closed it.
    ReaderGone,
    /// Another error.
    Write(io::Error),
}

impl Sink {
    /// Standard output.
    pub fn standard() -> Self {
        Sink { to: To::Standard(io::stdout()), failed: None }
    }

    /// This file, emptied; else standard output.
    pub fn open(path: Option<&str>) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Sink::standard()) };
        // Typed by the user, so that it may lie anywhere.
        let opened = Guard::typed().allow_system(true).replace(path.as_ref());
        match opened.map_err(io::Error::from) {
            Ok(file) => Ok(Sink { to: To::File(file, path.into()), failed: None }),
            Err(e) => {
                let help = match e.kind() {
                    io::ErrorKind::IsADirectory => "--output takes the name of a file",
                    io::ErrorKind::NotFound => "the directory of --output has to be there",
                    _ => "--output needs a file that can be made or written",
                };
                Err(format!("fio: output file open error: {path}: {e}\n  help: {help}\n"))
            }
        }
    }

    /// Another sink that writes to the same place, behind what this one has written.
    pub fn twin(&self) -> io::Result<Self> {
        let to = match &self.to {
            To::Standard(_) => To::Standard(io::stdout()),
            To::File(file, path) => To::File(file.try_clone()?, path.clone()),
        };
        Ok(Sink { to, failed: None })
    }

    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        matches!(self.to, To::File(..))
    }

    /// Writes bytes and makes them visible at once.
    pub fn put(&mut self, bytes: &[u8]) {
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

    /// The exit status: `exit`, unless results were lost, which is then reported on standard error. A
    /// pipe without a reader changes only the status of success, and needs no message.
    pub fn end(self, exit: Exit) -> Exit {
        let name = match &self.to {
            To::Standard(_) => "standard output".to_owned(),
            To::File(_, path) => path.display().to_string(),
        };
        let why = match self.failed {
            None => return exit,
            Some(Failed::ReaderGone) if exit == Exit::Success => return Exit::ReaderGone,
            Some(Failed::ReaderGone) => return exit,
            Some(Failed::Closed) => {
                "it is closed\n  help: To fix: use >/dev/null, or --output=FILE, instead of >&-"
                    .into()
            }
            Some(Failed::Write(error)) => error.to_string(),
        };
        complain(&format!("fio: the results could not be written to {name}: {why}\n"));
        Exit::Failure
    }
}

/// For subcommands, which write as they go: the errors come at the end ([`Sink::end`]).
impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints a text to standard output and ends.
pub fn print(text: &str) -> Exit {
    let mut sink = Sink::standard();
    sink.put(text.as_bytes());
    sink.end(Exit::Success)
}

/// Shows a note to the person at the terminal, if there is one. A program that reads standard error
/// takes any output there for a failure, so a note never goes to a pipe or a file.
///
/// `beside_results` says that standard output may take it where only that is a terminal.
pub fn notice(text: &str, beside_results: bool) {
    if terminal::is_terminal(io::stderr()) {
        complain(text);
    } else if beside_results && terminal::is_terminal(io::stdout()) {
        let mut out = io::stdout();
        // The note is in the report as well.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Reports an error on standard error: the run is refused or has failed.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
