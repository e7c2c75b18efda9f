//! Job specifications: validated settings, each with its place in the source.

use std::sync::Arc;

use crate::number;
use crate::option::def::{OptionDef, Unit};
use crate::option::engine::EngineDef;
use crate::option::value::{Amount, Bases, PatternPart, Value};
use crate::option::{parse, table};

/// A text that contains options: a job file, an included file or the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The path of the file as given, `-` for standard input, or `command line`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A place in a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// The byte range in the text.
    pub span: std::ops::Range<usize>,
}

/// A setting of one option in one job.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The option.
    pub def: &'static OptionDef,
    /// The text after `=`, with variables expanded. `None` if there was no `=`.
    pub text: Option<String>,
    /// The parsed value.
    pub value: Value,
    /// The place of the whole `name=value`.
    pub place: Place,
    /// Whether the setting comes from a `[global]` section or from options before the first
    /// `--name`.
    pub global: bool,
}

/// A job section, before `numjobs` multiplies it.
#[derive(Debug, Clone)]
pub struct JobSpec {
    /// The name of the job.
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

/// Accessors for the settings. Each takes the documented name of an option and returns the last
/// setting, or the default from the option table if the job does not set the option. They panic if
/// the name is not in the table or the option has another kind: this is a bug in fiord, which the
/// test that reads every option finds.
impl JobSpec {
    /// The last setting of an option. `None` if the job does not set it.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|s| s.def.name == name)
    }
    /// Whether the job sets the option.
    pub fn is_set(&self, name: &str) -> bool {
        self.setting(name).is_some()
    }
    /// The value of an option, or its default.
    pub fn value(&self, name: &str) -> Option<Value> {
        if let Some(setting) = self.setting(name) {
            return Some(setting.value.clone());
        }
        let engine = engine_of(&self.settings);
        let def = table::find_for_engine(engine, name).filter(|d| d.name == name).or_else(|| {
            // For an option of another engine, use its default. The option has no effect.
            table::engine_options().iter().copied().find(|d| d.name == name)
        });
        let Some(def) = def else { panic!("{name} is not in the option table") };
        self.default_of(def)
    }
    /// The default value of an option.
    pub fn default_of(&self, def: &OptionDef) -> Option<Value> {
        let text = def.default?;
        match parse::value(def, Some(text), &Bases::default()) {
            Ok(value) => Some(value),
            Err(e) => panic!("the default of {} cannot be read: {}", def.name, e.what),
        }
    }
    /// The job's engine, or the default engine.
    pub fn engine(&self) -> &'static EngineDef {
        let name = engine_of(&self.settings);
        table::find_engine(name).unwrap_or(&table::engines()[0])
    }
    /// The value of a `Switch` or `Bool`. False if there is no default.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Flag(true)))
    }
    /// The value of an `Int`.
    pub fn int(&self, name: &str) -> Option<i128> {
        match self.value(name)? {
            Value::Int(v) => Some(v),
            other => panic!("{name} holds {other:?}, not an integer"),
        }
    }
    /// The values of an `Ints` for read, write and trim. The rules for one and two values are
    /// already applied (`4k` sets all three; with `4k,8k`, trims use the value of writes). `None`
    /// if the value was left empty and the default applies (`4k,8k,`, `,8k`).
    pub fn ints(&self, name: &str) -> Option<[Option<i128>; 3]> {
        match self.value(name)? {
            Value::Ints(v) => Some(v),
            other => panic!("{name} holds {other:?}, not integers"),
        }
    }
    /// The values of an `Ints`, like [`ints`](Self::ints), but with the option's default for empty
    /// values. `None` if a value is empty and the option has no default.
    pub fn triple(&self, name: &str) -> Option<[i128; 3]> {
        let set = self.ints(name)?;
        let default = self.setting(name).and_then(|s| self.default_of(s.def));
        let Some(Value::Ints(default)) = default.or(Some(Value::Ints(set))) else { return None };
        let place = |i: usize| set[i].or(default[i]);
        Some([place(0)?, place(1)?, place(2)?])
    }
    /// The value of an `Amount`.
    pub fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name)? {
            Value::Amount(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a size"),
        }
    }
    /// The value of a `Time`, in nanoseconds.
    pub fn time(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Time(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a time"),
        }
    }
    /// The value of a `Text`.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Text(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a text"),
        }
    }
    /// The value of a `Words`: the word and its suffix.
    pub fn word(&self, name: &str) -> Option<(&'static str, Option<String>)> {
        match self.value(name)? {
            Value::Word(w, s) => Some((w, s)),
            other => panic!("{name} holds {other:?}, not a word"),
        }
    }
    /// The number after a word's colon (`rw=randread:8`, `rw=read:4k`), read with the job's bases.
    pub fn suffix(&self, name: &str) -> Option<i128> {
        let (_, suffix) = self.word(name)?;
        number::integer(&suffix?, Unit::Count, &self.bases).ok()
    }
    /// The values of a `Floats`.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        match self.value(name)? {
            Value::Floats(v) => Some(v),
            other => panic!("{name} holds {other:?}, not numbers"),
        }
    }
    /// The values of a `Ranges` for read, write and trim: inclusive ranges in bytes. Missing values
    /// follow the rules of [`ints`](Self::ints).
    pub fn ranges(&self, name: &str) -> Option<[Option<(u64, u64)>; 3]> {
        match self.value(name)? {
            Value::Ranges(v) => Some(v),
            other => panic!("{name} holds {other:?}, not ranges"),
        }
    }
    /// The value of a `WordList`: each word and its suffix.
    pub fn words(&self, name: &str) -> Option<Vec<(&'static str, Option<String>)>> {
        match self.value(name)? {
            Value::Words(v) => Some(v),
            other => panic!("{name} holds {other:?}, not words"),
        }
    }
    /// The value of `bssplit`: block sizes in bytes and weights in per cent, for read, write and
    /// trim.
    pub fn splits(&self, name: &str) -> Option<[Vec<(u64, u8)>; 3]> {
        match self.value(name)? {
            Value::Splits(v) => Some(v),
            other => panic!("{name} holds {other:?}, not splits"),
        }
    }
    /// CPU or node numbers. Empty for `all`.
    pub fn set(&self, name: &str) -> Option<Vec<u32>> {
        match self.value(name)? {
            Value::Set(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a set"),
        }
    }
    /// The value of `buffer_pattern` or `verify_pattern`.
    pub fn pattern(&self, name: &str) -> Option<Vec<PatternPart>> {
        match self.value(name)? {
            Value::Pattern(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a pattern"),
        }
    }
    /// File or directory names.
    pub fn paths(&self, name: &str) -> Option<Vec<String>> {
        match self.value(name)? {
            Value::Paths(v) => Some(v),
            other => panic!("{name} holds {other:?}, not paths"),
        }
    }
    /// One size or a range of two, in bytes, with the smaller first.
    pub fn size_range(&self, name: &str) -> Option<(u64, u64)> {
        match self.value(name)? {
            Value::Range(low, high) => Some((low, high)),
            other => panic!("{name} holds {other:?}, not a range of sizes"),
        }
    }
    /// One time or a range of two, in nanoseconds, with the smaller first.
    pub fn time_range(&self, name: &str) -> Option<(u64, u64)> {
        match self.value(name)? {
            Value::TimeRange(low, high) => Some((low, high)),
            Value::Time(v) => Some((v, v)),
            other => panic!("{name} holds {other:?}, not a range of times"),
        }
    }
}

/// The documented name of the engine that these settings select. The default is fio's default on
/// Linux, `psync`.
pub(crate) fn engine_of(settings: &[Setting]) -> &'static str {
    settings.iter().rev().find_map(engine_of_setting).unwrap_or("psync")
}

/// The documented name of the engine that this setting selects. `None` if the setting is not
/// `ioengine`.
pub(crate) fn engine_of_setting(setting: &Setting) -> Option<&'static str> {
    match (&setting.value, setting.def.name) {
        (Value::Word(word, _), "ioengine") => {
            Some(table::find_engine(word).map_or(*word, |e| e.name))
        }
        _ => None,
    }
}
