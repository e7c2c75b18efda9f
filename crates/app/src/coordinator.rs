//! The coordinator of a run on many hosts: from the command line to the results of all hosts. It prints nothing.
//!
//! | question | module |
//! |---|---|
//! | which hosts run which jobs | [`HostsRun`] |
//! | how is each host reached | [`reach`] |
//! | which hosts do jobs over a network talk to | `peers` |
//! | what does their report contain | [`report`], [`interim`] |
//! | which logs of a host may become which files | [`logs`] |
//! | which files of a host does the coordinator keep during the run | [`keeping`] |
//! | how long may the jobs of a host run | `bound` |

mod bound;
pub mod keeping;
pub mod logs;
mod peers;
pub mod reach;

use std::num::NonZeroU32;
use std::ops::Range;

use fiord_fabric::conductor::{HostOrder, OnLost, RunOrder};
use fiord_fabric::hub::Hub;
use fiord_fabric::merge::merged;
use fiord_fabric::message::{HostsData, JobOrder};
use fiord_fabric::outcome::HostsOutcome;
use fiord_job::command::hosts::{HostGroup, HostsCommand};
use fiord_job::command::{
    Action, DataSharing, Findings, GeneralOptions, HostsOptions, Invocation, LostHost,
};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::load::{HostWords, Loader, Memory, RecordingLoader};
use fiord_job::option::table::net::PEER;
use fiord_job::spec::JobSpec;
use fiord_job::{invocation, version};
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{Facts, wrong_with_hosts};
use fiord_stat::hosts::{HostReport, HostsReport};
use fiord_stat::report::{Report, SCHEMA};
use fiord_sys::{clock, host};
use fiord_types::{HostIndex, Nanos, RunNumber};

use self::peers::PeerHost;
use self::reach::{Reach, Way};
use crate::agent::OrderLoader;
use crate::protection::{ProtectionError, protect};

/// A run on many hosts whose jobs are valid as far as this machine can say. No host was contacted.
#[derive(Debug)]
pub struct HostsRun {
    /// The hosts and their jobs.
    pub order: RunOrder,
    /// How each host is reached, in the order of the hosts.
    pub ways: Vec<Way>,
    /// The name or address of each host in the network, for jobs that talk to each other (`peer`).
    pub addresses: Vec<String>,
    /// Warnings about the jobs.
    pub warnings: Vec<Diagnostic>,
    /// The jobs of each group of hosts with a job that has a peer, and these hosts.
    linked: Vec<(Vec<JobSpec>, Range<usize>)>,
}

/// The jobs of a group of hosts, and what the coordinator read to parse them.
#[derive(Debug)]
struct CheckedGroup {
    arguments: Vec<String>,
    read: Memory,
    invocation: Invocation,
}

impl HostsRun {
    /// Reads the job files of a command line, and prepares the orders for the hosts. `None`: there is no job. `general`
    /// are the options of this process, and `progress` is the time between two progress events of a host.
    ///
    /// # Errors
    /// What is wrong with the jobs, or with the names of the hosts.
    pub fn of(
        command: &HostsCommand,
        general: &GeneralOptions,
        progress: Option<Nanos>,
        loader: &mut dyn Loader,
    ) -> Result<Option<HostsRun>, Vec<Diagnostic>> {
        let mut run = HostsRun {
            order: RunOrder {
                hosts: Vec::new(),
                version: version(),
                holder: holder(),
                on_lost: match general.hosts.on_lost {
                    LostHost::Abort => OnLost::Abort,
                    LostHost::Continue => OnLost::Continue,
                },
            },
            ways: Vec::new(),
            addresses: Vec::new(),
            warnings: Vec::new(),
            linked: Vec::new(),
        };
        let mut wrong = Vec::new();
        for group in &command.groups {
            let checked = CheckedGroup::of(group, loader)
                .map_err(|wrong| command.group_as_typed(group, wrong))?;
            if checked.invocation.action != Action::Run && group.own_files.is_empty() {
                return Ok(None);
            }
            let job = checked.order(general, progress);
            // The jobs may be in files of the hosts.
            let known = group.own_files.is_empty();
            let longest = known.then(|| bound::longest(&checked.invocation.jobs)).flatten();
            let first = run.ways.len();
            match reach::hosts(&group.hosts, &general.hosts, loader) {
                Ok(hosts) => hosts.into_iter().for_each(|host| run.add(host, &job, longest)),
                Err(error) => wrong.push(*error),
            }
            let jobs = checked.invocation.jobs;
            if jobs.iter().any(|job| job.is_set(PEER)) {
                run.linked.push((jobs, first..run.ways.len()));
            }
            // The names of ranks are not known yet.
            if wrong.is_empty()
                && !run.ways.contains(&Way::Rank)
                && let Err(errors) = run.link()
            {
                wrong.extend(command.group_as_typed(group, errors));
            }
            run.warnings.extend(checked.invocation.warnings);
        }
        wrong.extend(wrong_with_hosts(general, &SystemFacts));
        if wrong.is_empty() && !run.ways.contains(&Way::Rank) {
            wrong.extend(logs::check(&run.order).err().into_iter().flatten());
        }
        if wrong.is_empty() { Ok(Some(run)) } else { Err(wrong) }
    }

    /// Checks the logs of ranks, whose names were not known before. The hosts have their final names.
    ///
    /// # Errors
    /// A log cannot become a file here.
    pub fn check_logs_of_ranks(&self) -> Result<(), Vec<Diagnostic>> {
        if self.ways.contains(&Way::Rank) { logs::check(&self.order) } else { Ok(()) }
    }

    /// Reads the verify states that the jobs load. The hosts have their final names.
    ///
    /// # Errors
    /// A state cannot be read or sent.
    pub fn read_states(&mut self, aux_path: Option<&str>) -> Result<(), Diagnostic> {
        for host in HostIndex(0).to(HostIndex::at(self.order.hosts.len())) {
            let jobs = jobs_of(&self.order, host);
            let order = &mut self.order.hosts[host.get()];
            order.states = keeping::states(&order.name, &jobs, aux_path)?;
        }
        Ok(())
    }

    fn add(&mut self, host: Reach, job: &JobOrder, longest: Option<Nanos>) {
        self.order.hosts.push(HostOrder {
            name: host.name,
            port: host.way.port(),
            job: job.clone(),
            states: Vec::new(),
            longest,
        });
        self.ways.push(host.way);
        self.addresses.push(host.address);
    }

    /// Says to each host which other hosts its jobs talk to (`peer`). Call it again after the names of hosts have changed.
    ///
    /// # Errors
    /// A job has no peer on some host, or there are not enough ports.
    pub fn link(&mut self) -> Result<(), Vec<Diagnostic>> {
        for (jobs, range) in &self.linked {
            let hosts = self.order.hosts.get(range.clone()).unwrap_or_default();
            let hosts: Vec<PeerHost> = hosts
                .iter()
                .zip(&self.addresses[range.start..])
                .map(|(host, address)| PeerHost { name: &host.name, address })
                .collect();
            let links = peers::links(jobs, &hosts)?;
            for (host, links) in self.order.hosts[range.clone()].iter_mut().zip(links) {
                host.job.links = links;
            }
        }
        Ok(())
    }

    /// Begins to reach the hosts, except for ranks. Those that cannot be reached are lost peers of the result.
    ///
    /// # Errors
    /// This process has no file descriptor left, or there are no keys for servers on other machines.
    pub fn reach(&self, options: &HostsOptions) -> Result<Hub, ReachError> {
        let mut hub = Hub::new()?;
        let servers: Vec<_> = self.ways.iter().filter_map(Way::endpoint).collect();
        protect(&mut hub, &servers, options)?;
        for way in &self.ways {
            match way {
                Way::Command(command) => drop(hub.start(command)),
                Way::Server(endpoint) => drop(hub.connect(endpoint)),
                Way::Rank => {}
            }
        }
        Ok(hub)
    }
}

/// Why no host can be reached.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// A system call failed.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// The connections would not be protected.
    #[error(transparent)]
    Protection(#[from] ProtectionError),
}

/// The report of a run, with the findings about its hosts unless the user wants none.
#[must_use]
pub fn report(outcome: HostsOutcome, general: &GeneralOptions) -> HostsReport {
    let mut report = merged(outcome, head(), &fiord_run::error::words);
    report.shares_targets = general.hosts.data == Some(DataSharing::Same);
    report.insecure = general.hosts.insecure && general.hosts.keys.is_none();
    report.all.extras.findings_off = general.findings == Findings::Off;
    if !report.all.extras.findings_off {
        fiord_doctor::settle_hosts(&mut report);
        let found = fiord_doctor::of_hosts(&report);
        report.all.extras.findings = found.findings().cloned().collect();
    }
    report
}

/// The report of a run that continues, from the reports of its hosts. It has no totals, because the hosts did not
/// report at one moment.
#[must_use]
pub fn interim(hosts: Vec<HostReport>) -> HostsReport {
    HostsReport { all: head(), hosts, ..HostsReport::default() }
}

/// Who reports, and when.
fn head() -> Report {
    let written = Nanos(clock::wall());
    Report {
        schema: SCHEMA,
        version: version(),
        written,
        utc_offset_s: host::utc_offset(written.0 / 1_000_000_000),
        ..Report::default()
    }
}

impl CheckedGroup {
    fn of(group: &HostGroup, loader: &mut dyn Loader) -> Result<CheckedGroup, Vec<Diagnostic>> {
        let mut recording = RecordingLoader::of(loader);
        let invocation = invocation(&group.local_arguments(), &mut recording)?;
        Ok(CheckedGroup { arguments: group.arguments(), read: recording.into_memory(), invocation })
    }

    fn order(&self, general: &GeneralOptions, progress: Option<Nanos>) -> JobOrder {
        JobOrder {
            arguments: self.arguments.clone(),
            files: self.read.files.clone(),
            variables: self.read.variables.clone(),
            data: match general.hosts.data {
                None | Some(DataSharing::Private) => HostsData::Private,
                Some(DataSharing::Same) => HostsData::Same,
                Some(DataSharing::Split) => HostsData::Split,
            },
            links: Vec::new(),
            run: Some(RunNumber(SystemFacts.entropy())),
            progress,
            latencies: general.live,
            snapshots: general.export.wants_any().then(|| general.export.sample_interval()),
            fetch_logs: true,
            triggers: general.trigger.can_fire(),
            trigger_command: general.trigger.remote_command.clone(),
        }
    }
}

/// Who runs this program, for the message that another coordinator gets.
fn holder() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    format!("{user}{}, process {}", host::name(), std::process::id())
}

/// The jobs of a host, as the host itself reads them. Empty if only the host has its job files.
fn jobs_of(order: &RunOrder, host: HostIndex) -> Vec<JobSpec> {
    let Some(HostOrder { name, job, .. }) = order.hosts.get(host.get()) else { return Vec::new() };
    let ranks = NonZeroU32::new(HostIndex::at(order.hosts.len()).0).unwrap_or(NonZeroU32::MIN);
    let words = HostWords { name: name.clone(), rank: host, ranks };
    let parsed = invocation(&job.arguments, &mut OrderLoader::new(job, words));
    parsed.map(|invocation| invocation.jobs).unwrap_or_default()
}
