//! The steps from an invocation to its report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_doctor::{CollectedFindings, Typed};
use fiord_job::command::{Findings, Format, IdleProf, Invocation};
use fiord_job::diagnostic::Diagnostic;
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{Facts, Plan, PlanOptions, Resolved, resolve_with};
use fiord_run::Targets;
use fiord_run::debug::DebugOutput;
use fiord_run::error::JobError;
use fiord_run::events::{EventKind, EventSender};
use fiord_run::idleness::IdleProfile;
use fiord_run::{FileKeeper, Interrupt, Interrupts, RunOptions, RunResult, StartGate, Trigger};
use fiord_stat::finding::{Finding, Severity};
use fiord_stat::job::JobData;
use fiord_stat::report::{Report, RunStop, StopCause};
use fiord_sys::host;
use fiord_types::Nanos;

use crate::introduction::Introduction;
use crate::machine;
use crate::survey::Surveyor;

/// Jobs that are valid and planned. No target was touched.
#[derive(Debug)]
pub struct Prepared<'a> {
    invocation: &'a Invocation,
    plan: Arc<Plan>,
    warnings: Vec<Diagnostic>,
    unavailable: Vec<Diagnostic>,
}

/// What a caller wants of a run, in addition to the options of the invocation.
#[derive(Debug, Clone, Default)]
pub struct RunSettings {
    /// Time between two progress events, ns; `None`: no such events.
    pub progress: Option<u64>,
    /// Progress contains latencies.
    pub latencies: bool,
    /// Time between two snapshots for observers that export the run; `None`: none.
    pub snapshots: Option<Nanos>,
    /// Destination and categories of `--debug`.
    pub debug: Option<DebugOutput>,
    /// Decides when the first jobs start (see [`RunOptions::gate`]).
    pub gate: Option<Arc<dyn StartGate>>,
    /// The outcome contains the raw data of the jobs.
    pub keep_data: bool,
    /// Keeps the verify states and the journals on another machine (see [`RunOptions::keeper`]).
    pub keeper: Option<Arc<dyn FileKeeper>>,
    /// The interrupts can fire a trigger, which runs this command, if there is one. `None`: the options of the invocation
    /// say what fires it.
    pub outside_trigger: Option<Option<String>>,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// Everything that was measured and found.
    pub report: Report,
    /// The errors that ended jobs, by index in the plan.
    pub errors: Vec<(usize, JobError)>,
    /// Jobs that hung, so that the run ended without them: name, and what they hang in.
    pub stuck: Vec<(String, JobError)>,
    /// The signal that ended the run.
    pub signal: Option<i32>,
    /// The raw data of the jobs, if [`RunSettings::keep_data`] asks for them.
    pub data: Vec<JobData>,
    /// When each job that waited at the start gate proceeded to its first I/O (see [`fiord_run::RunResult::started`]).
    pub started: Vec<Option<Nanos>>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// All jobs succeeded.
    Succeeded,
    /// All jobs succeeded, but a finding says that the result is invalid.
    Invalid,
    /// All jobs succeeded, but one verified less than it wrote (`verify_complete`).
    Unverified,
    /// Number of jobs that failed.
    Failed(usize),
    Signalled,
}

impl<'a> Prepared<'a> {
    /// Plans the jobs of an invocation.
    ///
    /// # Errors
    /// What is wrong with the jobs, or unsupported.
    pub fn of(invocation: &'a Invocation) -> Result<Self, Vec<Diagnostic>> {
        let options = PlanOptions { endpoints: Some(&Targets), ..PlanOptions::of(invocation) };
        Prepared::planned(invocation, options, &SystemFacts)
    }

    /// Plans the jobs of an invocation with these options and facts.
    ///
    /// # Errors
    /// What is wrong with the jobs, or unsupported.
    pub(crate) fn planned(
        invocation: &'a Invocation,
        options: PlanOptions,
        facts: &dyn Facts,
    ) -> Result<Self, Vec<Diagnostic>> {
        let Resolved { plan, warnings, unavailable } = resolve_with(invocation, options, facts)?;
        Ok(Prepared { invocation, plan: Arc::new(plan), warnings, unavailable })
    }

    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Errors that end their job when it starts, while the others run: a server that does not answer, a missing library.
    #[must_use]
    pub fn unavailable(&self) -> &[Diagnostic] {
        &self.unavailable
    }

    /// Gives the logs that the jobs write other paths.
    pub(crate) fn rename_logs(&mut self, rename: impl Fn(&Path) -> PathBuf) {
        for job in &mut Arc::make_mut(&mut self.plan).jobs {
            for file in job.log.iter_mut().flat_map(|log| &mut log.files) {
                file.path = rename(&file.path);
            }
        }
    }

    /// The findings that a terminal shows before a run; none with `--findings=off`.
    #[must_use]
    pub fn notes(&self) -> CollectedFindings {
        match self.wants_findings() {
            true => fiord_doctor::notes(&self.plan, self.typed()),
            false => CollectedFindings::default(),
        }
    }

    /// The data of the lines that introduce the jobs.
    #[must_use]
    pub fn introduction(&self) -> Introduction {
        Introduction::of(&self.plan, &self.invocation.jobs)
    }

    /// Surveys the machine, runs the jobs and collects the findings. `stopped` tells whether a signal wants the run
    /// to end, without consuming the interrupt.
    pub fn run(
        &self,
        settings: RunSettings,
        events: &EventSender,
        interrupts: &mut dyn Interrupts,
        stopped: &dyn Fn() -> bool,
    ) -> RunOutcome {
        let options = self.options(settings);
        let wanted = self.wants_findings();
        let mut surveyor = Surveyor::new(&self.plan, stopped);
        let mut before_start = || {
            if wanted {
                surveyor.before_start(events);
            }
        };
        let plan = Arc::clone(&self.plan);
        let mut result = fiord_run::run(plan, &options, events, interrupts, &mut before_start);
        if self.invocation.general.ceiling && result.signal.is_none() {
            fiord_run::ceiling::measure(&self.plan, &options, &mut result.report);
        }
        // A survey would hang on the same files as the run.
        if wanted && result.stuck.is_empty() {
            surveyor.after_end(self.typed(), &mut result.report);
        }
        result.report.extras.findings_off = !wanted;
        result.report.extras.machine = Some(machine::machine(surveyor.disks()));
        result.report.extras.stops = self.stops(&result);
        // A signal after the run stops the collection of findings.
        if result.signal.is_none()
            && let Some(Interrupt::End(signal)) = interrupts.next()
        {
            result.signal = Some(signal);
            events.send(EventKind::Terminating { signal });
        }
        let name = |index: usize| self.plan.jobs.get(index).map_or("", |job| &job.identity.name);
        let stuck = result.stuck.into_iter().map(|(index, error)| (name(index).to_owned(), error));
        RunOutcome {
            stuck: stuck.collect(),
            report: result.report,
            errors: result.errors,
            signal: result.signal,
            data: result.data,
            started: result.started,
        }
    }

    /// What ended the run or its jobs before their end.
    fn stops(&self, result: &RunResult) -> Vec<RunStop> {
        let of_all = |by, signal, what| RunStop { by, signal, job: None, what };
        let mut stops = Vec::new();
        if let Some(signal) = result.signal {
            stops.push(of_all(StopCause::Signal, Some(signal), fiord_sys::signal::words(signal)));
        }
        if let Some(cause) = result.trigger {
            stops.push(of_all(StopCause::Trigger, None, cause.in_words().into()));
        }
        for (index, error) in result.errors.iter().chain(&result.stuck) {
            let job = self.plan.jobs.get(*index).map(|job| job.identity.name.clone());
            let what = error.to_string();
            stops.push(RunStop { by: StopCause::Error, signal: None, job, what });
        }
        stops
    }

    fn wants_findings(&self) -> bool {
        self.invocation.general.findings != Findings::Off
    }

    fn typed(&self) -> Typed<'_> {
        Typed { specs: &self.invocation.jobs, notes: &self.warnings }
    }

    fn options(&self, settings: RunSettings) -> RunOptions {
        let general = &self.invocation.general;
        RunOptions {
            progress: settings.progress,
            latencies: settings.latencies,
            snapshots: settings.snapshots,
            status: general.status_interval.filter(|ns| *ns > 0),
            aux_path: general.aux_path.as_ref().map_or_else(|| PathBuf::from("."), PathBuf::from),
            bandwidth_log: general.bandwidth_log.clone(),
            version: fiord_job::version(),
            utc_offset_s: host::utc_offset(host::wall_time() / 1_000_000_000),
            debug: settings.debug,
            gate: settings.gate,
            keep_data: settings.keep_data,
            idle_profile: general.idle_prof.map(|which| match which {
                IdleProf::System => IdleProfile::System,
                IdleProf::PerCpu => IdleProfile::PerCpu,
            }),
            keeper: settings.keeper,
            trigger: match settings.outside_trigger {
                // The standard output of an agent may be its connection.
                Some(command) => Trigger {
                    from_outside: true,
                    command,
                    to_standard_error: true,
                    ..Trigger::default()
                },
                None => Trigger {
                    file: general.trigger.file.as_ref().map(PathBuf::from),
                    timeout: general.trigger.timeout,
                    from_outside: false,
                    command: general.trigger.command.clone(),
                    // A document for programs on standard output must stay well formed.
                    to_standard_error: general.output.is_none()
                        && general.formats != [Format::Normal],
                },
            },
        }
    }
}

impl RunOutcome {
    /// How the run ended. `fatal`: a finding that says that the result is invalid counts (`--findings=fatal`).
    #[must_use]
    pub fn end(&self, fatal: bool) -> RunEnd {
        let invalid = |finding: &Finding| finding.severity == Severity::Invalid;
        match self.errors.len() + self.stuck.len() {
            _ if self.signal.is_some() => RunEnd::Signalled,
            0 if self.verified_too_little() => RunEnd::Unverified,
            0 if fatal && self.report.extras.findings.iter().any(invalid) => RunEnd::Invalid,
            0 => RunEnd::Succeeded,
            failed => RunEnd::Failed(failed),
        }
    }

    fn verified_too_little(&self) -> bool {
        let results = self.report.jobs.iter().filter_map(|job| job.verify.as_ref());
        results.into_iter().any(|results| results.coverage.fails())
    }
}
