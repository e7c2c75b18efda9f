//! The results of the command: a line for each device, or JSON, from which `fiord report` makes a page.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use fiord_html::result::{FilledState, FilledTarget, PreconditionDocument};
use fiord_sys::file::FileGuard;
use fiord_types::plain;

use super::fill::FillEnd;
use super::record::FillRecord;
use super::target::FillTarget;
use super::{FillError, PreconditionArgs, PreconditionError};
use crate::session::{CommandEnd, Session};

/// Output format of `fiord precondition`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PreconditionFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// A device and what happened to it.
#[derive(Debug)]
pub(super) struct FilledDevice {
    pub(super) target: FillTarget,
    /// `None` with `--dry-run`.
    pub(super) end: Option<Result<FillEnd, FillError>>,
    pub(super) record: FillRecord,
}

impl FilledDevice {
    /// A device to which nothing was written.
    pub(super) fn untouched(target: FillTarget) -> Self {
        FilledDevice { target, end: None, record: FillRecord::new() }
    }

    fn state(&self) -> FilledState {
        match &self.end {
            None => FilledState::DryRun,
            Some(Err(_)) => FilledState::Failed,
            Some(Ok(FillEnd::Stopped(_))) => FilledState::Stopped,
            Some(Ok(end)) if end.is_unsteady() => FilledState::NotSteady,
            Some(Ok(_)) => FilledState::Written,
        }
    }

    /// What happened, in a sentence; empty if nothing did.
    fn words(&self) -> String {
        match &self.end {
            None => String::new(),
            Some(Ok(end)) => end.words(self.target.size),
            Some(Err(error)) => error.to_string(),
        }
    }

    fn into_document(self) -> FilledTarget {
        let (end, outcome) = (self.state(), self.words());
        let FilledDevice { target, record, .. } = self;
        let identity = target.disk.as_ref().map(|disk| disk.identity.clone()).unwrap_or_default();
        let parts = target.parts.iter().map(|(part, marks)| match marks.is_empty() {
            true => part.name.clone(),
            false => format!("{} ({})", part.name, marks.join(", ")),
        });
        FilledTarget {
            host: String::new(),
            contents: target.marks.iter().cloned().chain(parts).collect(),
            path: target.path.display().to_string(),
            model: identity.model.unwrap_or_default(),
            name: target.name,
            size: target.size,
            end,
            outcome,
            written: record.written,
            write_time: record.write_time,
            passes: record.passes,
            random: record.random,
        }
    }
}

/// Where the results go.
#[derive(Debug)]
pub(super) struct Output {
    format: PreconditionFormat,
    file: Option<(PathBuf, File)>,
}

impl Output {
    /// Creates the file of `--output`.
    pub(super) fn open(args: &PreconditionArgs) -> Result<Output, PreconditionError> {
        let create = |path: &PathBuf| {
            let file = FileGuard::typed().replace(path).map_err(PreconditionError::Create)?;
            Ok::<_, PreconditionError>((path.clone(), file))
        };
        Ok(Output { format: args.format, file: args.output.as_ref().map(create).transpose()? })
    }

    /// Writes the results. Reports the devices that failed on the error stream. Returns the overall outcome.
    pub(super) fn conclude(
        &mut self,
        devices: Vec<FilledDevice>,
        session: &mut Session<'_>,
    ) -> Result<CommandEnd, PreconditionError> {
        let end = end(&devices);
        let is_text = self.format == PreconditionFormat::Text;
        let mut lines = String::new();
        for device in &devices {
            match &device.end {
                Some(Ok(_)) => lines += &format!("{}: {}\n", device.target.name, device.words()),
                Some(Err(_)) => {
                    session.report(format_args!("{}: {}", device.target.name, device.words()));
                }
                None => {}
            }
        }
        if is_text {
            self.write(&plain(&lines), session)?;
        } else {
            let targets = devices.into_iter().map(FilledDevice::into_document).collect();
            self.document(targets, session)?;
        }
        Ok(end)
    }

    /// Writes a JSON document about these devices.
    pub(super) fn document(
        &mut self,
        targets: Vec<FilledTarget>,
        session: &mut Session<'_>,
    ) -> Result<(), PreconditionError> {
        let document = PreconditionDocument::new(fiord_job::version(), targets);
        self.write(&document.to_json(), session)
    }

    /// Writes text to the file, or to standard output.
    pub(super) fn write(
        &mut self,
        text: &str,
        session: &mut Session<'_>,
    ) -> Result<(), PreconditionError> {
        match &mut self.file {
            None => Ok(session.print_document(text)?),
            Some((path, file)) => file
                .write_all(text.as_bytes())
                .map_err(|source| PreconditionError::Write(path.clone(), source)),
        }
    }
}

/// How the devices ended together: a failure is worse than a stop, and a stop is worse than a rate that is not steady.
fn end(devices: &[FilledDevice]) -> CommandEnd {
    let any = |state| devices.iter().any(|device| device.state() == state);
    match () {
        () if any(FilledState::Failed) => CommandEnd::Failed,
        () if any(FilledState::Stopped) => CommandEnd::Stopped,
        () if any(FilledState::NotSteady) => CommandEnd::NotSteady,
        () => CommandEnd::Done,
    }
}
