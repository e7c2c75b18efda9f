//! Command lines of tasks.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

/// The arguments of a task that are not read yet.
#[derive(Debug)]
pub(crate) struct Args<'a> {
    left: std::slice::Iter<'a, String>,
    /// The last option.
    option: &'a str,
}

impl<'a> Args<'a> {
    pub(crate) fn new(args: &'a [String]) -> Self {
        Args { left: args.iter(), option: "" }
    }

    /// Reads the next option.
    pub(crate) fn option(&mut self) -> Option<&'a str> {
        self.option = self.left.next()?;
        Some(self.option)
    }

    /// Reads the value of the last option.
    pub(crate) fn value<T: FromStr<Err: Error + Send + Sync + 'static>>(&mut self) -> Result<T> {
        let option = self.option;
        let value = self.left.next().with_context(|| format!("{option} needs a value"))?;
        value.parse().with_context(|| format!("{option} {value}"))
    }

    /// Reads a number of seconds.
    pub(crate) fn seconds(&mut self) -> Result<Duration> {
        self.value().map(Duration::from_secs)
    }

    /// Returns the error for an option that the task does not have.
    pub(crate) fn unknown(&self, help: &str) -> anyhow::Error {
        anyhow!("unknown option {}\n\n{help}", self.option)
    }
}
