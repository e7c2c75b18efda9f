//! Sections with raw options → [`JobSpec`]s: looks options up, reads their values, applies
//! `[global]` sections.

use crate::diagnostic::{Diagnostic, Note};
use crate::expand::{self, expand};
use crate::load::Loader;
use crate::option::def::{Kind, OptionDef, Scope};
use crate::option::parse;
use crate::option::table;
use crate::option::value::{Bases, Value, ValueError};
use crate::profile;
use crate::scan::RawOption;
use crate::spec::{JobSpec, Place, Setting, engine_of, engine_of_setting};
use crate::suggest;

/// A section of a job file, or the options of the command line up to the next `--name`.
#[derive(Debug, Clone)]
pub struct RawSection {
    /// The job's name; `global` for defaults.
    pub name: String,
    /// Where it opens.
    pub place: Place,
    /// Its options in the order typed.
    pub options: Vec<RawOption>,
    /// It stands on the command line: there options are taken strictly one after the other, while
    /// in a file `kb_base` and `ioengine` count for their whole section.
    pub command_line: bool,
}

impl RawSection {
    /// Whether it sets defaults: fio looks whether the name begins so (`[globals]`, `[global 2]`),
    /// in lower case (`[GLOBAL]` is a job).
    pub fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// Turns sections into jobs. One assembler serves the command line and all files.
pub struct Assembler<'a> {
    loader: &'a dyn Loader,
    /// What `[global]` has set so far.
    globals: Vec<Setting>,
    /// The bases that hold after the globals.
    bases: Bases,
    /// What was wrong.
    pub wrong: Vec<Diagnostic>,
}

impl<'a> Assembler<'a> {
    /// Starts from given defaults, such as those of the command line.
    pub fn new(loader: &'a dyn Loader, globals: Vec<Setting>) -> Self {
        let bases = bases_of(&globals, Bases::default());
        Assembler { loader, globals, bases, wrong: Vec::new() }
    }

    /// The defaults now.
    pub fn globals(&self) -> &[Setting] {
        &self.globals
    }

    /// Takes one section: a job comes back, defaults are kept.
    pub fn section(&mut self, section: &RawSection, new_group: bool) -> Option<JobSpec> {
        let before = self.wrong.len();
        let (own, bases) = self.settings(section);
        if section.is_global() {
            self.wrong.extend(longer_global(section));
            self.globals.extend(own);
            self.bases = bases;
            return None;
        }
        let mut settings = self.globals.clone();
        settings.extend(own);
        let engine = engine_of(&settings);
        settings.retain(|s| s.def.fits(engine));
        // `name=` in the section itself renames the job; in `[global]` it renames nothing.
        let own = settings.iter().rfind(|s| s.def.name == "name" && !s.global);
        let name = own.and_then(|s| s.text.clone()).unwrap_or_else(|| section.name.clone());
        self.wrong[before..]
            .iter_mut()
            .for_each(|message| message.subject.job = Some(name.clone()));
        Some(JobSpec {
            name,
            section: section.name.clone(),
            settings,
            bases,
            place: section.place.clone(),
            new_group,
        })
    }

    fn settings(&mut self, section: &RawSection) -> (Vec<Setting>, Bases) {
        let mut engine = engine_of(&self.globals);
        let mut bases = self.bases;
        // After a misspelt engine nobody knows which options it would have had.
        let mut engine_known = true;
        let options: Vec<RawOption> =
            section.options.iter().map(|o| expand::name(o, self.loader)).collect();
        let mut order: Vec<&RawOption> = options.iter().collect();
        if !section.command_line {
            order.sort_by_key(|o| rank(&o.name));
            // The section's engine decides which options it may have, wherever it is named.
            for o in options.iter().filter(|o| o.name == "ioengine") {
                match o.text.as_deref().and_then(|t| self.engine_named(t, o)) {
                    Some(e) => engine = e,
                    None => engine_known = false,
                }
            }
        }
        let mut out = Vec::new();
        for raw in order {
            let Some(def) = self.lookup(raw, engine, engine_known) else { continue };
            if def.name == "profile" {
                self.wrong.push(profile_in_a_file(raw));
                continue;
            }
            let text = raw.text.as_deref().map(|t| expand(t, raw.variables, self.loader));
            match self.value(def, raw, text.as_deref(), &bases) {
                Ok(value) => {
                    self.wrong.extend(doubtful(def, raw, &value));
                    let place = raw.place();
                    let global = section.is_global();
                    let setting = Setting { def, text, value, place, global };
                    engine = engine_of_setting(&setting).unwrap_or(engine);
                    bases = bases_of(std::slice::from_ref(&setting), bases);
                    out.push(setting);
                }
                Err(e) => self.wrong.push(value_error(raw, text.as_deref(), e, self.loader)),
            }
        }
        // Engine options come last, as fio lists them.
        out.sort_by_key(|s| !section.command_line && is_engine_option(s.def));
        (out, bases)
    }

    /// The value, with a warning where something at its end has to be overlooked.
    fn value(
        &mut self,
        def: &OptionDef,
        raw: &RawOption,
        text: Option<&str>,
        bases: &Bases,
    ) -> Result<Value, ValueError> {
        let error = match parse::value(def, text, bases) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let (Some(text), true) = (text, def.name != "ioengine") else { return Err(error) };
        let (value, read) = parse::forgiving(def, text, bases).ok_or(error)?;
        let name = def.name;
        let what = format!("{name}={text} is read as {name}={read}");
        let warning = Diagnostic::warning(Note::ValueAdjusted, what, Some(raw.text_place()))
            .of_option(def.name);
        self.wrong.push(warning.help(format!("write {name}={read}")));
        Ok(value)
    }

    fn engine_named(&self, text: &str, raw: &RawOption) -> Option<&'static str> {
        let text = expand(text, raw.variables, self.loader);
        let name = text.trim().split(':').next().unwrap_or_default();
        table::find_engine(name).map(|e| e.name)
    }

    fn lookup(
        &mut self,
        raw: &RawOption,
        engine: &'static str,
        engine_known: bool,
    ) -> Option<&'static OptionDef> {
        let found = table::find_for_engine(engine, &raw.name);
        if found.is_none()
            && let Some((profile, def)) = profile::option_of_any(&raw.name)
        {
            self.wrong.push(without_its_profile(raw, profile, def));
            return Some(def);
        }
        if found.is_none() && (engine_known || table::engines_with(&raw.name).is_empty()) {
            self.wrong.push(unknown_option(raw, engine));
        }
        found
    }
}

/// fio reads the options of a file's section in this order (and in the order typed within one
/// rank): `kb_base` has to be known before any size.
fn rank(name: &str) -> u8 {
    match name {
        "lockfile" | "cpus_allowed_policy" | "kb_base" | "unit_base" => 0,
        "filename" | "filename_format" => 2,
        _ => 1,
    }
}

fn is_engine_option(def: &OptionDef) -> bool {
    matches!(def.scope, Scope::Engine(_))
}

fn bases_of(settings: &[Setting], start: Bases) -> Bases {
    let mut bases = start;
    for s in settings.iter().filter(|s| s.def.name == "kb_base") {
        let kb = match &s.value {
            Value::Int(1000) | Value::Word("1000", _) => 1000,
            _ => 1024,
        };
        bases = Bases { kb };
    }
    bases
}

/// A section whose name only begins with `global`, and which may have been meant as a job.
fn longer_global(section: &RawSection) -> Option<Diagnostic> {
    let name = &section.name;
    (name.trim_end() != "global").then(|| {
        let what =
            format!("`{name}` is no job: a section whose name begins with `global` sets defaults");
        Diagnostic::warning(Note::DoubtfulJob, what, Some(section.place.clone()))
            .help("write [global] for defaults, or call the job something else")
    })
}

/// A job file that names a profile has jobs of its own; fio reads the line and does nothing.
fn profile_in_a_file(raw: &RawOption) -> Diagnostic {
    let text = raw.text.as_deref().unwrap_or("NAME");
    let what = format!("profile={text} has no effect in a job file");
    Diagnostic::error(what, Some(raw.place()))
        .help(format!("run `fiord --profile={text}` without a job file, or take the line out"))
}

/// fio reads the options of profiles in every job, where they change nothing.
fn without_its_profile(raw: &RawOption, profile: &str, def: &OptionDef) -> Diagnostic {
    let what = format!("`{}` has no effect: it is an option of profile {profile}", raw.name);
    let warning = Diagnostic::warning(Note::NoEffect, what, Some(raw.name_place()));
    let help = format!("leave it out, or name the profile before it: `--profile={profile}`");
    warning.of_option(def.name).help(help)
}

fn value_error(
    raw: &RawOption,
    expanded: Option<&str>,
    e: ValueError,
    loader: &dyn Loader,
) -> Diagnostic {
    let mut place = raw.text_place();
    // A part can be underlined only where what was read is what was typed.
    if let (Some((from, to)), true) = (e.span, expanded == raw.text.as_deref()) {
        let start = raw.text_span.start;
        let (from, to) = (start + from, (start + to).min(raw.text_span.end));
        if from < to {
            place.span = from..to;
        }
    }
    let typed = match &raw.text {
        Some(t) => format!("{}={t}", raw.name),
        None => raw.name.clone(),
    };
    let mut what = format!("failed parsing {typed}: {}", e.what);
    if let (Some(now), true) = (expanded, expanded != raw.text.as_deref()) {
        what.push_str(&format!(" (the value became `{now}`)"));
    }
    let mut out = Diagnostic::error(what, Some(place));
    // An unset variable is the reason more often than what is left without it.
    let unset = match (&raw.text, raw.variables) {
        (Some(text), true) => expand::unset(text, loader),
        _ => Vec::new(),
    };
    out.help.extend(
        unset.iter().map(|name| {
            format!("the environment variable {name} is not set: run `{name}=… fiord …`")
        }),
    );
    if unset.is_empty() {
        out.help.extend(e.help);
    }
    out
}

/// A warning where a value means something else than it looks like.
fn doubtful(def: &OptionDef, raw: &RawOption, value: &Value) -> Option<Diagnostic> {
    let text = raw.text.as_deref()?;
    let name = def.name;
    match value {
        Value::Ints([read, write, trim]) if parse::looks_like_range(text) => {
            let show = |v: &Option<i128>| v.map_or("the default".into(), |v| v.to_string());
            let (read, write, trim) = (show(read), show(write), show(trim));
            let what = format!(
                "{name}={text} is no range: it means {read} for reads, {write} for writes and \
                 {trim} for trims"
            );
            let warning = Diagnostic::warning(Note::ValueAdjusted, what, Some(raw.text_place()))
                .of_option(name);
            Some(match name {
                "bs" => warning.help(format!("for sizes between the two write bsrange={text}")),
                _ => warning.help("separate the values by commas"),
            })
        }
        Value::Flag(true)
            if matches!(def.kind, Kind::Switch) && !matches!(text.trim(), "1" | "") =>
        {
            let what = format!("{name}={text} only turns {name} on: the number means nothing");
            let warning = Diagnostic::warning(Note::ValueAdjusted, what, Some(raw.text_place()))
                .of_option(name);
            Some(match name {
                "time_based" => warning.help(format!("the time is runtime={text}")),
                _ => warning.help(format!("write {name}=1")),
            })
        }
        _ => None,
    }
}

/// The message for a name that no table holds, or only that of another engine. It begins as fio's
/// do: one way on the command line, another in a file.
pub fn unknown_option(raw: &RawOption, engine: &str) -> Diagnostic {
    let typed = match &raw.text {
        Some(t) => format!("{}={t}", raw.name),
        None => raw.name.clone(),
    };
    let what = match raw.variables {
        true => format!("Bad option <{typed}>"),
        false => format!("unrecognized option '--{typed}'"),
    };
    let engines = table::engines_with(&raw.name);
    if !engines.is_empty() {
        return Diagnostic::error(
            format!("{what}: ioengine {engine} has no option {}", raw.name),
            Some(raw.name_place()),
        )
        .help(format!(
            "{} belongs to {}: name one with ioengine= first",
            raw.name,
            engines.join(", ")
        ));
    }
    let error = Diagnostic::error(what, Some(raw.name_place()));
    match suggest::nearest(&raw.name, names(engine).map(|(name, _)| name)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`--cmdhelp` lists every option"),
    }
}

/// Every name and alias that a job of this engine may use, with its option.
pub fn names(engine: &str) -> impl Iterator<Item = (&'static str, &'static OptionDef)> {
    let own = table::engine_options().iter().filter(move |o| o.fits(engine));
    let all = own.chain(table::options()).copied();
    all.flat_map(|o| {
        std::iter::once(o.name).chain(o.aliases.iter().copied()).map(move |name| (name, o))
    })
}
