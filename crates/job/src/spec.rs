//! Job specifications: validated settings, each with its place in the source.

use std::sync::Arc;

use crate::option::def::OptionDef;
use crate::option::engine::{DEFAULT_ENGINE, EngineDef};
use crate::option::handle::{Get, Opt};
use crate::option::parse;
use crate::option::table;
use crate::option::value::{Bases, Value, ValueError};

/// A text that contains options: a job file, an included file or the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The path of the file as given, `-` for standard input, or `command line`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// The name of the command line as a source.
pub(crate) const COMMAND_LINE: &str = "command line";

impl SourceText {
    /// Whether this is the command line.
    #[must_use]
    pub fn is_command_line(&self) -> bool {
        self.name == COMMAND_LINE
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub source: Arc<SourceText>,
    /// The byte range in the text.
    pub span: std::ops::Range<usize>,
}

/// A setting of one option in one job.
#[derive(Debug, Clone)]
pub struct Setting {
    pub def: &'static OptionDef,
    /// The text after `=`, with variables expanded. `None` if there was no `=`.
    pub text: Option<String>,
    /// The text with `$host` and the other words about a machine as they are, if it has any: on another host they have other
    /// values.
    pub text_for_hosts: Option<String>,
    /// The parsed value.
    pub value: Value,
    /// The place of the whole `name=value`.
    pub place: Place,
    /// Whether the setting comes from a `[global]` section or from options before the first
    /// `--name`.
    pub global: bool,
}

impl Setting {
    /// The text as reports, messages and stored results show it, without secrets. `None` if there was no `=`.
    #[must_use]
    pub fn shown_text(&self) -> Option<std::borrow::Cow<'_, str>> {
        self.text.as_deref().map(|text| crate::secret::shown(self.def, text))
    }
    /// The value, if this is a setting of `option`.
    #[must_use]
    pub fn get<G: Get>(&self, option: Opt<G>) -> Option<G> {
        (self.def == option.def()).then(|| G::get(Some(self.value.clone())))
    }
}

/// A job section, before `numjobs` multiplies it.
#[derive(Debug, Clone)]
pub struct JobSpec {
    pub name: String,
    /// The name of the section or the value of `--name`. `name=` in a section renames the job, but
    /// generated files keep the section's name.
    pub section: String,
    /// All settings in the order typed, with globals first. If an option occurs several times, the
    /// last setting counts.
    pub settings: Vec<Setting>,
    /// The bases for its sizes.
    pub bases: Bases,
    /// The place of the section or of `--name`.
    pub place: Place,
    /// Whether this is the first job of a second or later job file. Such a job starts after all
    /// earlier jobs have ended, in a new group, as with `stonewall`.
    pub new_group: bool,
}

impl JobSpec {
    /// The value of an option: the last one that the job sets, or the default. If the option has no
    /// default, this returns an [`Option`], except that a switch is off.
    #[must_use]
    pub fn get<G: Get>(&self, option: Opt<G>) -> G {
        G::get(match self.setting(option) {
            Some(setting) => Some(setting.value.clone()),
            None => option.def().default_value(),
        })
    }
    /// The value of an option that has a default, if the job sets it.
    #[must_use]
    pub fn explicit<G: Get>(&self, option: Opt<G>) -> Option<G> {
        self.setting(option)?.get(option)
    }
    /// Whether the job sets the option.
    #[must_use]
    pub fn is_set(&self, option: impl Into<&'static OptionDef>) -> bool {
        self.setting(option).is_some()
    }
    /// The last setting of an option. `None` if the job does not set it.
    #[must_use]
    pub fn setting(&self, option: impl Into<&'static OptionDef>) -> Option<&Setting> {
        self.position(option).map(|index| &self.settings[index])
    }
    /// The index of the last setting of an option. It decides between options of which the later
    /// one counts.
    #[must_use]
    pub fn position(&self, option: impl Into<&'static OptionDef>) -> Option<usize> {
        let def = option.into();
        self.settings.iter().rposition(|setting| std::ptr::eq(setting.def, def))
    }
    /// Sets an option, as if the job did it last.
    ///
    /// # Errors
    /// The text is not a value of the option.
    pub fn set(
        &mut self,
        option: impl Into<&'static OptionDef>,
        text: &str,
    ) -> Result<(), ValueError> {
        let def = option.into();
        let value = parse::value(def, Some(text), &self.bases)?;
        self.settings.push(Setting {
            def,
            text: Some(text.to_owned()),
            text_for_hosts: None,
            value,
            place: self.place.clone(),
            global: false,
        });
        Ok(())
    }
    /// Forgets all settings of an option, and of the options that refine it.
    pub fn unset(&mut self, option: impl Into<&'static OptionDef>) {
        let def = option.into();
        let belongs = |other: &OptionDef| other.name == def.name || other.parent == Some(def.name);
        self.settings.retain(|setting| !belongs(setting.def));
    }
    /// The job's engine, or the default engine.
    #[must_use]
    pub fn engine(&self) -> &'static EngineDef {
        let word = self.settings.iter().rev().find_map(|setting| setting.get(table::IOENGINE));
        table::find_engine(word.unwrap_or(DEFAULT_ENGINE)).unwrap_or(&table::engines()[0])
    }
}

/// The documented name of the engine that these settings select. The default is
/// [`DEFAULT_ENGINE`].
pub(crate) fn engine_of(settings: &[Setting]) -> &'static str {
    settings.iter().rev().find_map(engine_of_setting).unwrap_or(DEFAULT_ENGINE)
}

/// The documented name of the engine that this setting selects. `None` if the setting is not
/// `ioengine`.
pub(crate) fn engine_of_setting(setting: &Setting) -> Option<&'static str> {
    let word = setting.get(table::IOENGINE)?;
    Some(table::find_engine(word).map_or(word, |e| e.name))
}
