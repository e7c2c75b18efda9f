//! Job specifications: what was typed, validated value by value, each tied to its place.

use std::sync::Arc;

use crate::option::def::OptionDef;
use crate::option::value::{Amount, Bases, Value};
use crate::option::{parse, table};

/// A text that options came from: a job file, an included file or the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// A file's path as given, `-` for standard input or `command line`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A place in a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// The bytes of it that are meant.
    pub span: std::ops::Range<usize>,
}

/// One option as it was set for one job.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Which option.
    pub def: &'static OptionDef,
    /// What was typed after `=`, after variables were put in; `None` when there was no `=`.
    pub text: Option<String>,
    /// What that means.
    pub value: Value,
    /// Where the whole `name=value` stands.
    pub place: Place,
    /// It was inherited from a `[global]` section or the options before the first `--name`.
    pub global: bool,
}

/// One job section (not yet multiplied by `numjobs`).
#[derive(Debug, Clone)]
pub struct JobSpec {
    /// Its name.
    pub name: String,
    /// Every setting in the order typed, globals first. A later one of the same option wins.
    pub settings: Vec<Setting>,
    /// The bases its sizes were read with.
    pub bases: Bases,
    /// Where the section or `--name` stands.
    pub place: Place,
    /// It is the first job of a second, third… job file: it starts when all jobs before it have
    /// ended, in a new group, as if `stonewall` were set.
    pub new_group: bool,
}

/// Reading a spec. Each takes the option's documented name, returns the last setting or, where the
/// option was not set, its registry default. All panic when the name is not in the registry or has
/// another kind: a mistake in fiord, found by the test that reads every option.
impl JobSpec {
    /// The last setting of an option, when it was set.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|s| s.def.name == name)
    }
    /// Whether it was set at all.
    pub fn is_set(&self, name: &str) -> bool {
        self.setting(name).is_some()
    }
    /// The value or the default's value.
    pub fn value(&self, name: &str) -> Option<Value> {
        if let Some(setting) = self.setting(name) {
            return Some(setting.value.clone());
        }
        let engine = crate::assemble::engine_of(&self.settings);
        let def = table::find_for_engine(engine, name).filter(|d| d.name == name).or_else(|| {
            // An option of another engine: it has its default here, and no effect.
            table::engine_options().iter().copied().find(|d| d.name == name)
        });
        let Some(def) = def else { panic!("{name} is not in the option table") };
        let text = def.default?;
        match parse::value(def, Some(text), &Bases::default()) {
            Ok(value) => Some(value),
            Err(e) => panic!("the default of {name} cannot be read: {}", e.what),
        }
    }
    /// `Switch` and `Bool`: false where there is no default.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Flag(true)))
    }
    /// `Int`.
    pub fn int(&self, name: &str) -> Option<i128> {
        match self.value(name)? {
            Value::Int(v) => Some(v),
            other => panic!("{name} holds {other:?}, not an integer"),
        }
    }
    /// `Ints`, with read standing in for an unset write and write for an unset trim, as fio does
    /// for one value given for all (`None` places stay `None` where a comma left them empty).
    pub fn ints(&self, name: &str) -> Option<[Option<i128>; 3]> {
        match self.value(name)? {
            Value::Ints(v) => Some(v),
            other => panic!("{name} holds {other:?}, not integers"),
        }
    }
    /// `Amount`.
    pub fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name)? {
            Value::Amount(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a size"),
        }
    }
    /// `Time`, nanoseconds.
    pub fn time(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Time(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a time"),
        }
    }
    /// `Text`.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Text(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a text"),
        }
    }
    /// `Words`: the word and its suffix.
    pub fn word(&self, name: &str) -> Option<(&'static str, Option<String>)> {
        match self.value(name)? {
            Value::Word(w, s) => Some((w, s)),
            other => panic!("{name} holds {other:?}, not a word"),
        }
    }
}
