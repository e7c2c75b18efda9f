//! Profiles: built-in loads with a name (`--profile=act`) and their own options.
//!
//! A profile is a [`ProfileDef`]: its options, declared like job options, and a function that
//! describes its jobs. fiord parses, checks and plans these jobs as if they were in a job file, and
//! `--showcmd` shows them.
//!
//! To add a profile, write a module here, list it in [`PROFILES`], and add its name to the words of
//! the option `profile`.

mod act;
mod tiobench;
mod vioperf;

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::load::Loader;
use crate::option::def::OptionDef;
use crate::option::handle::{Get, Opt};
use crate::option::parse;
use crate::option::value::{Bases, Value};
use crate::scan::RawOption;
use crate::section::RawSection;
use crate::spec::{Place, SourceText};

#[derive(Debug, Clone, Copy)]
pub struct ProfileDef {
    /// The word after `--profile=`.
    pub name: &'static str,
    /// One paragraph of documentation.
    pub doc: &'static str,
    /// The profile's own options. After `--profile=NAME`, they take precedence over job options
    /// with the same name.
    pub options: &'static [&'static OptionDef],
    /// Describes the jobs.
    ///
    /// # Errors
    /// A value of the profile's options is unusable.
    pub describe: fn(&ProfileValues<'_>) -> Result<Description, Box<Diagnostic>>,
}

pub const PROFILES: &[&ProfileDef] = &[&tiobench::PROFILE, &act::PROFILE, &vioperf::PROFILE];

#[must_use]
pub fn find(name: &str) -> Option<&'static ProfileDef> {
    PROFILES.iter().copied().find(|p| p.name == name)
}

/// The profile option with this name, and the name of the first profile that has it.
#[must_use]
pub fn option_of_any(name: &str) -> Option<(&'static str, &'static OptionDef)> {
    PROFILES.iter().find_map(|p| Some((p.name, p.option(name)?)))
}

impl ProfileDef {
    /// The profile's own option with this exact name or alias.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&'static OptionDef> {
        self.options.iter().copied().find(|o| o.name == name || o.aliases.contains(&name))
    }
}

/// A profile and its options from the command line.
#[derive(Debug, Clone)]
pub struct RawProfile {
    pub def: &'static ProfileDef,
    pub place: Place,
    /// The options in the order typed.
    pub options: Vec<RawOption>,
}

/// The values of a profile's options.
pub struct ProfileValues<'a> {
    profile: &'a RawProfile,
    values: Vec<(&'static OptionDef, Value, Place)>,
    /// Access to facts about the machine.
    pub loader: &'a dyn Loader,
}

impl ProfileValues<'_> {
    fn set(&self, option: &'static OptionDef) -> Option<&(&'static OptionDef, Value, Place)> {
        self.values.iter().rfind(|(def, ..)| *def == option)
    }
    /// The value of an option, or its default.
    #[must_use]
    pub fn get<G: Get>(&self, option: Opt<G>) -> G {
        G::get(match self.set(option.def()) {
            Some((_, value, _)) => Some(value.clone()),
            None => option.def().default_value(),
        })
    }
    /// Creates an error that points at an option, or at the profile if the option was not set.
    pub fn error(
        &self,
        option: impl Into<&'static OptionDef>,
        what: impl std::fmt::Display,
    ) -> Box<Diagnostic> {
        let place = self.set(option.into()).map_or(&self.profile.place, |(.., place)| place);
        let what = format!("profile {}: {what}", self.profile.def.name);
        Box::new(Diagnostic::error(what, Some(place.clone())))
    }
}

/// The jobs of a profile, in the form of job file sections.
#[derive(Debug, Default)]
pub struct Description {
    sections: Vec<(String, Vec<Line>)>,
}

/// The name of an option and its value.
type Line = (&'static str, Option<String>);

impl Description {
    /// Starts a section: `global`, or a job with this name.
    pub fn section(&mut self, name: impl Into<String>) -> &mut Self {
        self.sections.push((name.into(), Vec::new()));
        self
    }
    /// Sets an option to a value in the current section.
    pub fn set<G>(&mut self, option: Opt<G>, value: impl ToString) -> &mut Self {
        self.put(option.name(), Some(value.to_string()))
    }
    /// Turns a switch on in the current section.
    pub fn switch(&mut self, option: Opt<bool>) -> &mut Self {
        self.put(option.name(), None)
    }
    fn put(&mut self, name: &'static str, text: Option<String>) -> &mut Self {
        match self.sections.last_mut() {
            Some((_, options)) => options.push((name, text)),
            None => self.sections.push(("global".into(), vec![(name, text)])),
        }
        self
    }

    /// Converts the description to sections with a source text, so that messages can point into it.
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
        let source = Arc::new(SourceText { name: format!("profile {profile}"), text });
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

/// Expands a profile into sections. Job options from the command line (`given`, sections named
/// `global`) follow the profile's defaults and so override them. Jobs on the command line are an
/// error.
///
/// # Errors
/// All errors in the profile's options, and an error for each job on the command line.
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
                .help("To fix: leave out the job, or run it without --profile"),
        );
    }
    let mut values = Vec::new();
    for raw in &profile.options {
        let Some(def) = profile.def.option(&raw.name) else { continue };
        match parse::value(def, raw.text.as_deref(), &Bases::default()) {
            Ok(value) => values.push((def, value, raw.place())),
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
    let description = (profile.def.describe)(&ProfileValues { profile, values, loader })
        .map_err(|error| vec![*error])?;
    let mut sections = description.sections(profile.def.name);
    let defaults = sections.iter().take_while(|s| s.is_global()).count();
    sections.splice(defaults..defaults, given);
    Ok(sections)
}

#[cfg(test)]
mod tests;
