//! Reads options of a job by name, and creates messages that point at them.

use fiord_job::diagnostic::{Diagnostic, Level, Note, Subject};
use fiord_job::option::value::{Amount, PatternPart, Value};
use fiord_job::spec::{JobSpec, Place, Setting};
use fiord_types::PerDir;

/// A value word and the text after its colon.
pub(crate) type Word = (&'static str, Option<String>);

/// The options of one job. If a value does not have the type that a getter returns, the getter acts
/// as if the option were not set: the option table is responsible for types.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) spec: &'a JobSpec,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(spec: &'a JobSpec) -> Self {
        Reading { spec }
    }
    /// The value of the option, or its default.
    fn value(&self, name: &str) -> Option<Value> {
        match self.spec.setting(name) {
            Some(setting) => Some(setting.value.clone()),
            None => self.spec.value(name),
        }
    }
    /// The last setting of the option; `None` if the job does not set it.
    pub(crate) fn set(&self, name: &str) -> Option<&'a Setting> {
        self.spec.setting(name)
    }
    /// Whether the job sets the option.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.spec.is_set(name)
    }
    /// The position of the last setting among all settings: of some pairs of options the later
    /// counts.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.spec.settings.iter().rposition(|s| s.def.name == name)
    }
    /// The value of an on-off option; `false` by default.
    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Flag(on)) => on,
            Some(Value::Int(n)) => n != 0,
            _ => false,
        }
    }
    /// The value as an integer.
    pub(crate) fn int(&self, name: &str) -> Option<i128> {
        integer(self.value(name)?)
    }
    /// The value as an integer, clamped to the range of `u64`.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.int(name).map(|v| v.clamp(0, u64::MAX as i128) as u64)
    }
    /// The value as an integer, clamped to the range of `u32`.
    pub(crate) fn count32(&self, name: &str) -> Option<u32> {
        self.int(name).map(|v| v.clamp(0, u32::MAX as i128) as u32)
    }
    /// The value as an integer, clamped to the range of `u32`; `None` if the job does not set it.
    pub(crate) fn set_count32(&self, name: &str) -> Option<u32> {
        self.set(name)?;
        self.count32(name)
    }
    /// Numbers for read, write and trim.
    pub(crate) fn ints(&self, name: &str) -> PerDir<Option<i128>> {
        match self.value(name) {
            Some(Value::Ints(v)) => v.into(),
            Some(other) => PerDir::all(integer(other)),
            None => PerDir::all(None),
        }
    }
    /// A size in bytes, per cent or zones.
    pub(crate) fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name)? {
            Value::Amount(a) => Some(a),
            other => integer(other).map(|v| Amount::Bytes(v.clamp(0, u64::MAX as i128) as u64)),
        }
    }
    /// A duration in nanoseconds; 0 if there is none. Of a range, its end.
    pub(crate) fn time(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Time(t)) => t,
            Some(Value::TimeRange(_, t)) => t,
            _ => 0,
        }
    }
    /// A range of durations in nanoseconds; a single duration is both ends.
    pub(crate) fn time_range(&self, name: &str) -> (u64, u64) {
        match self.value(name) {
            Some(Value::Time(t)) => (t, t),
            Some(Value::TimeRange(a, b)) => (a.min(b), a.max(b)),
            _ => (0, 0),
        }
    }
    /// A text value.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Text(t) => Some(t),
            Value::Paths(p) => p.into_iter().next(),
            _ => None,
        }
    }
    /// A text value; `None` if the job does not set the option.
    pub(crate) fn set_text(&self, name: &str) -> Option<String> {
        self.set(name)?;
        self.text(name)
    }
    /// A value word and the text after its colon.
    pub(crate) fn word(&self, name: &str) -> Option<Word> {
        match self.value(name)? {
            Value::Word(w, s) => Some((w, s)),
            _ => None,
        }
    }
    /// The value word without the text after its colon; empty if there is none.
    pub(crate) fn plain_word(&self, name: &str) -> &'static str {
        self.word(name).map_or("", |w| w.0)
    }
    /// A list of value words.
    pub(crate) fn words(&self, name: &str) -> Vec<Word> {
        match self.value(name) {
            Some(Value::Words(w)) => w,
            Some(Value::Word(w, s)) => vec![(w, s)],
            _ => Vec::new(),
        }
    }
    /// A list of paths, which colons separate in the job file.
    pub(crate) fn paths(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::Paths(p)) => p,
            Some(Value::Text(t)) => vec![t],
            _ => Vec::new(),
        }
    }
    /// A list of floating-point numbers.
    pub(crate) fn floats(&self, name: &str) -> Vec<f64> {
        match self.value(name) {
            Some(Value::Floats(f)) => f,
            _ => Vec::new(),
        }
    }
    /// CPU or node numbers; `None` if the job does not set the option.
    pub(crate) fn set_numbers(&self, name: &str) -> Option<Vec<u32>> {
        match &self.set(name)?.value {
            Value::Set(s) => Some(s.clone()),
            Value::Int(n) => Some(vec![u32::try_from(*n).ok()?]),
            _ => None,
        }
    }
    /// Ranges for read, write and trim; `None` if the job does not set the option.
    pub(crate) fn set_ranges(&self, name: &str) -> Option<PerDir<Option<(u64, u64)>>> {
        match self.set(name)?.value {
            Value::Ranges(r) => Some(r.into()),
            Value::Range(a, b) => Some(PerDir::all(Some((a, b)))),
            _ => None,
        }
    }
    /// A range of bytes; `None` if the job does not set the option.
    pub(crate) fn set_range(&self, name: &str) -> Option<(u64, u64)> {
        match self.set(name)?.value {
            Value::Range(a, b) => Some((a.min(b), a.max(b))),
            Value::Int(n) => u64::try_from(n).ok().map(|n| (n, n)),
            Value::Amount(Amount::Bytes(n)) => Some((n, n)),
            _ => None,
        }
    }
    /// Block sizes in bytes with shares in per cent, for read, write and trim; `None` if the job
    /// does not set the option.
    pub(crate) fn set_splits(&self, name: &str) -> Option<PerDir<&'a [(u64, u8)]>> {
        match &self.set(name)?.value {
            Value::Splits(s) => Some(PerDir::from(s.each_ref().map(Vec::as_slice))),
            _ => None,
        }
    }
    /// A pattern; `None` if the job does not set the option.
    pub(crate) fn set_pattern(&self, name: &str) -> Option<&'a [PatternPart]> {
        match &self.set(name)?.value {
            Value::Pattern(p) => Some(p),
            _ => None,
        }
    }
    /// The location of the setting, or of the job if it does not set the option.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        Some(self.set(name).map_or(&self.spec.place, |s| &s.place).clone())
    }
    /// An error that names the job and points at an option.
    pub(crate) fn error(&self, name: &str, what: impl std::fmt::Display) -> Diagnostic {
        let what = format!("job `{}`: {what}", self.spec.name);
        let subject = Subject {
            job: Some(self.spec.name.clone()),
            option: self.set(name).map(|setting| setting.def.name),
        };
        let subject = Box::new(subject);
        Diagnostic { subject, ..Diagnostic::error(what, self.place(name)) }
    }
    /// A warning about something that the user probably did not intend.
    pub(crate) fn warning(&self, name: &str, what: impl std::fmt::Display) -> Diagnostic {
        self.noted(Note::DoubtfulJob, name, what)
    }
    /// A warning about an option that has no effect.
    pub(crate) fn no_effect(&self, name: &str, what: impl std::fmt::Display) -> Diagnostic {
        self.noted(Note::NoEffect, name, what)
    }
    /// A warning about a value that fiord replaces by another one.
    pub(crate) fn adjusted(&self, name: &str, what: impl std::fmt::Display) -> Diagnostic {
        self.noted(Note::ValueAdjusted, name, what)
    }
    fn noted(&self, note: Note, name: &str, what: impl std::fmt::Display) -> Diagnostic {
        Diagnostic { level: Level::Warning(note), ..self.error(name, what) }
    }
}

fn integer(value: Value) -> Option<i128> {
    match value {
        Value::Int(v) => Some(v),
        Value::Flag(on) => Some(i128::from(on)),
        Value::Ints(v) => v.into_iter().flatten().next(),
        Value::Amount(Amount::Bytes(b)) => Some(i128::from(b)),
        Value::Range(a, _) => Some(i128::from(a)),
        Value::Word(w, _) => w.parse().ok(),
        Value::Text(t) => t.trim().parse().ok(),
        _ => None,
    }
}
