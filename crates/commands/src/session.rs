//! The streams of a subcommand, and how it ends.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use fiord_types::{Errno, plain, program};

use crate::consent::Ask;

/// Output streams and the source of answers.
pub struct Session<'a> {
    /// Stream for results.
    pub out: &'a mut dyn Write,
    /// Number of columns of the terminal that shows results; `None` if they go to a file or a pipe.
    pub columns: Option<usize>,
    /// Stream for questions and for errors that do not end the command.
    pub err: &'a mut dyn Write,
    /// Source of answers.
    pub ask: &'a mut dyn Ask,
}

impl Session<'_> {
    /// Writes results for people, without characters of names that a terminal obeys.
    ///
    /// # Errors
    /// See [`Session::print_document`].
    pub fn print(&mut self, text: &str) -> Result<(), CannotPrint> {
        self.print_document(&plain(text))
    }

    /// Writes results as they are, for programs. A closed pipe is not an error: it does not change the outcome.
    ///
    /// # Errors
    /// The results cannot be written.
    pub fn print_document(&mut self, text: &str) -> Result<(), CannotPrint> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(CannotPrint(e)),
            _ => Ok(()),
        }
    }

    /// Reports an error that does not end the command, after the name of this program.
    pub fn report(&mut self, error: impl Display) {
        let _ = writeln!(self.err, "{}", plain(&program::message(error)));
    }
}

/// The results cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the results to standard output: {}", Errno::explain(.0))]
pub struct CannotPrint(#[source] pub io::Error);

/// How a subcommand ends if no error stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// Everything is done.
    Done,
    /// The user interrupted it; the same command resumes it.
    Stopped,
    /// Everything is written, but a limit ended the writes before their rate was steady.
    NotSteady,
    /// A target has lost or damaged data. The results say so.
    DataLost,
    /// A condition on a comparison holds. The results say which one.
    ConditionHolds,
    /// The measured change is beyond the limit of a condition, but can be chance.
    ConditionUnproven,
    /// Some of its targets failed. The errors are already reported.
    Failed,
}

/// When to show progress on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowProgress {
    /// Only if standard error is a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Output format of `fiord zones`, `fiord suite` and `fiord verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CommandFormat {
    /// A table for people.
    Table,
    /// One JSON document.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::{Answer, Scripted};

    /// A stream on which every write fails with `kind`.
    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_closed_pipe_is_no_error() {
        let print = |kind| {
            let mut ask = Scripted::new(Answer::No);
            let (out, err) = (&mut Broken(kind), &mut io::sink());
            Session { out, columns: None, err, ask: &mut ask }.print("text")
        };
        assert!(print(ErrorKind::BrokenPipe).is_ok());
        let CannotPrint(cause) = print(ErrorKind::StorageFull).unwrap_err();
        assert_eq!(cause.kind(), ErrorKind::StorageFull);
    }
}
