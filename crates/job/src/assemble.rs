//! Assembles [`JobSpec`]s from sections: looks up options, parses their values, and applies
//! `[global]` sections.

use crate::diagnostic::{Diagnostic, Note};
use crate::expand::{self, expand};
use crate::load::Loader;
use crate::option::def::{Kind, OptionDef, Scope};
use crate::option::parse;
use crate::option::table::{self, BS, IOENGINE, KB_BASE, KbBase, NAME, PROFILE, TIME_BASED};
use crate::option::value::{Bases, Value, ValueError};
use crate::profile;
use crate::scan::RawOption;
use crate::secret;
use crate::section::RawSection;
use crate::spec::{JobSpec, Setting, engine_of, engine_of_setting};
use crate::suggest;

/// Turns sections into jobs. The command line and each job file use an assembler of their own.
pub struct Assembler<'a> {
    loader: &'a dyn Loader,
    /// The settings from `[global]` sections so far.
    globals: Vec<Setting>,
    /// The bases after these settings.
    bases: Bases,
    /// The errors and warnings so far.
    pub wrong: Vec<Diagnostic>,
}

impl<'a> Assembler<'a> {
    /// Starts with given defaults, such as those of the command line.
    pub fn new(loader: &'a dyn Loader, globals: Vec<Setting>) -> Self {
        let bases = bases_of(&globals, Bases::default());
        Assembler { loader, globals, bases, wrong: Vec::new() }
    }

    /// The current defaults.
    #[must_use]
    pub fn globals(&self) -> &[Setting] {
        &self.globals
    }

    /// Handles one section. Returns a job, or `None` for a section that sets defaults.
    pub fn section(&mut self, section: &RawSection, new_group: bool) -> Option<JobSpec> {
        let before = self.wrong.len();
        let (own, bases) = self.settings(section);
        if section.is_global() {
            self.wrong.extend(unintended_global(section));
            self.globals.extend(own);
            self.bases = bases;
            return None;
        }
        let mut settings = self.globals.clone();
        settings.extend(own);
        let engine = engine_of(&settings);
        settings.retain(|s| s.def.fits(engine));
        // `name=` in a job's section renames the job. In `[global]`, it has no effect.
        let own = settings.iter().rfind(|s| s.def == NAME.def() && !s.global);
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
        // After an unknown engine name, the options of that engine cannot be checked.
        let mut engine_known = true;
        let options: Vec<RawOption> =
            section.options.iter().map(|o| expand::name(o, self.loader)).collect();
        let mut order: Vec<&RawOption> = options.iter().collect();
        if !section.command_line {
            order.sort_by_key(|o| rank(&o.name));
            // The engine of a section applies to all its options, also to those before `ioengine`.
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
            if def == PROFILE.def() {
                self.wrong.push(profile_in_job_file(raw));
                continue;
            }
            let text = raw.text.as_deref().map(|t| expand(t, raw.variables, self.loader));
            match self.value(def, raw, text.as_deref(), &bases) {
                Ok(value) => {
                    self.wrong.extend(misleading_value(def, raw, &value));
                    let place = raw.place();
                    let global = section.is_global();
                    let typed = raw.text.as_deref();
                    let text_for_hosts = typed.and_then(|typed| {
                        expand::text_for_hosts(typed, raw.variables, self.loader)
                    });
                    let setting = Setting { def, text, text_for_hosts, value, place, global };
                    engine = engine_of_setting(&setting).unwrap_or(engine);
                    bases = bases_of(std::slice::from_ref(&setting), bases);
                    out.push(setting);
                }
                Err(e) => self.wrong.push(value_error(raw, text.as_deref(), e, self.loader)),
            }
        }
        // Engine options are last, as in fio.
        out.sort_by_key(|s| !section.command_line && is_engine_option(s.def));
        (out, bases)
    }

    /// Parses the value. Warns if it has to ignore a part of the text.
    fn value(
        &mut self,
        def: &'static OptionDef,
        raw: &RawOption,
        text: Option<&str>,
        bases: &Bases,
    ) -> Result<Value, ValueError> {
        if let (true, Some(text)) = (def.secret, text) {
            let secret = secret::resolve(text, self.loader)?;
            return parse::value(def, Some(&secret), bases);
        }
        let error = match parse::value(def, text, bases) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let (Some(text), true) = (text, def != IOENGINE.def()) else { return Err(error) };
        let (value, read) = parse::in_part(def, text, bases).ok_or(error)?;
        let name = def.name;
        let what = format!("{name}={text} is read as {name}={read}");
        let warning =
            Diagnostic::warning(Note::ValueAdjusted, what, Some(raw.text_place())).of_option(def);
        let product = match text.contains('*') {
            true => format!(", or {name}=({text}) for the product"),
            false => String::new(),
        };
        self.wrong.push(warning.help(format!("To fix: write {name}={read}{product}")));
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
            self.wrong.push(option_without_profile(raw, profile, def));
            return Some(def);
        }
        if found.is_none() && (engine_known || table::engines_with(&raw.name).is_empty()) {
            self.wrong.push(unknown_option(raw, engine));
        }
        found
    }
}

/// The rank by which fio orders the options of a section in a job file; options with equal ranks
/// keep their order. `kb_base` must come before any size.
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
    for base in settings.iter().filter_map(|setting| setting.get(KB_BASE)) {
        let kb = match base {
            KbBase::Decimal => 1000,
            KbBase::Binary => 1024,
        };
        bases = Bases { kb };
    }
    bases
}

/// Warns about a section whose name starts with `global` but is longer, because it may be meant as
/// a job.
fn unintended_global(section: &RawSection) -> Option<Diagnostic> {
    let name = &section.name;
    (name.trim_end() != "global").then(|| {
        let what = format!(
            "section `{name}` is not a job: a section whose name begins with `global` sets defaults"
        );
        Diagnostic::warning(Note::DoubtfulJob, what, Some(section.place.clone()))
            .help("To fix: write [global] for defaults, or rename the job")
    })
}

/// Reports a profile in a job file, which already has its own jobs. fio reads the line without
/// effect.
fn profile_in_job_file(raw: &RawOption) -> Diagnostic {
    let text = raw.text.as_deref().unwrap_or("NAME");
    let what = format!("profile={text} has no effect in a job file");
    Diagnostic::error(what, Some(raw.place())).help(format!(
        "To fix: run `fiord --profile={text}` without a job file, or remove the line"
    ))
}

/// Warns about an option of a profile in a job without this profile. fio accepts such an option in
/// every job, without effect.
fn option_without_profile(raw: &RawOption, profile: &str, def: &'static OptionDef) -> Diagnostic {
    let what = format!("`{}` has no effect: it is an option of profile {profile}", raw.name);
    let warning = Diagnostic::warning(Note::NoEffect, what, Some(raw.name_place()));
    let help =
        format!("To fix: leave it out, or name the profile before it: `--profile={profile}`");
    warning.of_option(def).help(help)
}

fn value_error(
    raw: &RawOption,
    expanded: Option<&str>,
    e: ValueError,
    loader: &dyn Loader,
) -> Diagnostic {
    let mut place = raw.text_place();
    // Underlines a part only if the parsed text is the typed text.
    if let (Some((from, to)), true) = (e.span, expanded == raw.text.as_deref()) {
        let start = raw.text_span.start;
        let (from, to) = (start + from, (start + to).min(raw.text_span.end));
        if from < to {
            place.span = from..to;
        }
    }
    let typed = secret::typed(&raw.name, raw.text.as_deref());
    let mut what = format!("failed parsing {typed}: {}", e.what);
    let hides = secret::is_secret_name(&raw.name);
    if let (Some(now), true) = (expanded, !hides && expanded != raw.text.as_deref()) {
        what.push_str(&format!(" (the value expands to `{now}`)"));
    }
    let mut out = Diagnostic::error(what, Some(place));
    // If a variable is unset, this is the more likely cause than the remaining text.
    let unset = match (&raw.text, raw.variables) {
        (Some(text), true) => expand::unset(text, loader),
        _ => Vec::new(),
    };
    out.help.extend(unset.iter().map(|name| {
        format!("the environment variable {name} is not set. To fix: run `{name}=… fiord …`")
    }));
    if unset.is_empty() {
        out.help.extend(e.help);
    }
    out
}

/// Warns about a value that does not mean what it seems to mean.
fn misleading_value(def: &'static OptionDef, raw: &RawOption, value: &Value) -> Option<Diagnostic> {
    let text = raw.text.as_deref()?;
    let name = def.name;
    match value {
        Value::Ints(values) if parse::looks_like_range(text) => {
            let show = |v: &Option<i128>| v.map_or("the default".into(), |v| v.to_string());
            let [read, write, trim] = values.as_array().each_ref().map(show);
            let what = format!(
                "{name}={text} is not a range: it means {read} for reads, {write} for writes and \
                 {trim} for trims"
            );
            let warning = Diagnostic::warning(Note::ValueAdjusted, what, Some(raw.text_place()))
                .of_option(def);
            Some(match def {
                def if def == BS.def() => warning
                    .help(format!("To fix: for all sizes in this range, write bsrange={text}")),
                _ => warning.help("To fix: separate the values with commas"),
            })
        }
        Value::Flag(true)
            if matches!(def.kind, Kind::Switch) && !matches!(text.trim(), "1" | "") =>
        {
            let what = format!("{name}={text} only turns {name} on: the number has no effect");
            let warning = Diagnostic::warning(Note::ValueAdjusted, what, Some(raw.text_place()))
                .of_option(def);
            Some(match def {
                def if def == TIME_BASED.def() => {
                    warning.help(format!("To fix: write runtime={text} to set the time"))
                }
                _ => warning.help(format!("To fix: write {name}=1")),
            })
        }
        _ => None,
    }
}

/// The error for a name that is not in the option table, or that belongs to another engine. It
/// starts with fio's words, which differ between the command line and job files.
#[must_use]
pub fn unknown_option(raw: &RawOption, engine: &str) -> Diagnostic {
    let typed = secret::typed(&raw.name, raw.text.as_deref());
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
            "{} belongs to {}. To fix: set ioengine= to one of these before it",
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

/// All names and aliases that a job with this engine may use, each with its option.
pub fn names(engine: &str) -> impl Iterator<Item = (&'static str, &'static OptionDef)> {
    let own = table::engine_options().iter().filter(move |o| o.fits(engine));
    let all = own.chain(table::options()).copied();
    all.flat_map(|o| {
        std::iter::once(o.name).chain(o.aliases.iter().copied()).map(move |name| (name, o))
    })
}
