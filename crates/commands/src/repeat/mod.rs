//! `fiord run`: repeats jobs, so that their results can be compared.
//!
//! Runs are alternated as A B B A A B B A, so that a drift of the device or of the machine affects all job files
//! alike. Each run is a process of its own. The results of each job file go to a directory of their own, and a later call
//! continues where an interrupted one stopped.

use std::path::{Path, PathBuf};

use fiord_job::load::Loader;
use fiord_job::option::table::sim::SIM_SEED;
use fiord_job::spec::JobSpec;
use fiord_sys::file::FileGuard;

use crate::axis::PointSettings;
use crate::rejected::{self, Rejected};
use crate::runs::order::order;
use crate::runs::outcome::{self, OutcomeError};
use crate::runs::progress::ExpectedTime;
use crate::runs::sides as side_list;
use crate::runs::{Launcher, RunError, Runs};
use crate::session::{CannotPrint, CommandEnd, Session, ShowProgress};
use crate::state_file::FileError;

/// Repeats jobs, so that their results can be compared with `fiord compare`.
///
/// Writes the JSON of each run into a directory for each job file, and prints the command that compares them. The first
/// job file is the base of the comparison. An
/// interrupted call continues when it is repeated. Runs on a simulated device get different seeds.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// Job files. Job options are defaults of all of them: what a file sets wins. Without a file, the options are the job.
    #[arg(required = true, value_name = "JOB")]
    pub job: Vec<String>,
    /// How often each job file runs. Five runs are enough for a verdict without assumptions.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RUNS)))]
    repeat: u32,
    /// Alternate the job files: A B B A A B B A instead of A A A A B B B B.
    #[arg(long)]
    pub interleave: bool,
    /// Directory for the results. Default: the names of the job files, with `.runs`.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Start over instead of continuing.
    #[arg(long)]
    pub restart: bool,
    /// Show progress on standard error.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub eta: ShowProgress,
}

/// Maximum number of runs of each job file.
const MAX_RUNS: u32 = 1000;

/// Why jobs were not repeated.
#[derive(Debug, thiserror::Error)]
pub enum RepeatError {
    /// A job is wrong.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// A word is neither a file nor an option.
    #[error(
        "{0}: there is no such job file. To fix: check the name; write options of jobs as --option=value"
    )]
    NoSuchFile(String),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The results of an earlier run cannot be removed.
    #[error(transparent)]
    Remove(fiord_sys::Error),
    /// The list of the sides cannot be read or written.
    #[error(transparent)]
    Sides(#[from] FileError),
    /// The command cannot be printed.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// A side: a job file, or a job made of options.
struct Side {
    /// Name of its directory.
    name: String,
    /// Arguments of each run.
    arguments: Vec<String>,
    /// The jobs as options: results of another job are not continued.
    jobs: Vec<SideJob>,
    /// Options of all jobs, as typed, if the jobs are in a file.
    common: Vec<String>,
}

/// A job of a side.
struct SideJob {
    /// Options of the job, the name first.
    options: Vec<String>,
    /// The job has a simulated device without a seed, which would give the same results each time.
    unseeded: bool,
}

/// Repeats jobs and prints the command that compares them.
///
/// # Errors
/// A job is wrong, or a run failed.
pub fn run(
    args: &RunArgs,
    session: &mut Session,
    launcher: Launcher,
) -> Result<CommandEnd, RepeatError> {
    let Launcher { program, version, loader, progress } = launcher;
    let sides = sides(&args.job, loader)?;
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(names.join("-") + ".runs"));
    let mut all = Vec::new();
    for side in &sides {
        let own = dir.join(&side.name);
        if args.restart {
            forget(&own)?;
        }
        let jobs = side.jobs.iter().flat_map(|job| job.options.clone()).collect::<Vec<_>>();
        all.push(Runs::open(program.clone(), version, &own, &jobs, args.restart)?);
    }
    side_list::keep(&dir, &names)?;
    let order = order(sides.len(), args.repeat, args.interleave);
    let mut existing = 0;
    for (done, (side, number)) in order.iter().enumerate() {
        let (side, runs) = (&sides[*side], &mut all[*side]);
        let settings: PointSettings = vec![("run".into(), number.to_string())];
        if runs.store.find(&settings).is_some() {
            existing += 1;
            continue;
        }
        let what = format!("[{}/{}] {} run {number}", done + 1, order.len(), side.name);
        let runs_after = order.len() - done - 1;
        progress.begin(what, ExpectedTime::unknown(runs_after));
        let arguments = side.arguments(*number);
        let ran = runs.run(&settings, arguments, progress, check)?;
        let Some((iops, took)) = ran else {
            progress.line("repeat the command to continue");
            return Ok(CommandEnd::Stopped);
        };
        progress.end(format_args!("{iops:.0} IOPS ({:.1} s)", took.as_secs_f64()));
    }
    if existing == order.len() {
        session.print(&format!("all {existing} runs exist already; --restart measures again\n"))?;
    }
    session.print(&last_words(&dir, &sides, args.repeat))?;
    Ok(CommandEnd::Done)
}

/// Removes the results of earlier runs: `fiord compare` would read those that are not repeated.
fn forget(dir: &Path) -> Result<(), RepeatError> {
    for number in 1..=MAX_RUNS {
        let file = dir.join(format!("run={number}.json"));
        FileGuard::generated().remove(&file).map_err(RepeatError::Remove)?;
    }
    Ok(())
}

/// The IOPS of a run.
fn check(text: &str) -> Result<f64, OutcomeError> {
    outcome::read(text).map(|outcome| outcome.iops)
}

fn last_words(dir: &Path, sides: &[Side], repeat: u32) -> String {
    let quoted = |path: &Path| {
        let text = path.display().to_string();
        let plain = |c: char| c.is_ascii_alphanumeric() || "./_-+=,:@%".contains(c);
        if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let dirs: Vec<String> = sides.iter().map(|side| quoted(&dir.join(&side.name))).collect();
    match dirs.as_slice() {
        [only] => {
            format!("{repeat} runs are in {only}. To compare them: fiord compare {only} OTHER\n")
        }
        _ => format!("To compare the runs: fiord compare {}\n", dirs.join(" ")),
    }
}

/// The sides of a command line.
fn sides(arguments: &[String], loader: &mut dyn Loader) -> Result<Vec<Side>, RepeatError> {
    let (options, files): (Vec<String>, Vec<String>) =
        arguments.iter().cloned().partition(|argument| argument.starts_with('-'));
    // The words after the options of a job are their values if there is no such file.
    if let Some(word) = files.iter().find(|file| !Path::new(file.as_str()).exists()) {
        return Err(RepeatError::NoSuchFile(word.clone()));
    }
    if files.is_empty() {
        return Ok(vec![side(options, Vec::new(), None, loader)?]);
    }
    let mut sides: Vec<Side> = Vec::new();
    for file in &files {
        // Options come first, so that they apply to all jobs of the file.
        let job = options.iter().chain([file]).cloned().collect();
        sides.push(side(job, options.clone(), Some(file), loader)?);
    }
    // Directories of different files have different names.
    let names: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
    for (i, side) in sides.iter_mut().enumerate() {
        if names.iter().filter(|name| **name == side.name).count() > 1 {
            side.name = format!("{}-{}", i + 1, side.name);
        }
    }
    Ok(sides)
}

fn side(
    arguments: Vec<String>,
    common: Vec<String>,
    file: Option<&str>,
    loader: &mut dyn Loader,
) -> Result<Side, RepeatError> {
    let invocation = rejected::parse(&arguments, loader)?;
    rejected::check_supported(&invocation)?;
    let jobs = &invocation.jobs;
    let stem = file.and_then(|file| Path::new(file).file_stem());
    let name = match stem {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => jobs.first().map_or("job".into(), |job| job.name.clone()),
    };
    Ok(Side {
        name: name.replace('/', "_"),
        arguments,
        jobs: jobs.iter().map(SideJob::of).collect(),
        common,
    })
}

impl SideJob {
    fn of(job: &JobSpec) -> Self {
        let one = |setting: &fiord_job::spec::Setting| match &setting.text {
            Some(text) => format!("--{}={text}", setting.def.name),
            None => format!("--{}", setting.def.name),
        };
        let settings = job.settings.iter().filter(|setting| setting.def.name != "name").map(one);
        SideJob {
            options: std::iter::once(format!("--name={}", job.name)).chain(settings).collect(),
            unseeded: job.engine().virtual_time && !job.is_set(SIM_SEED),
        }
    }
}

impl Side {
    /// The arguments of a run. An option of a simulated device must follow its engine, so the jobs are spelled out.
    fn arguments(&self, number: u32) -> Vec<String> {
        if !self.jobs.iter().any(|job| job.unseeded) {
            return self.arguments.clone();
        }
        let mut arguments = self.common.clone();
        for job in &self.jobs {
            arguments.extend_from_slice(&job.options);
            arguments.extend(job.unseeded.then(|| format!("--sim_seed={number}")));
        }
        arguments
    }
}
