//! What the view shows: the run, its hosts and jobs, the devices and the findings.

use fiord_run::events::EventKind;
use fiord_stat::finding::{Finding, Severity, to_fix};
use fiord_stat::live::Totals;
use fiord_stat::progress::{JobPhase, JobProgress, Progress};
use fiord_stat::report::NumberStyle;
use fiord_types::{HostIndex, Nanos, plural};

use crate::history::{IntervalSample, LiveHistory, SampleSum};

/// How bad a finding is, or that it is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LiveSeverity {
    /// Useful to know.
    Note,
    /// The result may measure something other than intended.
    Suspect,
    /// The result measures something other than intended.
    Invalid,
    /// A job or a host failed.
    Error,
}

impl LiveSeverity {
    /// The word in the view.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            LiveSeverity::Note => Severity::Note.word(),
            LiveSeverity::Suspect => Severity::Suspect.word(),
            LiveSeverity::Invalid => Severity::Invalid.word(),
            LiveSeverity::Error => "error",
        }
    }
}

/// A finding, a warning or an error.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveFinding {
    /// How bad it is.
    pub severity: LiveSeverity,
    /// What is wrong, in one line.
    pub what: String,
    /// The evidence and the remedy.
    pub more: Vec<String>,
}

impl From<&Finding> for LiveFinding {
    fn from(finding: &Finding) -> LiveFinding {
        let severity = match finding.severity {
            Severity::Note => LiveSeverity::Note,
            Severity::Suspect => LiveSeverity::Suspect,
            Severity::Invalid => LiveSeverity::Invalid,
        };
        let job = finding.job.as_ref().map(|job| format!("{job}: ")).unwrap_or_default();
        let evidence = Some(finding.evidence.clone()).filter(|text| !text.is_empty());
        LiveFinding {
            severity,
            what: format!("{}: {job}{}", finding.id, finding.what),
            more: evidence.into_iter().chain(finding.to_fix()).collect(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct LiveJob {
    pub name: String,
    /// What it does, in one line.
    pub about: String,
    /// Present activity of the job.
    pub phase: JobPhase,
    /// Bytes and I/Os so far.
    pub totals: Totals,
    /// Share of its work that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Estimated time left; `None` if unknown.
    pub eta: Option<Nanos>,
    /// How far its replay is behind the trace.
    pub behind: Option<Nanos>,
    /// Last intervals of the job.
    pub history: LiveHistory,
    /// Why it failed.
    pub failure: Option<String>,
}

impl LiveJob {
    fn new(name: String, about: String, jobs: usize) -> Self {
        LiveJob {
            name,
            about,
            phase: JobPhase::Waiting,
            totals: Totals::default(),
            done: None,
            eta: None,
            behind: None,
            history: LiveHistory::one_of(jobs),
            failure: None,
        }
    }

    fn progress(&mut self, progress: JobProgress) -> IntervalSample {
        let latency = progress.latency.unwrap_or_default();
        let sample = IntervalSample { bw: progress.bw, iops: progress.iops, latency };
        self.phase = progress.phase;
        self.totals = progress.totals;
        self.done = progress.done;
        self.eta = progress.eta;
        self.behind = progress.behind;
        self.history.push(&sample);
        sample
    }
}

/// A host of the run. A run on this machine has one without a name.
#[derive(Debug, Clone)]
pub struct LiveHost {
    pub name: String,
    /// Present activity of the host, in a word or two.
    pub state: String,
    pub jobs: Vec<LiveJob>,
    /// Share of its work that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Estimated time left; `None` if unknown.
    pub eta: Option<Nanos>,
    /// Last intervals of the host.
    pub history: LiveHistory,
    /// The host takes part: it has neither ended nor failed.
    pub active: bool,
    /// The host reported in the current round of the whole run.
    reported: bool,
}

/// A device under the files of jobs on this machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveDevice {
    /// The kernel's name.
    pub name: String,
    /// Mean number of I/Os in the device's queue, for each interval.
    pub queue: Vec<f32>,
    /// Share of the last interval in which the device was busy, percent.
    pub util: f64,
    /// Bytes per second that it read and wrote in the last interval.
    pub rates: (f64, f64),
    /// Temperature, degrees Celsius.
    pub temperature: Option<f64>,
}

/// Everything that the view shows.
#[derive(Debug, Clone)]
pub struct LiveModel {
    /// What runs.
    pub title: String,
    /// What the run is doing now.
    pub stage: String,
    /// Hosts of the run; one for a run on this machine.
    pub hosts: Vec<LiveHost>,
    /// The last intervals of all hosts together.
    pub total: LiveHistory,
    /// The devices under the files.
    pub devices: Vec<LiveDevice>,
    /// Findings, warnings and errors, the oldest first.
    pub findings: Vec<LiveFinding>,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// One rate for all directions.
    pub unified: bool,
    /// Share of the run that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Estimated time left; `None` if unknown.
    pub eta: Option<Nanos>,
    /// Time since the run began.
    pub elapsed: Nanos,
    /// Length of the last interval.
    pub interval: Nanos,
    round: SampleSum,
}

impl LiveModel {
    /// A run of hosts with these names, whose jobs are not known yet.
    #[must_use]
    pub fn of_hosts(title: String, names: Vec<String>) -> Self {
        let count = names.len();
        let host = |name| LiveHost {
            name,
            state: "connecting".into(),
            jobs: Vec::new(),
            done: None,
            eta: None,
            history: LiveHistory::one_of(count),
            active: true,
            reported: false,
        };
        LiveModel {
            title,
            stage: "starting".into(),
            hosts: names.into_iter().map(host).collect(),
            total: LiveHistory::one_of(1),
            devices: Vec::new(),
            findings: Vec::new(),
            style: NumberStyle::default(),
            unified: false,
            done: None,
            eta: None,
            elapsed: Nanos::ZERO,
            interval: Nanos::ZERO,
            round: SampleSum::default(),
        }
    }

    /// A run on this machine of jobs with these names and descriptions.
    #[must_use]
    pub fn of_jobs(title: String, jobs: Vec<(String, String)>) -> Self {
        let mut model = LiveModel::of_hosts(title, vec![String::new()]);
        model.set_jobs(HostIndex(0), jobs);
        model
    }

    /// Sets the names and descriptions of a host's jobs.
    pub fn set_jobs(&mut self, host: HostIndex, jobs: Vec<(String, String)>) {
        let count = jobs.len().saturating_mul(self.hosts.len());
        if let Some(host) = self.hosts.get_mut(host.get()) {
            let new = |(name, about)| LiveJob::new(name, about, count);
            host.jobs = jobs.into_iter().map(new).collect();
            host.state = "preparing".into();
        }
    }

    /// Whether the run is one on many hosts.
    #[must_use]
    pub fn has_hosts(&self) -> bool {
        self.hosts.iter().any(|host| !host.name.is_empty())
    }

    /// Iterates over the jobs of all hosts.
    pub fn jobs(&self) -> impl Iterator<Item = &LiveJob> + Clone {
        self.hosts.iter().flat_map(|host| &host.jobs)
    }

    /// Adds a finding, unless it is there already.
    pub fn find(&mut self, finding: LiveFinding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Adds an error.
    pub fn error(&mut self, text: &str) {
        let mut lines = text.trim().lines().map(str::trim);
        let what = lines.next().unwrap_or_default().to_owned();
        let more = lines.map(str::to_owned).collect();
        self.find(LiveFinding { severity: LiveSeverity::Error, what, more });
    }

    /// Ends the forecasts: the run is ending.
    pub fn ending(&mut self, why: &str) {
        self.stage = why.to_owned();
        self.eta = None;
    }

    /// Takes in an event of a host's run.
    pub fn event(&mut self, host: HostIndex, event: EventKind) {
        match event {
            EventKind::LayingOut { job, files, bytes } => {
                let size = fiord_report::style::size(bytes, self.style);
                let plural = plural(files);
                let what = format!("laying out {files} file{plural} of {job} ({size})");
                self.state(host, &what);
            }
            EventKind::LayoutProgress { job, work, done, total, elapsed } => {
                let (work, sizes) = (work.in_words(), (done, total));
                let line = fiord_report::live::layout_line(&job, work, sizes, elapsed, self.style);
                self.state(host, &line);
            }
            EventKind::LaidOut => self.state(host, "starting"),
            EventKind::Command { job, when, .. } => {
                self.state(host, &format!("running the {} command of {job}", when.word()));
            }
            EventKind::JobStarted { index, .. } => {
                self.state(host, "running");
                if let Some(job) = self.job(host, index)
                    && job.phase == JobPhase::Waiting
                {
                    job.phase = JobPhase::Initialized;
                }
            }
            EventKind::JobEnded { index, job, failure, .. } => {
                let failure = failure.as_ref().map(|failure| failure.message.clone());
                if let Some(message) = &failure {
                    self.error(&format!("{}{job}: {message}", self.prefix(host)));
                }
                if let Some(job) = self.job(host, index) {
                    job.phase = if failure.is_some() { JobPhase::Failed } else { JobPhase::Reaped };
                    job.failure = failure;
                    job.eta = None;
                }
            }
            EventKind::Warning { job, what } => self.warning(host, job.as_deref(), &what),
            EventKind::Progress(progress) => self.progress(host, *progress),
            EventKind::BadBlock { job, what } => {
                self.error(&format!("{}{job}: {what}", self.prefix(host)));
            }
            EventKind::SurvivedError { what } => {
                self.error(&format!("{}{what}", self.prefix(host)));
            }
            EventKind::Triggered { cause, .. } => {
                self.ending(&format!("ending: {}", cause.in_words()))
            }
            EventKind::Terminating { signal } => self.ending(&format!("ending: signal {signal}")),
            EventKind::Status(_) | EventKind::Snapshot(_) => {}
        }
    }

    fn warning(&mut self, host: HostIndex, job: Option<&str>, what: &str) {
        let job = job.map(|job| format!("{job}: ")).unwrap_or_default();
        let (what, remedy) = match what.split_once("To fix: ") {
            Some((what, remedy)) => (what.trim_end(), vec![to_fix(remedy)]),
            None => (what, Vec::new()),
        };
        let what = format!("{}{job}{what}", self.prefix(host));
        self.find(LiveFinding { severity: LiveSeverity::Note, what, more: remedy });
    }

    /// The name of a host, for lines about several hosts.
    #[must_use]
    pub fn prefix(&self, host: HostIndex) -> String {
        match self.hosts.get(host.get()) {
            Some(LiveHost { name, .. }) if !name.is_empty() => format!("{name}: "),
            _ => String::new(),
        }
    }

    /// Sets what a host is doing. On this machine, that is what the run is doing.
    pub fn state(&mut self, host: HostIndex, state: &str) {
        if !self.has_hosts() && !self.stage.starts_with("ending") {
            self.stage = state.to_owned();
        }
        if let Some(host) = self.hosts.get_mut(host.get()) {
            host.state = state.to_owned();
        }
    }

    /// Sets the stage of a run on many hosts, unless it is ending.
    pub fn stage_of_hosts(&mut self, stage: &str) {
        if !self.stage.starts_with("ending") {
            self.stage = stage.to_owned();
        }
    }

    /// A host has ended, or has failed.
    pub fn host_ended(&mut self, host: HostIndex, state: &str) {
        self.state(host, state);
        if let Some(host) = self.hosts.get_mut(host.get()) {
            host.active = false;
            host.eta = None;
        }
        self.end_round();
    }

    fn job(&mut self, host: HostIndex, index: usize) -> Option<&mut LiveJob> {
        self.hosts.get_mut(host.get())?.jobs.get_mut(index)
    }

    fn progress(&mut self, index: HostIndex, progress: Progress) {
        let Some(host) = self.hosts.get_mut(index.get()) else { return };
        let again = host.reported;
        if again {
            self.end_round_now();
        }
        let Some(host) = self.hosts.get_mut(index.get()) else { return };
        if host.jobs.len() < progress.jobs.len() {
            // The host is older and does not tell the names of its jobs.
            let count = progress.jobs.len();
            let new = |n| LiveJob::new(format!("job {}", n + 1), String::new(), count);
            host.jobs.extend((host.jobs.len()..count).map(new));
        }
        let mut sum = SampleSum::default();
        sum.set_rates(progress.bw, progress.iops);
        for (job, progress) in host.jobs.iter_mut().zip(progress.jobs) {
            sum.add_latency(&job.progress(progress));
        }
        let all = sum.sample();
        host.done = progress.done;
        host.eta = progress.eta;
        host.reported = true;
        host.history.push(&all);
        self.round.add(&all);
        self.style = progress.style;
        self.unified |= progress.unified;
        self.elapsed = self.elapsed.max(progress.elapsed);
        self.interval = progress.interval;
        self.end_round();
    }

    /// Ends the round if all hosts that take part have reported.
    fn end_round(&mut self) {
        if self.hosts.iter().all(|host| host.reported || !host.active) {
            self.end_round_now();
        }
    }

    fn end_round_now(&mut self) {
        if !self.hosts.iter().any(|host| host.reported) {
            return;
        }
        let round = std::mem::take(&mut self.round);
        self.total.push(&round.sample());
        self.hosts.iter_mut().for_each(|host| host.reported = false);
        // The run is as far as its slowest host.
        let active = || self.hosts.iter().filter(|host| host.active);
        let least = |a: f64, b: f64| a.min(b);
        self.done = active()
            .map(|host| host.done)
            .collect::<Option<Vec<f64>>>()
            .and_then(|all| all.into_iter().reduce(least).or(self.done));
        let left: Option<Vec<Nanos>> = active().map(|host| host.eta).collect();
        self.eta = left.and_then(|all| all.into_iter().max());
        if self.stage.starts_with("ending") {
            self.eta = None;
        }
    }
}

impl LiveJob {
    /// Whether its replay is so late that the view points it out.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.behind.is_some_and(|behind| behind >= fiord_report::live::BEHIND)
    }
}
