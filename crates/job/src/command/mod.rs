//! The command line.

pub mod args;
pub mod general;
pub mod table;

pub use general::{Eta, Format, GeneralOptions};

use crate::assemble::Assembler;
use crate::diagnostic::Diagnostic;
use crate::file;
use crate::load::Loader;
use crate::option::def::Support;
use crate::spec::{JobSpec, Setting};
use args::Argued;

/// What the user wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Run the jobs.
    Run,
    /// The jobs are right (`--parse-only`): end with status 0.
    ParseOnly,
    /// Print this text to standard output and end with status 0.
    Print(String),
}

/// A whole invocation of the program.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What to do.
    pub action: Action,
    /// What is not about a job.
    pub general: GeneralOptions,
    /// The jobs in order: those of the command line, then those of the files.
    pub jobs: Vec<JobSpec>,
    /// The settings that stand for all jobs (options before the first `--name`, `[global]`), as
    /// fio lists them under `"global options"`.
    pub globals: Vec<Setting>,
    /// What is no error.
    pub warnings: Vec<Diagnostic>,
}

/// Reads the command line and the job files it names.
///
/// # Errors
/// Everything that is wrong, in the order found; the exit status is 1 and nothing was done.
pub fn invocation(args: &[String], loader: &mut dyn Loader) -> Result<Invocation, Vec<Diagnostic>> {
    let arguments = args::read(args);
    let mut wrong = arguments.wrong;
    let mut general = GeneralOptions::default();
    let mut files = Vec::new();
    for argued in arguments.argued {
        match argued {
            Argued::File(name, _) => files.push(name),
            Argued::General(def, text, place) => {
                if def.support == Support::Later {
                    let what = format!("--{} is not supported yet", def.name);
                    wrong.push(Diagnostic::error(what, Some(place)));
                } else if let Err(e) = general.apply(def, text.as_deref()) {
                    let text = text.unwrap_or_default();
                    let what = format!("failed parsing --{}={text}: {}", def.name, e.what);
                    let mut error = Diagnostic::error(what, Some(place));
                    error.help.extend(e.help);
                    wrong.push(error);
                }
            }
        }
    }
    let mut jobs = Vec::new();
    let mut assembler = Assembler::new(&*loader, Vec::new());
    for section in &arguments.sections {
        jobs.extend(assembler.section(section, false));
    }
    let command_globals = assembler.globals().to_vec();
    let mut globals = command_globals.clone();
    wrong.append(&mut assembler.wrong);
    for (number, name) in files.iter().enumerate() {
        let (sections, bad) = file::sections(name, loader);
        wrong.extend(bad);
        let mut assembler = Assembler::new(&*loader, command_globals.clone());
        let mut first = number > 0;
        for section in &sections {
            let wanted = section.is_global()
                || general.sections.is_empty()
                || general.sections.contains(&section.name);
            if wanted && let Some(job) = assembler.section(section, first) {
                first = false;
                jobs.push(job);
            }
        }
        globals.extend_from_slice(&assembler.globals()[command_globals.len()..]);
        wrong.append(&mut assembler.wrong);
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let action = if general.parse_only { Action::ParseOnly } else { Action::Run };
    if jobs.is_empty() && action == Action::Run {
        return Err(vec![
            Diagnostic::error("No job(s) defined", None)
                .help("name a job file or open a job with --name; --help says how"),
        ]);
    }
    Ok(Invocation { action, general, jobs, globals, warnings: Vec::new() })
}
