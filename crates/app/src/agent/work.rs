//! One order of a coordinator: from its job files to its results.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use fiord_fabric::message::{Ended, FromHost, Hello, HostJobs, HostsData, JobOrder};
use fiord_fabric::policy::{Forbidden, HostPolicy};
use fiord_job::command::{Action, Findings, Invocation, TriggerOptions};
use fiord_job::diagnostic::{self, Diagnostic};
use fiord_job::load::HostWords;
use fiord_plan::{HostShare, PlanOptions};
use fiord_run::events::{Event, EventKind, EventSender, observe};
use fiord_stat::snapshot::JobCounts;
use fiord_sys::clock;
use fiord_types::{JobIndex, Nanos, program};

use super::AgentWords;
use super::allowed::AllowedFacts;
use super::created::CreatedFiles;
use super::keeping::CoordinatorKeeper;
use super::linked::linked;
use super::loader::OrderLoader;
use super::logs::LogSuffix;
use super::orders::{OrderStage, OrderedInterrupts, OrderedStart, Orders};
use super::outbox::Outbox;
use super::{logs, targets, wishes};
use crate::prepared::{Prepared, RunEnd, RunOutcome, RunSettings};

/// Maximum number of messages about one order that the policy forbids. A job can have a million files.
const MAX_MESSAGES: usize = 20;

/// One order, and the way to its coordinator.
pub(super) struct OrderTask {
    pub(super) order: JobOrder,
    pub(super) hello: Hello,
    /// The verify states that the coordinator sent, by their file names.
    pub(super) states: HashMap<String, Vec<u8>>,
    pub(super) orders: Arc<Orders>,
    pub(super) outbox: Outbox,
    /// The address of a client. `None` for a coordinator that reached this agent in another way.
    pub(super) client: Option<IpAddr>,
    pub(super) words: AgentWords,
    pub(super) policy: HostPolicy,
}

impl OrderTask {
    /// Checks the jobs, runs them when the coordinator says so, and sends their results. Returns the last message, which
    /// the caller sends.
    pub(super) fn run(&self) -> FromHost {
        let Hello { host, rank, ranks, .. } = &self.hello;
        let words = HostWords { name: host.clone(), rank: *rank, ranks: *ranks };
        let mut loader = OrderLoader::new(&self.order, words).allow(&self.policy);
        let parsed = fiord_job::invocation(&self.order.arguments, &mut loader);
        let mut invocation = match (parsed, loader.forbidden()) {
            (_, wrong) if !wrong.is_empty() => return forbidden(&wrong),
            (Ok(invocation), _) => invocation,
            (Err(errors), _) => return refused(&errors),
        };
        if invocation.action != Action::Run {
            let error = Diagnostic::error("the coordinator sent no jobs to run", None);
            return refused(&[error]);
        }
        // Triggers are the coordinator's: it fires them on all hosts, and its order has the command of this host, which the
        // policy must allow. An option among the arguments must not run a command here, nor remove a file.
        invocation.general.trigger = TriggerOptions::default();
        match linked(std::mem::take(&mut invocation.jobs), &self.order.links) {
            Ok(jobs) => invocation.jobs = jobs,
            Err(errors) => return refused(&errors),
        }
        let facts = AllowedFacts::new(&self.policy, &invocation.jobs, &self.states);
        let is_split = self.order.data == HostsData::Split;
        let client = self.client.map(|address| address.to_string());
        let options = PlanOptions {
            client: client.as_deref(),
            endpoints: Some(&facts),
            linked: true,
            run: self.order.run,
            share: is_split.then_some(HostShare { rank: *rank, ranks: *ranks }),
            ..PlanOptions::of(&invocation)
        };
        let mut jobs = match Prepared::planned(&invocation, options, &facts) {
            Err(errors) if facts.forbidden().is_empty() => return refused(&errors),
            Err(_) => return forbidden(&facts.forbidden()),
            Ok(jobs) => jobs,
        };
        let command = self.order.trigger_command.as_deref();
        let wrong = self.policy.check(&wishes::of(&invocation, jobs.plan(), command));
        if !wrong.is_empty() {
            return forbidden(&wrong);
        }
        if self.order.fetch_logs {
            let suffix = self.log_suffix();
            jobs.rename_logs(|path| suffix.add(path));
        }
        self.prepared(&invocation, &jobs)
    }

    fn log_suffix(&self) -> LogSuffix {
        LogSuffix::of(&self.hello.host)
    }

    fn prepared(&self, invocation: &Invocation, jobs: &Prepared) -> FromHost {
        let created = CreatedFiles::of(jobs.plan(), invocation);
        let checked = HostJobs {
            introduction: (self.words.introduction)(&jobs.introduction()),
            warnings: (self.words.notes)(&jobs.notes()),
            targets: targets::of(jobs.plan()),
            findings: jobs.notes().findings().cloned().collect(),
            names: (self.words.names)(&jobs.introduction()),
        };
        self.orders.enter(OrderStage::Run);
        self.outbox.send(&FromHost::Checked(Box::new(checked)), &[]);
        if !self.orders.wait_for_layout() {
            let ended = Ended { signal: self.orders.signal(), ..Ended::default() };
            return FromHost::Ended(Box::new(ended));
        }
        let mut ended = self.execute(invocation, jobs);
        if self.order.fetch_logs && !self.orders.is_lost() {
            let failed = logs::send(jobs.plan(), &self.log_suffix(), &self.orders, &self.outbox);
            for what in &failed {
                let kind = EventKind::SurvivedError { what: what.clone() };
                let (unix_time, elapsed) = (Nanos(clock::wall()), Nanos::ZERO);
                self.send(Event { unix_time, elapsed, kind });
            }
            ended.errors.extend(failed);
        }
        if self.orders.is_lost() {
            self.orders.enter(OrderStage::Cleanup);
            created.remove();
        }
        FromHost::Ended(Box::new(ended))
    }

    /// Runs the jobs and sends their results, but not the last message.
    fn execute(&self, invocation: &Invocation, jobs: &Prepared) -> Ended {
        let (orders, outbox) = (Arc::clone(&self.orders), self.outbox.clone());
        let keeper = CoordinatorKeeper { orders: Arc::clone(&orders), outbox: outbox.clone() };
        let gate = OrderedStart { orders, outbox };
        let settings = RunSettings {
            progress: self.order.progress.map(|time| time.0),
            latencies: self.order.latencies,
            snapshots: self.order.snapshots,
            gate: Some(Arc::new(gate)),
            keep_data: true,
            keeper: Some(Arc::new(keeper)),
            outside_trigger: self.order.triggers.then(|| self.order.trigger_command.clone()),
            ..RunSettings::default()
        };
        let mut interrupts = OrderedInterrupts::new(Arc::clone(&self.orders));
        let stopped = || self.orders.is_stopped();
        let run = |events: &EventSender| jobs.run(settings, events, &mut interrupts, &stopped);
        let mut finished = None;
        let observer = |event: Event| {
            if matches!(event.kind, EventKind::JobEnded { .. }) {
                finished = Some(monotonic(event.unix_time));
            }
            self.send(event);
        };
        match observe(observer, run) {
            Ok(outcome) => self.results(invocation, jobs, finished, outcome),
            Err(error) => {
                let why = "cannot create the thread of the events. To fix: raise the limit on threads (ulimit -u, \
                           pids.max)";
                let errors = vec![format!("{why}: {error}")];
                Ended { status: Some(1), errors, ..Ended::default() }
            }
        }
    }

    /// Sends an event. A snapshot or the progress of thousands of jobs can be too long: it goes without latencies then.
    fn send(&self, mut event: Event) {
        let send = |event: &Event| {
            serde_json::to_value(event)
                .is_ok_and(|value| self.outbox.send(&FromHost::Event(value), &[]))
        };
        if send(&event) {
            return;
        }
        match &mut event.kind {
            EventKind::Snapshot(snapshot) => {
                snapshot.jobs.iter_mut().for_each(|job| job.counts = JobCounts::default());
            }
            EventKind::Progress(progress) => {
                progress.jobs.iter_mut().for_each(|job| job.latency = None);
            }
            _ => return,
        }
        send(&event);
    }

    /// Sends what the jobs measured.
    fn results(
        &self,
        invocation: &Invocation,
        jobs: &Prepared,
        finished: Option<Nanos>,
        outcome: RunOutcome,
    ) -> Ended {
        let end = outcome.end(invocation.general.findings == Findings::Fatal);
        for (index, data) in outcome.data.into_iter().enumerate() {
            let result = FromHost::Result { job: JobIndex::at(index), data: Box::new(data) };
            self.outbox.send(&result, &[]);
        }
        let mut report = FromHost::Report(Box::new(outcome.report));
        if !self.outbox.send(&report, &[])
            && let FromHost::Report(whole) = &mut report
        {
            // The report of thousands of jobs is too long. The coordinator has their raw data.
            whole.jobs.clear();
            whole.groups.clear();
            self.outbox.send(&report, &[]);
        }
        let name = |index: usize| jobs.plan().jobs.get(index).map_or("", |job| &job.identity.name);
        let failed = outcome.errors.iter().map(|(index, error)| (name(*index), error));
        let stuck = outcome.stuck.iter().map(|(name, error)| (name.as_str(), error));
        Ended {
            status: (end != RunEnd::Signalled).then(|| (self.words.status)(end)),
            errors: failed.chain(stuck).map(|(job, error)| format!("job {job}: {error}")).collect(),
            // A coordinator can stop a run without a signal.
            signal: outcome.signal.and(self.orders.signal()),
            started: outcome.started,
            finished,
        }
    }
}

/// The messages about everything that the policy does not allow.
fn forbidden(wrong: &[Forbidden]) -> FromHost {
    let line = |forbidden: &Forbidden| program::message(format_args!("{forbidden}\n"));
    FromHost::Refused { text: wrong.iter().take(MAX_MESSAGES).map(line).collect() }
}

fn refused(errors: &[Diagnostic]) -> FromHost {
    FromHost::Refused { text: diagnostic::render(errors, false) }
}

/// The monotonic time of a moment just passed, from its wall time.
fn monotonic(wall: Nanos) -> Nanos {
    let ago = Nanos(clock::wall()).saturating_sub(wall);
    Nanos(clock::monotonic()).saturating_sub(ago)
}
