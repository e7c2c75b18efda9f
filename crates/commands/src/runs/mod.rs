//! Several runs of this program, each in a process of its own, so that they cannot affect each other.
//!
//! | question | module |
//! |---|---|
//! | how is a run started and stopped | [`child`] |
//! | how is its progress shown | [`progress`] |
//! | which runs are done, and where is their JSON | [`store`] |
//! | which results does the JSON of a run contain | [`outcome`] |
//! | in what order are repeated runs | [`order`] |
//! | in what order were the job files of `fiord run` given | [`sides`] |
//! | which findings do the runs report | [`findings`] |
//! | on which hosts do they take place | [`hosts`] |
//! | how do hosts run a subcommand themselves | [`over_ssh`] |

pub mod child;
pub mod findings;
pub mod hosts;
pub mod order;
pub mod outcome;
pub mod over_ssh;
pub mod progress;
pub mod sides;
pub mod store;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use fiord_job::load::Loader;
use fiord_sys::signal::{self, Signals};

use crate::axis::{self, PointSettings};
use crate::state_file::{self, FileError};
use child::ChildEnd;
use fiord_types::Errno;
use outcome::OutcomeError;
use progress::RunProgress;
use store::{RunDirectory, StoreError};

/// What a command that starts runs needs besides its streams.
pub struct Launcher<'a, 'b> {
    /// The executable that runs a job.
    pub program: PathBuf,
    /// Version of the executable. Runs of different versions do not appear in one table.
    pub version: &'a str,
    /// Loader of job files.
    pub loader: &'a mut dyn Loader,
    /// Shows progress.
    pub progress: &'a mut RunProgress<'b>,
}

/// Why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory of the results cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The handlers of Ctrl-C cannot be installed.
    #[error("cannot install signal handlers: {0}")]
    Signals(#[source] fiord_sys::Error),
    /// The program cannot be started.
    #[error("{program}: {}", Errno::explain(.source))]
    Start { program: PathBuf, source: io::Error },
    /// The run failed, or its results are unusable.
    #[error("the run at {point} failed: {cause}\ncommand: {command}{}", after(.cause))]
    Failed {
        /// The settings of the run.
        point: String,
        /// The command, for a repetition by hand.
        command: String,
        #[source]
        cause: Cause,
    },
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The process of the run ended with a failure or by a signal.
    #[error("{status}")]
    Exit {
        status: ExitStatus,
        /// Text on standard error.
        errors: String,
    },
    /// The JSON of the run cannot be read.
    #[error(transparent)]
    Unreadable(FileError),
    /// The JSON of the run has no results.
    #[error(transparent)]
    Outcome(OutcomeError),
}

/// What the failed run printed.
fn after(cause: &Cause) -> String {
    match cause {
        Cause::Exit { errors, .. } if !errors.is_empty() => format!("\n{}", errors.trim_end()),
        _ => String::new(),
    }
}

/// The runs of a command: finished ones in a directory, further ones as child processes.
#[derive(Debug)]
pub struct Runs {
    /// The finished runs.
    pub store: RunDirectory,
    program: PathBuf,
    signals: &'static Signals,
}

impl Runs {
    /// Opens or creates the directory `dir`. `job` identifies the set of runs; `restart` discards
    /// those in the directory. From now on, Ctrl-C ends the run and not this process.
    ///
    /// # Errors
    /// The directory holds runs of another job or program, or cannot be used.
    pub fn open(
        program: PathBuf,
        version: &str,
        dir: &Path,
        job: &[String],
        restart: bool,
    ) -> Result<Self, RunError> {
        let store = RunDirectory::open(dir, version, job, restart)?;
        let signals = signal::install().map_err(RunError::Signals)?;
        Ok(Runs { store, program, signals })
    }

    /// Whether the user asked to stop.
    #[must_use]
    pub fn stop_requested(&self) -> bool {
        self.signals.stop_requested()
    }

    /// Runs the program with `arguments`, reads its JSON with `read` and keeps it. Returns the
    /// results and the duration; `None` if the user interrupted the run. The caller begins the line of `progress`, and ends
    /// it with the results.
    ///
    /// # Errors
    /// The run failed; progress shows `failed`, and the error names the command.
    pub fn run<T>(
        &mut self,
        settings: &PointSettings,
        arguments: Vec<String>,
        progress: &mut RunProgress<'_>,
        read: impl FnOnce(&str) -> Result<T, OutcomeError>,
    ) -> Result<Option<(T, Duration)>, RunError> {
        let draft = self.store.start_draft()?;
        let began = Instant::now();
        let mut command = child::command(&self.program, &arguments, &draft);
        let ended = child::run(&mut command, self.signals, &mut || progress.tick())
            .map_err(|source| RunError::Start { program: self.program.clone(), source })?;
        let result = match ended {
            ChildEnd::Stopped => {
                progress.end("stopped");
                self.store.drop_draft();
                return Ok(None);
            }
            ChildEnd::Alone { status, errors } if !status.success() => {
                Err(Cause::Exit { status, errors })
            }
            ChildEnd::Alone { .. } => state_file::read_text(&draft)
                .map_err(Cause::Unreadable)
                .and_then(|text| read(&text).map_err(Cause::Outcome)),
        };
        let result = result.map_err(|cause| {
            progress.end("failed");
            let command = format!("{} {}", self.program.display(), arguments.join(" "));
            RunError::Failed { point: label(settings), command, cause }
        })?;
        let took = began.elapsed();
        let wall_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.store.keep(settings, arguments, wall_ms)?;
        Ok(Some((result, took)))
    }
}

/// Names a point for people; a job without settings runs as it is.
#[must_use]
pub fn label(settings: &PointSettings) -> String {
    if settings.is_empty() { "as it is".into() } else { axis::words(settings) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use fiord_report::ReadError;

    use super::*;

    /// A directory for the runs of a test.
    fn place(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("fiord-runs-{}-{name}", std::process::id()))
    }

    fn failed(program: &str, name: &str) -> (RunError, String) {
        let dir = place(name);
        let mut runs = Runs::open(program.into(), "v", &dir, &[], true).unwrap();
        let settings = vec![("bs".into(), "4k".into())];
        let mut out = Vec::new();
        let mut progress = RunProgress::new(&mut out, None);
        progress.begin("bs=4k".into(), progress::ExpectedTime::default());
        let arguments = vec!["--bs=4k".into()];
        let ran = runs.run(&settings, arguments, &mut progress, outcome::read);
        assert!(runs.store.find(&settings).is_none(), "a failed run is not kept");
        fs::remove_dir_all(&dir).unwrap();
        (ran.unwrap_err(), String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_failed_run_names_its_point_and_its_command() {
        let (error, progress) = failed("false", "fails");
        assert!(matches!(
            &error,
            RunError::Failed { cause: Cause::Exit { status, .. }, .. } if status.code() == Some(1)
        ));
        assert_eq!(
            error.to_string(),
            "the run at bs=4k failed: exit status: 1\ncommand: false --bs=4k"
        );
        assert_eq!(progress, "bs=4k … failed\n");
    }

    #[test]
    fn a_run_without_readable_results_fails() {
        let (error, progress) = failed("true", "empty");
        assert!(matches!(
            error,
            RunError::Failed {
                cause: Cause::Outcome(OutcomeError::Unreadable(ReadError::NoDocument)),
                ..
            }
        ));
        assert_eq!(progress, "bs=4k … failed\n");
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let (error, _) = failed("/fiord-none", "start");
        assert!(matches!(
            &error,
            RunError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound
        ));
        assert!(error.to_string().starts_with("/fiord-none: "), "{error}");
    }

    #[test]
    fn the_directory_of_another_job_is_refused() {
        let dir = place("other");
        let open = |job: &str, restart| RunDirectory::open(&dir, "v", &[job.to_owned()], restart);
        open("--bs=4k", false).unwrap();
        let error = open("--bs=8k", false).unwrap_err();
        assert!(matches!(
            &error,
            StoreError::OtherJob { there, now, .. } if there == "--bs=4k" && now == "--bs=8k"
        ));
        let open = |job: &[&str]| {
            let job: Vec<String> = job.iter().map(|argument| (*argument).to_owned()).collect();
            RunDirectory::open(&dir, "v", &job, false).map(drop).map_err(|e| e.to_string())
        };
        let (once, twice) = (["--bs=4k"], ["--bs=4k", "--bs=4k"]);
        assert!(open(&twice).unwrap_err().contains("job: only this call has --bs=4k\n"));
        let error = open(&["--rw=read"; 0]).unwrap_err();
        assert!(error.contains("job: this call lacks --bs=4k\n"), "{error}");
        open(&once).unwrap();
        let open = |job: &str, restart| RunDirectory::open(&dir, "v", &[job.to_owned()], restart);
        fs::write(dir.join("sweep.json"), "no list").unwrap();
        assert!(matches!(open("--bs=4k", false), Err(StoreError::NotAList { .. })));
        open("--bs=4k", true).unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }
}
