//! Job specifications: what was typed, validated value by value, each tied to its place.

use std::sync::Arc;

use crate::number;
use crate::option::def::{EngineDef, OptionDef, Unit};
use crate::option::value::{Amount, Bases, PatternPart, Value};
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
    /// What its section or `--name` is called: `name=` in a section renames the job, but not the
    /// files that are named after it.
    pub section: String,
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
        let engine = engine_of(&self.settings);
        let def = table::find_for_engine(engine, name).filter(|d| d.name == name).or_else(|| {
            // An option of another engine: it has its default here, and no effect.
            table::engine_options().iter().copied().find(|d| d.name == name)
        });
        let Some(def) = def else { panic!("{name} is not in the option table") };
        self.default_of(def)
    }
    /// What an option means where it is not set.
    pub fn default_of(&self, def: &OptionDef) -> Option<Value> {
        let text = def.default?;
        match parse::value(def, Some(text), &Bases::default()) {
            Ok(value) => Some(value),
            Err(e) => panic!("the default of {} cannot be read: {}", def.name, e.what),
        }
    }
    /// The engine (`ioengine=`, else the default).
    pub fn engine(&self) -> &'static EngineDef {
        let name = engine_of(&self.settings);
        table::find_engine(name).unwrap_or(&table::engines()[0])
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
    /// `Ints` for read, write and trim. The rules for one and two values are applied already (`4k`
    /// fills all three, `4k,8k` gives the trim the write's); `None` where a comma left the place
    /// to the default (`4k,8k,`, `,8k`).
    pub fn ints(&self, name: &str) -> Option<[Option<i128>; 3]> {
        match self.value(name)? {
            Value::Ints(v) => Some(v),
            other => panic!("{name} holds {other:?}, not integers"),
        }
    }
    /// As [`ints`](Self::ints), with empty places taken from the option's default; `None` where it
    /// has none and a place is empty.
    pub fn triple(&self, name: &str) -> Option<[i128; 3]> {
        let set = self.ints(name)?;
        let default = self.setting(name).and_then(|s| self.default_of(s.def));
        let Some(Value::Ints(default)) = default.or(Some(Value::Ints(set))) else { return None };
        let place = |i: usize| set[i].or(default[i]);
        Some([place(0)?, place(1)?, place(2)?])
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
    /// The number after a word's colon (`rw=randread:8`, `rw=read:4k`), read with the job's bases.
    pub fn suffix(&self, name: &str) -> Option<i128> {
        let (_, suffix) = self.word(name)?;
        number::integer(&suffix?, Unit::Count, &self.bases).ok()
    }
    /// `Floats`.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        match self.value(name)? {
            Value::Floats(v) => Some(v),
            other => panic!("{name} holds {other:?}, not numbers"),
        }
    }
    /// `Ranges` for read, write and trim: bytes, inclusive; filled as [`ints`](Self::ints).
    pub fn ranges(&self, name: &str) -> Option<[Option<(u64, u64)>; 3]> {
        match self.value(name)? {
            Value::Ranges(v) => Some(v),
            other => panic!("{name} holds {other:?}, not ranges"),
        }
    }
    /// `WordList`: each word and its suffix.
    pub fn words(&self, name: &str) -> Option<Vec<(&'static str, Option<String>)>> {
        match self.value(name)? {
            Value::Words(v) => Some(v),
            other => panic!("{name} holds {other:?}, not words"),
        }
    }
    /// `bssplit`: sizes and weights for read, write and trim.
    pub fn splits(&self, name: &str) -> Option<[Vec<(u64, u8)>; 3]> {
        match self.value(name)? {
            Value::Splits(v) => Some(v),
            other => panic!("{name} holds {other:?}, not splits"),
        }
    }
    /// CPU or node numbers; empty for `all`.
    pub fn set(&self, name: &str) -> Option<Vec<u32>> {
        match self.value(name)? {
            Value::Set(v) => Some(v),
            other => panic!("{name} holds {other:?}, not a set"),
        }
    }
    /// `buffer_pattern`, `verify_pattern`.
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
    /// One size or a range of two, bytes, the smaller first.
    pub fn size_range(&self, name: &str) -> Option<(u64, u64)> {
        match self.value(name)? {
            Value::Range(low, high) => Some((low, high)),
            other => panic!("{name} holds {other:?}, not a range of sizes"),
        }
    }
    /// One time or a range of two, nanoseconds, the smaller first.
    pub fn time_range(&self, name: &str) -> Option<(u64, u64)> {
        match self.value(name)? {
            Value::TimeRange(low, high) => Some((low, high)),
            Value::Time(v) => Some((v, v)),
            other => panic!("{name} holds {other:?}, not a range of times"),
        }
    }
}

/// The engine's documented name after these settings; fio's default is `psync` on Linux.
pub(crate) fn engine_of(settings: &[Setting]) -> &'static str {
    settings.iter().rev().find_map(engine_of_setting).unwrap_or("psync")
}

/// The same where this setting names it.
pub(crate) fn engine_of_setting(setting: &Setting) -> Option<&'static str> {
    match (&setting.value, setting.def.name) {
        (Value::Word(word, _), "ioengine") => {
            Some(table::find_engine(word).map_or(*word, |e| e.name))
        }
        _ => None,
    }
}
