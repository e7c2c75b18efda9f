//! A job while it is planned: its options, and the messages about them.

use std::ops::Deref;

use fiord_job::diagnostic::{Diagnostic, Level, Note, Subject};
use fiord_job::option::def::OptionDef;
use fiord_job::spec::{JobSpec, Place};

use super::messages::Messages;

/// The options of a job that is being planned, and the messages about the run. It dereferences to the [`JobSpec`], which
/// returns the values of the options: `job.get(NICE)`.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) spec: &'a JobSpec,
    pub(crate) messages: &'a Messages,
}

impl Deref for Reading<'_> {
    type Target = JobSpec;
    fn deref(&self) -> &JobSpec {
        self.spec
    }
}

impl<'a> Reading<'a> {
    pub(crate) fn new(spec: &'a JobSpec, messages: &'a Messages) -> Self {
        Reading { spec, messages }
    }
    pub(crate) fn of_all(specs: &'a [JobSpec], messages: &'a Messages) -> Vec<Self> {
        specs.iter().map(|spec| Reading { spec, messages }).collect()
    }
    /// Adds a message about the job, unless the list has it already.
    pub(crate) fn report(&self, message: Diagnostic) {
        self.messages.push(message);
    }
    /// The location of the setting, or of the job if it does not set the option.
    pub(crate) fn place(&self, option: impl Into<&'static OptionDef>) -> Place {
        self.setting(option).map_or(&self.spec.place, |setting| &setting.place).clone()
    }
    /// An error that names the job and points at an option.
    pub(crate) fn error(
        &self,
        option: impl Into<&'static OptionDef>,
        what: impl std::fmt::Display,
    ) -> Diagnostic {
        let option = option.into();
        let what = format!("job `{}`: {what}", self.spec.name);
        let subject = Subject {
            job: Some(self.spec.name.clone()),
            option: self.is_set(option).then_some(option),
        };
        let subject = Box::new(subject);
        Diagnostic { subject, ..Diagnostic::error(what, Some(self.place(option))) }
    }
    /// A warning about something that the user probably did not intend.
    pub(crate) fn warning(
        &self,
        option: impl Into<&'static OptionDef>,
        what: impl std::fmt::Display,
    ) -> Diagnostic {
        self.noted(Note::DoubtfulJob, option, what)
    }
    /// A warning about an option that has no effect.
    pub(crate) fn no_effect(
        &self,
        option: impl Into<&'static OptionDef>,
        what: impl std::fmt::Display,
    ) -> Diagnostic {
        self.noted(Note::NoEffect, option, what)
    }
    /// A warning about a value that fiord replaces by another one.
    pub(crate) fn adjusted(
        &self,
        option: impl Into<&'static OptionDef>,
        what: impl std::fmt::Display,
    ) -> Diagnostic {
        self.noted(Note::ValueAdjusted, option, what)
    }
    fn noted(
        &self,
        note: Note,
        option: impl Into<&'static OptionDef>,
        what: impl std::fmt::Display,
    ) -> Diagnostic {
        Diagnostic { level: Level::Warning(note), ..self.error(option, what) }
    }
}
