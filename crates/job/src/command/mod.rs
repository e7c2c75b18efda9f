//! Parses the command line and the job files that it names.

pub mod args;
pub mod export;
pub mod format;
pub mod general;
pub mod help;
pub mod hosts;
pub mod showcmd;
pub mod table;
mod time;

pub use export::{ExportOptions, MetricsTarget, SeriesFormat};
pub use format::Format;
pub use general::{
    DEBUG, DataSharing, Eta, Findings, GeneralOptions, HostsOptions, IdleProf, LostHost,
    ServerOptions, TriggerOptions,
};

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use fiord_types::program;

use crate::assemble::Assembler;
use crate::diagnostic::{Diagnostic, Level, Note};
use crate::file;
use crate::load::{Loader, OwnFiles};
use crate::option::def::Support;
use crate::option::table::{NAME, NUMJOBS, RW, Rw, Verify};
use crate::profile::{self, ProfileDef, RawProfile};
use crate::section::RawSection;
use crate::spec::{JobSpec, Place, Setting};
use crate::suggest;
use args::ParsedArgument;
use showcmd::CommandPart;
use table::CommandDef;

/// The default limit on job instances per run, because each instance is a thread. `--max-jobs` can
/// raise it.
pub const DEFAULT_MAX_JOBS: u32 = 4096;

/// What the command line asks fiord to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Run the jobs.
    Run,
    /// Exit with status 0 because the jobs are valid (`--parse-only`).
    ParseOnly,
    /// Write the merged block traces of the jobs and exit with status 0 (`--merge-blktrace-only`).
    MergeTraces,
    /// Print this text to standard output and exit with status 0 (version, lists).
    Print(String),
    /// Print this text to the destination of results (`--output`) and exit with status 0
    /// (`--showcmd`).
    ShowCmd(String),
    /// Measure the speed of these checksums, print it to standard output and exit with status 0
    /// (`--crctest`).
    MeasureChecksums(Vec<Verify>),
    /// Measure a unit of work on each CPU, print it to standard output and exit with status 0
    /// (`--idle-prof=calibrate`).
    MeasureUnitWork,
    /// Compare the clocks of the CPUs, print the result to standard output and exit with status 0, or
    /// with status 1 if they differ (`--cpuclock-test`).
    CompareCpuClocks,
    /// Print this compressed log to standard output as text (`--inflate-log`).
    InflateLog(PathBuf),
    /// Run the jobs of clients until a signal comes (`--server`).
    Serve,
    /// Print the page of [`help::page`] to standard output and exit with status 0 (`--help`).
    Help,
    /// There are no jobs: print the page of [`help::page`] to standard output if there are no arguments either,
    /// `No job(s) defined` to standard error, and exit with status 1.
    NoJobs,
}

/// A parsed command line, including its job files.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What to do.
    pub action: Action,
    /// The options that do not belong to a job.
    pub general: GeneralOptions,
    /// The jobs in order: first those of the command line, then those of the job files.
    pub jobs: Vec<JobSpec>,
    /// The settings that apply to all jobs (options before the first `--name`, and `[global]`). fio
    /// prints them under `"global options"`.
    pub globals: Vec<Setting>,
    /// The warnings. Empty with `--warnings-fatal`, which turns warnings into errors.
    pub warnings: Vec<Diagnostic>,
}

/// The version that fiord reports. Parsers look for `fio-3.42`, people for `fiord`.
#[must_use]
pub fn version() -> String {
    format!("fio-3.42-fiord-{}", env!("CARGO_PKG_VERSION"))
}

/// Converts the program's arguments, without the program's own name, to text for [`invocation`].
///
/// # Errors
/// An argument is not UTF-8. A lossy conversion could name another file.
pub fn arguments(args: impl Iterator<Item = OsString>) -> Result<Vec<String>, Vec<Diagnostic>> {
    let text = |a: OsString| {
        a.into_string().map_err(|a| {
            let what = format!("the argument `{}` is not UTF-8", a.to_string_lossy());
            vec![Diagnostic::error(what, None)]
        })
    };
    args.skip(1).map(text).collect()
}

/// Parses the command line (without the program's own name) and the job files that it names.
///
/// As in fio, all options are parsed before the job files, wherever they are on the command line.
/// An option that prints something and exits (such as `--version`) takes precedence over all
/// options after it.
///
/// # Errors
/// All errors, in the order found. The caller exits with status 1; no job has started.
pub fn invocation(args: &[String], loader: &mut dyn Loader) -> Result<Invocation, Vec<Diagnostic>> {
    let arguments = args::read(args);
    let profile = arguments.profile.as_ref().map(|p| p.def);
    let mut reading = Reading { wrong: arguments.wrong, profile, ..Reading::default() };
    for parsed in arguments.parsed {
        match parsed.what {
            ParsedArgument::File(name, place) => {
                reading.files.push(JobFile { name, place, own: false })
            }
            ParsedArgument::General(def, text, place) if def.name == "remote-config" => {
                let name = text.unwrap_or_default();
                reading.files.push(JobFile { name, place, own: true });
            }
            ParsedArgument::General(def, text, place) => {
                if let Some(action) = reading.general(def, text.as_deref(), place)? {
                    return Ok(reading.finished(action));
                }
            }
        }
    }
    let sections = match &arguments.profile {
        None => arguments.sections,
        Some(profile) => reading.profile(profile, arguments.sections, loader),
    };
    reading.command_jobs(&sections, loader);
    for number in 0..reading.files.len() {
        reading.job_file(number, loader);
    }
    reading.result()
}

/// A job file that the command line names.
struct JobFile {
    name: String,
    place: Place,
    /// The file is on this host, and another host sent the command line.
    own: bool,
}

/// State while parsing the command line.
#[derive(Default)]
struct Reading {
    general: GeneralOptions,
    files: Vec<JobFile>,
    jobs: Vec<JobSpec>,
    /// The defaults from the command line. They apply to every job file.
    command_globals: Vec<Setting>,
    globals: Vec<Setting>,
    /// For `--showcmd`: the steps of the command line and of each job file.
    lines: Vec<Vec<CommandPart>>,
    sections_seen: Vec<String>,
    profile: Option<&'static ProfileDef>,
    wrong: Vec<Diagnostic>,
}

impl Reading {
    /// Handles one general option. Returns an action if fiord does nothing else.
    fn general(
        &mut self,
        def: &'static CommandDef,
        text: Option<&str>,
        place: Place,
    ) -> Result<Option<Action>, Vec<Diagnostic>> {
        // Errors in earlier arguments take precedence.
        let mut act = |action: Action| {
            let wrong = std::mem::take(&mut self.wrong);
            if wrong.is_empty() { Ok(Some(action)) } else { Err(wrong) }
        };
        let mut stop = |text: String| act(Action::Print(text));
        match def.name {
            "version" => return stop(format!("{}\n", version())),
            "help" => return act(Action::Help),
            "cmdhelp" => {
                return stop(match (text, self.profile) {
                    (None | Some("" | "all"), Some(profile)) => help::profile(profile),
                    (None | Some("" | "all"), None) => help::options(),
                    (Some(name), _) => help::option(name),
                });
            }
            "enghelp" => {
                return match help::engine(text) {
                    Ok(text) => stop(text),
                    Err(e) => Err(vec![e]),
                };
            }
            "debug" if matches!(text, Some("help" | "?")) => {
                let all = general::DEBUG.join(",");
                return stop(program::message(format_args!("dumping debug options:{all},all\n")));
            }
            "idle-prof" if text == Some("calibrate") => return act(Action::MeasureUnitWork),
            "cpuclock-test" => return act(Action::CompareCpuClocks),
            "inflate-log" => return act(Action::InflateLog(text.unwrap_or_default().into())),
            "crctest" => {
                return match general::checksums(text) {
                    Ok(checksums) => act(Action::MeasureChecksums(checksums)),
                    Err(e) => Err(vec![Diagnostic { place: Some(place), ..e }]),
                };
            }
            _ => {}
        }
        if def.support == Support::Later {
            let what = format!("--{} is not supported yet", def.name);
            self.wrong.push(Diagnostic::error(what, Some(place)));
        } else if let Err(e) = self.general.apply(def, text) {
            let text = text.unwrap_or_default();
            let what = format!("failed parsing --{}={text}: {}", def.name, e.what);
            let mut error = Diagnostic::error(what, Some(place));
            error.help.extend(e.help);
            self.wrong.push(error);
        }
        Ok(None)
    }

    /// Replaces the jobs of the command line by those of a profile.
    fn profile(
        &mut self,
        profile: &RawProfile,
        given: Vec<RawSection>,
        loader: &dyn Loader,
    ) -> Vec<RawSection> {
        if let Some(JobFile { name: file, place, .. }) = self.files.first() {
            let name = profile.def.name;
            let what = format!("job file {file} would not run: profile {name} brings its own jobs");
            self.wrong.push(
                Diagnostic::error(what, Some(place.clone()))
                    .help("To fix: leave out the job file, or run it without --profile"),
            );
        }
        profile::expand(profile, given, loader).unwrap_or_else(|mut wrong| {
            self.wrong.append(&mut wrong);
            Vec::new()
        })
    }

    fn command_jobs(&mut self, sections: &[RawSection], loader: &dyn Loader) {
        let mut assembler = Assembler::new(loader, Vec::new());
        let mut steps = Vec::new();
        for section in sections {
            self.section(&mut assembler, section, false, &mut steps);
        }
        self.command_globals = assembler.globals().to_vec();
        self.globals = self.command_globals.clone();
        self.wrong.append(&mut assembler.wrong);
        if steps.iter().any(|s| matches!(s, CommandPart::Open(name) if name != "global")) {
            self.lines.push(steps);
        }
    }

    fn job_file(&mut self, number: usize, loader: &mut dyn Loader) {
        let JobFile { name, place, own } = &self.files[number];
        let mut own_files;
        let loader: &mut dyn Loader = match own {
            true => {
                own_files = OwnFiles(loader);
                &mut own_files
            }
            false => loader,
        };
        let (sections, bad) = file::sections(name, place.clone(), loader);
        self.wrong.extend(bad);
        let mut assembler = Assembler::new(&*loader, self.command_globals.clone());
        let mut steps: Vec<CommandPart> = self
            .command_globals
            .iter()
            .filter(|s| s.def != NAME.def())
            .cloned()
            .map(CommandPart::Set)
            .collect();
        let mut new_group = number > 0;
        for section in &sections {
            self.sections_seen.push(section.name.clone());
            let wanted = section.is_global()
                || self.general.sections.is_empty()
                || self.general.sections.contains(&section.name);
            if wanted && self.section(&mut assembler, section, new_group, &mut steps) {
                new_group = false;
                if self.too_many(section) {
                    break;
                }
            }
        }
        self.globals.extend_from_slice(&assembler.globals()[self.command_globals.len()..]);
        self.wrong.append(&mut assembler.wrong);
        self.lines.push(steps);
    }

    /// Whether there are more jobs than the limit. Reports this as an error; the caller then skips
    /// the remaining sections.
    fn too_many(&mut self, section: &RawSection) -> bool {
        let most = self.general.max_jobs.unwrap_or(0).max(DEFAULT_MAX_JOBS);
        if self.jobs.len() <= most as usize {
            return false;
        }
        let what = format!("maximum number of jobs ({most}) reached");
        self.wrong.push(
            Diagnostic::error(what, Some(section.place.clone()))
                .help("To fix: use fewer sections, or raise the limit with --max-jobs"),
        );
        true
    }

    /// Handles one section. Returns true if it was a job.
    fn section(
        &mut self,
        assembler: &mut Assembler,
        section: &RawSection,
        new_group: bool,
        steps: &mut Vec<CommandPart>,
    ) -> bool {
        let before = assembler.globals().len();
        let job = assembler.section(section, new_group);
        let Some(job) = job else {
            // Defaults that change after a job need a section of their own.
            if steps.iter().any(|s| matches!(s, CommandPart::Open(_))) {
                steps.push(CommandPart::Open("global".into()));
            }
            // Without `name`, which would start a job.
            let new = assembler.globals()[before..].iter().filter(|s| s.def != NAME.def());
            steps.extend(new.cloned().map(CommandPart::Set));
            return false;
        };
        steps.push(CommandPart::Open(job.name.clone()));
        let own = job.settings.iter().filter(|s| !s.global && s.def != NAME.def());
        steps.extend(own.cloned().map(CommandPart::Set));
        self.jobs.push(job);
        true
    }

    /// Runs the checks that need all jobs, then decides what to do.
    fn result(mut self) -> Result<Invocation, Vec<Diagnostic>> {
        self.check_readonly();
        self.check_max_jobs();
        self.check_server();
        self.check_defaults();
        let general = &self.general;
        let wrong = general.export.check(general.output.as_deref(), &general.formats);
        self.wrong.extend(wrong);
        if !self.wrong.is_empty() {
            let fatal = self.general.warnings_fatal;
            if fatal || self.wrong.iter().any(|d| d.level == Level::Error) {
                return Err(self.wrong);
            }
        }
        if self.general.server.address.is_some() {
            return Ok(self.finished(Action::Serve));
        }
        if self.general.showcmd {
            let lines = self.lines.iter().map(|l| showcmd::line(l)).collect();
            return Ok(self.finished(Action::ShowCmd(lines)));
        }
        if self.general.parse_only {
            return Ok(self.finished(Action::ParseOnly));
        }
        if !self.jobs.is_empty() {
            let action = match self.general.merge_blktrace_only {
                true => Action::MergeTraces,
                false => Action::Run,
            };
            return Ok(self.finished(action));
        }
        match self.unknown_section() {
            Some(error) => Err(vec![error]),
            None => Ok(self.finished(Action::NoJobs)),
        }
    }

    fn finished(self, action: Action) -> Invocation {
        let Reading { general, jobs, globals, wrong, .. } = self;
        Invocation { action, general, jobs, globals, warnings: wrong }
    }

    /// The error to report if `--section` left no jobs.
    fn unknown_section(&self) -> Option<Diagnostic> {
        let wanted = self.general.sections.first()?;
        let error =
            Diagnostic::error(format!("No job(s) defined: no section is called `{wanted}`"), None);
        let names = || self.sections_seen.iter().map(String::as_str).filter(|n| *n != "global");
        Some(match suggest::nearest(wanted, names()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => {
                error.help(format!("the sections are {}", names().collect::<Vec<_>>().join(", ")))
            }
        })
    }

    /// With `--readonly`, reports jobs that could write or trim.
    fn check_readonly(&mut self) {
        if !self.general.readonly {
            return;
        }
        for job in &self.jobs {
            if !matches!(job.get(RW).word, Rw::Read | Rw::RandRead) {
                let what = format!("job <{}> would write or trim, but --readonly is set", job.name);
                let place = job.setting(RW).map_or(&job.place, |s| &s.place);
                self.wrong.push(
                    Diagnostic::error(what, Some(place.clone()))
                        .help("To fix: leave out --readonly, or use rw=read or rw=randread"),
                );
            }
        }
    }

    /// A server has no jobs of its own, and its options need one.
    fn check_server(&mut self) {
        let server = &self.general.server;
        let is_server = server.address.is_some();
        if let (true, Some(job)) = (is_server, self.jobs.first()) {
            let what =
                format!("a server does not run job <{}>: it runs the jobs of clients", job.name);
            let error = Diagnostic::error(what, Some(job.place.clone()));
            let help =
                "To fix: leave the job out, and name it at the client: fiord --client=HOST job.fio";
            self.wrong.push(error.help(help));
        }
        if is_server && self.general.export.wants_any() {
            let what = "a server exports nothing: its clients get what the jobs measure";
            let help = "To fix: leave out --series and --metrics, and name them at the client";
            self.wrong.push(Diagnostic::error(what, None).help(help));
        }
        for (option, is_set) in
            [("daemonize", server.pid_file.is_some()), ("policy", server.policy.is_some())]
        {
            if is_set && !is_server {
                let what = format!("--{option} is an option of servers");
                let help = "To fix: add --server, or leave it out";
                self.wrong.push(Diagnostic::error(what, None).help(help));
            }
        }
    }

    /// Warns about options before the jobs that each job file sets to another value. As in fio, the file wins.
    fn check_defaults(&mut self) {
        let last = |settings: &[Setting], def| settings.iter().rposition(|s| s.def == def);
        for (index, default) in self.command_globals.iter().enumerate() {
            let def = default.def;
            if def == NAME.def() || last(&self.command_globals, def) != Some(index) {
                continue;
            }
            let winner = |job: &JobSpec| {
                let won = &job.settings[last(&job.settings, def)?];
                let in_file = !Arc::ptr_eq(&won.place.source, &default.place.source);
                (in_file && won.text != default.text).then(|| won.clone())
            };
            let winners: Option<Vec<Setting>> = self.jobs.iter().map(winner).collect();
            let Some(won) = winners.as_ref().and_then(|all| all.first()) else { continue };
            let typed = |setting: &Setting| {
                setting.place.source.text[setting.place.span.clone()].trim().to_owned()
            };
            let what = format!(
                "`{}` on the command line has no effect: {} sets {}",
                typed(default),
                won.place.source.name,
                typed(won)
            );
            let warning = Diagnostic::warning(Note::NoEffect, what, Some(default.place.clone()));
            let help = "options on the command line are defaults, and job files win. To fix: change the job file";
            self.wrong.push(warning.of_option(def).help(help));
        }
    }

    /// Warns if there are more jobs, including clones, than `--max-jobs`. fio uses that number only
    /// to size its memory and runs more jobs anyway.
    fn check_max_jobs(&mut self) {
        let Some(most) = self.general.max_jobs else { return };
        let count = |job: &JobSpec| u64::from(job.get(NUMJOBS)).max(1);
        let all: u64 = self.jobs.iter().map(count).sum();
        if all > u64::from(most) {
            let what = format!("maximum number of jobs ({most}) exceeded: there are {all}");
            self.wrong.push(
                Diagnostic::warning(Note::DoubtfulJob, what, None)
                    .help(format!("To fix: write --max-jobs={all}, or start fewer jobs")),
            );
        }
    }
}
