//! Parses the arguments into general options, job sections and job files, like `getopt_long_only`:
//! one dash or two, `--opt=value` or `--opt value`, and names shortened as long as they are
//! unambiguous.

use std::ops::Range;
use std::sync::Arc;

use super::table::{Argument, COMMANDS, CommandDef};
use crate::assemble;
use crate::diagnostic::Diagnostic;
use crate::option::def::{Kind, OptionDef};
use crate::option::engine::DEFAULT_ENGINE;
use crate::option::table::{self, IOENGINE, NAME, PROFILE};
use crate::profile::{self, PROFILES, RawProfile};
use crate::scan::RawOption;
use crate::section::RawSection;
use crate::spec::COMMAND_LINE;
use crate::spec::{Place, SourceText};
use crate::suggest;

/// A general option or a job file from the command line.
#[derive(Debug, Clone)]
pub enum ParsedArgument {
    /// A general option, its value and its place on the command line.
    General(&'static CommandDef, Option<String>, Place),
    /// A job file.
    File(String, Place),
}

/// A general option or a job file, and the arguments that it consists of.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The option or file.
    pub what: ParsedArgument,
    /// Indexes of its arguments: two if the value of an option is an argument of its own.
    pub arguments: Range<usize>,
}

/// The parsed command line.
#[derive(Debug, Default)]
pub struct Arguments {
    /// General options and job files in the order of the command line.
    pub parsed: Vec<Parsed>,
    /// Job options by section. Options before the first `--name` are in a section named `global`.
    pub sections: Vec<RawSection>,
    pub profile: Option<RawProfile>,
    /// The errors and warnings found.
    pub wrong: Vec<Diagnostic>,
}

/// What a name after dashes refers to.
#[derive(Clone, Copy)]
enum Known {
    General(&'static CommandDef),
    Job(&'static OptionDef),
    Profile(&'static OptionDef),
}

impl Known {
    fn argument(self) -> Argument {
        match self {
            Known::General(c) => c.argument,
            Known::Job(o) | Known::Profile(o) => match o.kind {
                Kind::Switch => Argument::Optional("0|1"),
                _ if o.bare.is_some() => Argument::Optional("VALUE"),
                _ => Argument::Required("VALUE"),
            },
        }
    }
    fn is_in_fio(self) -> bool {
        match self {
            Known::General(c) => c.in_fio,
            Known::Job(o) | Known::Profile(o) => o.since != "fiord",
        }
    }
    fn same(self, other: Known) -> bool {
        match (self, other) {
            (Known::General(a), Known::General(b)) => a.name == b.name,
            (Known::Job(a), Known::Job(b)) => std::ptr::eq(a, b),
            (Known::Profile(a), Known::Profile(b)) => a.name == b.name,
            _ => false,
        }
    }
}

/// Parses all arguments (without the program's own name).
#[must_use]
pub fn read(args: &[String]) -> Arguments {
    let (source, spans) = source_of(args);
    let mut reader = Reader {
        args,
        source,
        spans,
        at: 0,
        engine: DEFAULT_ENGINE,
        engine_known: true,
        out: Arguments::default(),
    };
    while reader.at < args.len() {
        if args[reader.at] == "--" {
            reader.at += 1;
            while reader.at < args.len() {
                reader.file();
            }
            break;
        }
        match args[reader.at].strip_prefix('-') {
            Some(rest) if !rest.is_empty() => reader.option(),
            _ => reader.file(),
        }
    }
    reader.out
}

/// Joins the arguments with spaces into one source text, so that messages can show places in it.
/// Also returns the byte offset of each argument.
#[must_use]
pub fn source_of(args: &[String]) -> (Arc<SourceText>, Vec<usize>) {
    let mut text = String::new();
    let mut starts = Vec::with_capacity(args.len());
    for arg in args {
        if !text.is_empty() {
            text.push(' ');
        }
        starts.push(text.len());
        text.push_str(arg);
    }
    (Arc::new(SourceText { name: COMMAND_LINE.into(), text }), starts)
}

/// The general option of a letter with its value attached, such as `-oFILE`.
fn short_option_with_value(name: &str, dashes: usize) -> Option<&'static CommandDef> {
    let mut letters = name.chars();
    let (letter, _) = (letters.next()?, letters.next()?);
    let def = COMMANDS.iter().find(|c| c.letter == Some(letter))?;
    (dashes == 1 && def.argument != Argument::None).then_some(def)
}

struct Reader<'a> {
    args: &'a [String],
    source: Arc<SourceText>,
    spans: Vec<usize>,
    at: usize,
    /// The most recently named engine. It decides which engine options exist.
    engine: &'static str,
    /// False after an unknown engine name: the parser then cannot know which engine options exist.
    engine_known: bool,
    out: Arguments,
}

impl Reader<'_> {
    fn place(&self, arg: usize) -> Place {
        let start = self.spans[arg];
        Place { source: self.source.clone(), span: start..start + self.args[arg].len() }
    }

    fn file(&mut self) {
        let what = ParsedArgument::File(self.args[self.at].clone(), self.place(self.at));
        self.out.parsed.push(Parsed { what, arguments: self.at..self.at + 1 });
        self.at += 1;
    }

    fn option(&mut self) {
        let arg = &self.args[self.at];
        let dashes = if arg.starts_with("--") { 2 } else { 1 };
        let body = &arg[dashes..];
        let (name, inline) = match body.split_once('=') {
            Some((n, v)) => (n, Some(v.to_string())),
            None => (body, None),
        };
        let start = self.spans[self.at] + dashes;
        let mut raw = RawOption {
            name: name.to_string(),
            text: inline,
            name_span: start..start + name.len(),
            text_span: (start + body.len())..(start + body.len()),
            source: self.source.clone(),
            variables: false,
        };
        if raw.text.is_some() {
            raw.text_span.start = start + name.len() + 1;
        }
        let option_at = self.at;
        self.at += 1;
        let known = match self.find(name, dashes) {
            Ok(known) => known,
            Err(candidates)
                if let Some(def) =
                    short_option_with_value(name, dashes).filter(|_| candidates.is_empty()) =>
            {
                raw.text_span.start = start + 1;
                raw.text = Some(body[1..].to_string());
                Known::General(def)
            }
            Err(_) if name.is_empty() => {
                let what = format!("unrecognized option '{arg}'");
                let place = self.place(option_at);
                return self.out.wrong.push(Diagnostic::error(what, Some(place)));
            }
            Err(e) => return self.unknown(&raw, e),
        };
        if let Err(e) = self.take_value(&mut raw, known) {
            return self.out.wrong.push(*e);
        }
        match known {
            Known::General(def) => {
                let what = ParsedArgument::General(def, raw.text, self.place(option_at));
                self.out.parsed.push(Parsed { what, arguments: option_at..self.at });
            }
            Known::Job(def) => self.job_option(def, raw),
            Known::Profile(def) => {
                raw.name = def.name.to_string();
                if let Some(profile) = &mut self.out.profile {
                    profile.options.push(raw);
                }
            }
        }
    }

    /// Uses the next argument as the value if the option needs a value and has none after `=`.
    fn take_value(&mut self, raw: &mut RawOption, known: Known) -> Result<(), Box<Diagnostic>> {
        let name = match known {
            Known::General(c) => c.name,
            Known::Job(o) | Known::Profile(o) => o.name,
        };
        match (known.argument(), &raw.text) {
            (Argument::None, Some(text)) => Err(Box::new(
                Diagnostic::error(
                    format!("option --{name} takes no value, but `{text}` was given"),
                    Some(raw.text_place()),
                )
                .help(format!("To fix: write --{name}")),
            )),
            (Argument::Required(what), None) => {
                let Some(value) = self.args.get(self.at) else {
                    return Err(Box::new(
                        Diagnostic::error(
                            format!("option {name} requires an argument"),
                            Some(raw.name_place()),
                        )
                        .help(format!("To fix: write --{name}={what}")),
                    ));
                };
                raw.text = Some(value.clone());
                raw.text_span = self.spans[self.at]..self.spans[self.at] + value.len();
                self.at += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn job_option(&mut self, def: &'static OptionDef, mut raw: RawOption) {
        raw.name = def.name.to_string();
        if def == IOENGINE.def() {
            let word = raw.text.as_deref().unwrap_or_default();
            let word = word.split(':').next().unwrap_or_default();
            let found = table::find_engine(word);
            self.engine = found.map_or(self.engine, |e| e.name);
            self.engine_known = found.is_some();
        }
        if def == NAME.def() {
            return self.open_job(raw);
        }
        if def == PROFILE.def() {
            return self.profile(&raw);
        }
        match self.out.sections.last_mut() {
            Some(section) => section.options.push(raw),
            None => {
                let place = raw.place();
                self.out.sections.push(RawSection {
                    name: "global".into(),
                    place,
                    options: vec![raw],
                    command_line: true,
                });
            }
        }
    }

    /// Handles `--profile=NAME`. Later arguments may use the options of the profile.
    fn profile(&mut self, raw: &RawOption) {
        let name = raw.text.as_deref().unwrap_or_default().trim();
        let Some(def) = profile::find(name) else {
            let names: Vec<&str> = PROFILES.iter().map(|p| p.name).collect();
            let error = Diagnostic::error(format!("profile '{name}' not found"), Some(raw.place()));
            let help = match suggest::nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("profiles are {}", names.join(", ")),
            };
            return self.out.wrong.push(error.help(help));
        };
        match &self.out.profile {
            None => {
                self.out.profile =
                    Some(RawProfile { def, place: raw.place(), options: Vec::new() });
            }
            Some(first) => {
                let what = format!(
                    "a command line can have only one profile, and it already has {}",
                    first.def.name
                );
                self.out.wrong.push(
                    Diagnostic::error(what, Some(raw.place()))
                        .help("To fix: run the profiles one at a time"),
                );
            }
        }
    }

    fn open_job(&mut self, raw: RawOption) {
        let name = raw.text.clone().unwrap_or_default();
        if name.is_empty() {
            let error = Diagnostic::error("the job has no name", Some(raw.name_place()))
                .help("To fix: write --name=JOB");
            return self.out.wrong.push(error);
        }
        // Each job starts with the engine from the global options.
        let globals = self.out.sections.iter().filter(|s| s.is_global());
        let named = globals.flat_map(|s| &s.options).rfind(|o| o.name == "ioengine");
        let word = named.and_then(|o| o.text.as_deref()).unwrap_or(DEFAULT_ENGINE);
        let found = table::find_engine(word);
        self.engine = found.map_or(DEFAULT_ENGINE, |e| e.name);
        self.engine_known = found.is_some();
        let place = raw.place();
        // The name is the first setting of the job, as in fio.
        let options = vec![raw];
        self.out.sections.push(RawSection { name, place, options, command_line: true });
    }

    fn find(&self, name: &str, dashes: usize) -> Result<Known, Vec<String>> {
        if let Some(c) = COMMANDS.iter().find(|c| c.name == name) {
            return Ok(Known::General(c));
        }
        let profile = self.out.profile.as_ref().map(|p| p.def);
        if let Some(o) = profile.and_then(|p| p.option(name)) {
            return Ok(Known::Profile(o));
        }
        if let Some(o) = table::find_for_engine(self.engine, name) {
            return Ok(Known::Job(o));
        }
        // Such an option has no effect; the assembler reports it.
        if let Some((_, o)) = profile::option_of_any(name) {
            return Ok(Known::Job(o));
        }
        if let (1, Some(letter), 1) = (dashes, name.chars().next(), name.chars().count())
            && let Some(c) = COMMANDS.iter().find(|c| c.letter == Some(letter))
        {
            return Ok(Known::General(c));
        }
        if name.is_empty() {
            return Err(Vec::new());
        }
        let mut found: Vec<(String, Known)> = Vec::new();
        let mut add = |full: &str, known: Known| {
            if full.starts_with(name) {
                found.push((full.to_string(), known));
            }
        };
        COMMANDS.iter().for_each(|c| add(c.name, Known::General(c)));
        let own = profile.map_or(&[][..], |p| p.options);
        own.iter().for_each(|o| add(o.name, Known::Profile(o)));
        assemble::names(self.engine).for_each(|(full, o)| add(full, Known::Job(o)));
        // An abbreviation that fio accepts keeps its meaning, whatever options fiord adds.
        if found.iter().any(|(_, known)| known.is_in_fio()) {
            found.retain(|(_, known)| known.is_in_fio());
        }
        match found.first() {
            Some((_, first)) if found.iter().all(|(_, k)| k.same(*first)) => Ok(*first),
            _ => {
                let mut names: Vec<String> = found.into_iter().map(|(n, _)| n).collect();
                names.sort();
                names.dedup();
                Err(names)
            }
        }
    }

    fn unknown(&mut self, raw: &RawOption, candidates: Vec<String>) {
        if !self.engine_known && !table::engines_with(&raw.name).is_empty() {
            // The message about the unknown engine is enough.
            return;
        }
        if !candidates.is_empty() {
            let mut shown: Vec<String> = candidates.iter().map(|c| format!("--{c}")).collect();
            if shown.len() > 12 {
                shown.truncate(12);
                shown.push("…".into());
            }
            let what = format!("option `--{}` is ambiguous", raw.name);
            let error = Diagnostic::error(what, Some(raw.name_place()))
                .help(format!("possible options are {}", shown.join(", ")));
            return self.out.wrong.push(error);
        }
        let mut error = assemble::unknown_option(raw, self.engine);
        let general = suggest::nearest(&raw.name, COMMANDS.iter().map(|c| c.name));
        if let Some(near) = general
            && !error.help.iter().any(|h| h.starts_with("did you mean"))
        {
            error.help = vec![format!("did you mean `--{near}`?")];
        }
        self.out.wrong.push(error);
    }
}
