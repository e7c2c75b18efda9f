//! Profiles: whole loads known by a name (`--profile=act`), with options of their own.
//!
//! A profile is one [`ProfileDef`]: its options, declared as those of jobs are, and a function that
//! writes the jobs down. What it writes goes the way of every job file: the values are read, checked
//! and planned as if a person had typed them, and `--showcmd` shows them.
//!
//! To add one, write a module here, list it in [`PROFILES`] and name it among the words of the
//! option `profile`.

mod act;
mod tiobench;
mod vioperf;

use std::sync::Arc;

use crate::assemble::RawSection;
use crate::diagnostic::Diagnostic;
use crate::load::Loader;
use crate::option::def::OptionDef;
use crate::option::parse;
use crate::option::value::{Bases, Value};
use crate::scan::RawOption;
use crate::spec::{Place, Source};

/// One profile.
#[derive(Debug, Clone, Copy)]
pub struct ProfileDef {
    /// The word after `--profile=`.
    pub name: &'static str,
    /// One paragraph.
    pub doc: &'static str,
    /// Its own options. After `--profile=NAME` they come before job options of the same name.
    pub options: &'static [OptionDef],
    /// Writes the jobs down.
    pub describe: fn(&Given<'_>) -> Result<Description, Box<Diagnostic>>,
}

/// Every profile.
pub const PROFILES: &[&ProfileDef] = &[&tiobench::PROFILE, &act::PROFILE, &vioperf::PROFILE];

/// The profile of this name.
pub fn find(name: &str) -> Option<&'static ProfileDef> {
    PROFILES.iter().copied().find(|p| p.name == name)
}

/// The option of this name that only a profile has, and the profile's name.
pub fn option_of_any(name: &str) -> Option<(&'static str, &'static OptionDef)> {
    PROFILES.iter().find_map(|p| Some((p.name, p.option(name)?)))
}

impl ProfileDef {
    /// The profile's own option of this exact name or alias.
    pub fn option(&self, name: &str) -> Option<&'static OptionDef> {
        self.options.iter().find(|o| o.name == name || o.aliases.contains(&name))
    }
}

/// A profile as the command line asks for it.
#[derive(Debug, Clone)]
pub struct RawProfile {
    /// Which.
    pub def: &'static ProfileDef,
    /// Where it is named.
    pub place: Place,
    /// Its options in the order typed.
    pub options: Vec<RawOption>,
}

/// The values of a profile's options.
pub struct Given<'a> {
    profile: &'a RawProfile,
    values: Vec<(&'static str, Value, Place)>,
    /// The machine's facts that a profile may ask for.
    pub loader: &'a dyn Loader,
}

impl Given<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        if let Some((_, value, _)) = self.values.iter().rev().find(|(n, ..)| *n == name) {
            return Some(value.clone());
        }
        let def = self.profile.def.option(name)?;
        parse::value(def, Some(def.default?), &Bases::default()).ok()
    }
    /// A whole number of 0 or more, or its default; 0 where there is none.
    pub fn count(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Int(n)) => u64::try_from(n).unwrap_or(0),
            _ => 0,
        }
    }
    /// Whether it was set.
    pub fn is_set(&self, name: &str) -> bool {
        self.values.iter().any(|(n, ..)| *n == name)
    }
    /// A text, or its default.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
    /// A time in nanoseconds.
    pub fn time(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Time(ns)) => ns,
            _ => 0,
        }
    }
    /// A switch.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Flag(true)))
    }
    /// An error that points at an option, or at the profile where that was not set.
    pub fn error(&self, name: &str, what: impl std::fmt::Display) -> Box<Diagnostic> {
        let set = self.values.iter().rev().find(|(n, ..)| *n == name);
        let place = set.map_or(&self.profile.place, |(.., place)| place);
        let what = format!("profile {}: {what}", self.profile.def.name);
        Box::new(Diagnostic::error(what, Some(place.clone())))
    }
}

/// The jobs of a profile, as a job file would hold them.
#[derive(Debug, Default)]
pub struct Description {
    sections: Vec<(String, Vec<Line>)>,
}

/// An option and its value.
type Line = (&'static str, Option<String>);

impl Description {
    /// Opens a section: `global`, or a job's name.
    pub fn section(&mut self, name: impl Into<String>) -> &mut Self {
        self.sections.push((name.into(), Vec::new()));
        self
    }
    /// An option with a value, in the section opened last.
    pub fn set(&mut self, name: &'static str, value: impl ToString) -> &mut Self {
        self.put(name, Some(value.to_string()))
    }
    /// An option without one.
    pub fn switch(&mut self, name: &'static str) -> &mut Self {
        self.put(name, None)
    }
    fn put(&mut self, name: &'static str, text: Option<String>) -> &mut Self {
        match self.sections.last_mut() {
            Some((_, options)) => options.push((name, text)),
            None => self.sections.push(("global".into(), vec![(name, text)])),
        }
        self
    }

    /// The sections as if they had been read from a text, so that messages can point into it.
    fn sections(self, profile: &str) -> Vec<RawSection> {
        let mut text = String::new();
        let mut spans = Vec::new();
        for (name, options) in &self.sections {
            let start = text.len() + 1;
            text.push_str(&format!("[{name}]\n"));
            let mut list = vec![(start..start + name.len(), 0..0)];
            for (option, value) in options {
                let from = text.len();
                let eq = from + option.len();
                match value {
                    Some(value) => text.push_str(&format!("{option}={value}\n")),
                    None => text.push_str(&format!("{option}\n")),
                }
                let end = text.len() - 1;
                list.push((from..eq, if value.is_some() { eq + 1..end } else { end..end }));
            }
            spans.push(list);
        }
        let source = Arc::new(Source { name: format!("profile {profile}"), text });
        let made = self.sections.into_iter().zip(spans);
        made.map(|((name, options), spans)| {
            let place = Place { source: source.clone(), span: spans[0].0.clone() };
            let option = |((name, text), (name_span, text_span)): ((&str, _), _)| RawOption {
                name: name.to_string(),
                text,
                name_span,
                text_span,
                source: source.clone(),
                variables: false,
            };
            let options = options.into_iter().zip(spans.into_iter().skip(1)).map(option).collect();
            RawSection { name, place, options, command_line: true }
        })
        .collect()
    }
}

/// The sections that stand for a profile. Job options that were typed beside it (`given`, sections
/// named `global`) follow its own defaults and so count before them; jobs beside it are an error.
///
/// # Errors
/// Everything that is wrong with the profile's options.
pub fn expand(
    profile: &RawProfile,
    given: Vec<RawSection>,
    loader: &dyn Loader,
) -> Result<Vec<RawSection>, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    for job in given.iter().filter(|s| !s.is_global()) {
        let name = profile.def.name;
        let what = format!("job {} would not run: profile {name} brings its own jobs", job.name);
        wrong.push(
            Diagnostic::error(what, Some(job.place.clone()))
                .help("leave the job away, or run it without --profile"),
        );
    }
    let mut values = Vec::new();
    for raw in &profile.options {
        let Some(def) = profile.def.option(&raw.name) else { continue };
        match parse::value(def, raw.text.as_deref(), &Bases::default()) {
            Ok(value) => values.push((def.name, value, raw.place())),
            Err(error) => {
                let typed = raw.text.as_deref().unwrap_or_default();
                let what = format!("failed parsing {}={typed}: {}", raw.name, error.what);
                let mut error_there = Diagnostic::error(what, Some(raw.text_place()));
                error_there.help.extend(error.help);
                wrong.push(error_there);
            }
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let description =
        (profile.def.describe)(&Given { profile, values, loader }).map_err(|error| vec![*error])?;
    let mut sections = description.sections(profile.def.name);
    let defaults = sections.iter().take_while(|s| s.is_global()).count();
    sections.splice(defaults..defaults, given);
    Ok(sections)
}

#[cfg(test)]
mod tests;
