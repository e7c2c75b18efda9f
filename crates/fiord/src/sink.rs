//! Where results go: standard output, or the file of `--output`.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use crate::exit::Exit;

/// Takes results. What cannot be written is remembered and told once, at the end; a reader that went
/// away is no error.
#[derive(Debug)]
pub struct Sink {
    to: To,
    failed: Option<io::Error>,
    deaf: bool,
}

#[derive(Debug)]
enum To {
    Standard(io::Stdout),
    File(File, PathBuf),
}

impl Sink {
    /// Standard output.
    pub fn standard() -> Self {
        Sink { to: To::Standard(io::stdout()), failed: None, deaf: false }
    }

    /// This file, emptied; else standard output.
    pub fn open(path: Option<&str>) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Sink::standard()) };
        match File::create(path) {
            Ok(file) => Ok(Sink { to: To::File(file, path.into()), failed: None, deaf: false }),
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

    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        matches!(self.to, To::File(..))
    }

    /// Writes a piece and makes it visible.
    pub fn put(&mut self, bytes: &[u8]) {
        if self.deaf || self.failed.is_some() {
            return;
        }
        let result = match &mut self.to {
            To::Standard(out) => out.write_all(bytes).and_then(|()| out.flush()),
            To::File(file, _) => file.write_all(bytes),
        };
        match result {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::BrokenPipe => self.deaf = true,
            Err(e) => self.failed = Some(e),
        }
    }

    /// What went wrong, as a message; `None` when all was written.
    pub fn complaint(&self) -> Option<String> {
        let error = self.failed.as_ref()?;
        let name = match &self.to {
            To::Standard(_) => "standard output".to_owned(),
            To::File(_, path) => path.display().to_string(),
        };
        Some(format!("fio: the results could not be written to {name}: {error}\n"))
    }
}

/// Prints a text to standard output and ends.
pub fn print(text: &str) -> Exit {
    let mut sink = Sink::standard();
    sink.put(text.as_bytes());
    match sink.complaint() {
        None => Exit::Success,
        Some(complaint) => {
            complain(&complaint);
            Exit::Failure
        }
    }
}

/// Says something on standard error. When nobody hears it there is nobody to tell.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
