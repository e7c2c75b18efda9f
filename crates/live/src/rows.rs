//! The rows of the list of hosts or jobs, sorted.

use std::cmp::Ordering;

use fiord_stat::progress::{JobPhase, RunKind};
use fiord_types::{HostIndex, JobIndex, Nanos};

use crate::history::LiveHistory;
use crate::model::{LiveHost, LiveJob, LiveModel};
use crate::page::LivePage;

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveSort {
    /// The order of the job files or of the hosts.
    Order,
    Name,
    /// I/Os per second, the most first.
    Iops,
    /// Bytes per second, the most first.
    Bandwidth,
    /// 99th percentile of the latencies, the largest first.
    P99,
    /// Largest latency, the largest first.
    Max,
    /// Share that is done, the least first.
    Done,
}

const SORTS: [LiveSort; 7] = [
    LiveSort::Order,
    LiveSort::Name,
    LiveSort::Iops,
    LiveSort::Bandwidth,
    LiveSort::P99,
    LiveSort::Max,
    LiveSort::Done,
];

impl LiveSort {
    /// The words in the view.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            LiveSort::Order => "order",
            LiveSort::Name => "name",
            LiveSort::Iops => "IOPS",
            LiveSort::Bandwidth => "bandwidth",
            LiveSort::P99 => "p99",
            LiveSort::Max => "max",
            LiveSort::Done => "done",
        }
    }

    #[must_use]
    pub fn next(self) -> LiveSort {
        self.step(1)
    }

    #[must_use]
    pub fn previous(self) -> LiveSort {
        self.step(SORTS.len() - 1)
    }

    fn step(self, by: usize) -> LiveSort {
        let at = SORTS.iter().position(|other| *other == self).unwrap_or(0);
        SORTS[(at + by) % SORTS.len()]
    }
}

#[derive(Debug, Clone)]
pub struct ListRow<'a> {
    /// The name of the job or host.
    pub name: &'a str,
    /// The present activity.
    pub state: &'a str,
    /// The job or host has failed, or its replay is late.
    pub alarm: bool,
    /// Last intervals of the job or host.
    pub history: &'a LiveHistory,
    /// The job or host still runs, so that its last interval is the present.
    pub runs: bool,
    /// Share that is done.
    pub done: Option<f64>,
    /// Time left.
    pub eta: Option<Nanos>,
    /// The page about it.
    pub page: LivePage,
}

/// The rows of a page; none for a page without a list.
#[must_use]
pub fn rows(
    model: &LiveModel,
    page: LivePage,
    (sort, reverse): (LiveSort, bool),
) -> Vec<ListRow<'_>> {
    let mut rows = match page {
        LivePage::Overview if model.has_hosts() => {
            let hosts = model.hosts.iter().enumerate();
            hosts.map(|(index, host)| of_host(HostIndex::at(index), host)).collect()
        }
        LivePage::Overview => jobs(model, HostIndex(0)),
        LivePage::Host(host) => jobs(model, host),
        LivePage::Job(..) | LivePage::Findings | LivePage::Help => Vec::new(),
    };
    // A stable sort: rows that are equal stay in order.
    rows.sort_by(|a, b| compare(a, b, sort));
    if reverse {
        rows.reverse();
    }
    rows
}

fn jobs(model: &LiveModel, index: HostIndex) -> Vec<ListRow<'_>> {
    let jobs = model.hosts.get(index.get()).map(|host| host.jobs.as_slice()).unwrap_or_default();
    jobs.iter().enumerate().map(|(job, of)| of_job(index, JobIndex(job), of)).collect()
}

fn of_host(index: HostIndex, host: &LiveHost) -> ListRow<'_> {
    ListRow {
        name: &host.name,
        state: &host.state,
        alarm: host.state == "failed" || host.jobs.iter().any(|job| job.failure.is_some()),
        history: &host.history,
        runs: host.active,
        done: host.done,
        eta: host.eta,
        page: LivePage::Host(index),
    }
}

fn of_job(host: HostIndex, index: JobIndex, job: &LiveJob) -> ListRow<'_> {
    ListRow {
        name: &job.name,
        state: phase(job.phase),
        alarm: job.phase == JobPhase::Failed || job.is_late(),
        history: &job.history,
        runs: job.phase.is_running(),
        done: job.done,
        eta: job.eta,
        page: LivePage::Job(host, index),
    }
}

/// The word for what a job is doing.
#[must_use]
pub fn phase(phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Waiting => "waiting",
        JobPhase::Created | JobPhase::Initialized => "ready",
        JobPhase::PreReading => "pre-read",
        JobPhase::Ramping => "ramp",
        JobPhase::Running(RunKind::Read) => "read",
        JobPhase::Running(RunKind::RandRead) => "randread",
        JobPhase::Running(RunKind::Write) => "write",
        JobPhase::Running(RunKind::RandWrite) => "randwrite",
        JobPhase::Running(RunKind::Mixed) => "rw",
        JobPhase::Running(RunKind::RandMixed) => "randrw",
        JobPhase::Running(RunKind::Trim) => "trim",
        JobPhase::Running(RunKind::RandTrim) => "randtrim",
        JobPhase::Syncing => "syncing",
        JobPhase::Verifying => "verify",
        JobPhase::Finishing => "finishing",
        JobPhase::Exited | JobPhase::Reaped => "done",
        JobPhase::Failed => "FAILED",
        JobPhase::Killed => "killed",
    }
}

fn compare(a: &ListRow, b: &ListRow, by: LiveSort) -> Ordering {
    let tick = |row: &ListRow, value: fn(&crate::history::LiveTick) -> f32| {
        row.history.latest().filter(|_| row.runs).map_or(0.0, value)
    };
    let latency = |row: &ListRow, index: usize| {
        row.history.all_percentiles().filter(|_| row.runs).map_or(Nanos::ZERO, |all| all[index])
    };
    match by {
        LiveSort::Order => Ordering::Equal,
        LiveSort::Name => a.name.cmp(b.name),
        LiveSort::Iops => {
            tick(b, |tick| tick.all_iops()).total_cmp(&tick(a, |tick| tick.all_iops()))
        }
        LiveSort::Bandwidth => {
            tick(b, |tick| tick.all_bw()).total_cmp(&tick(a, |tick| tick.all_bw()))
        }
        LiveSort::P99 => latency(b, 2).cmp(&latency(a, 2)),
        LiveSort::Max => latency(b, 4).cmp(&latency(a, 4)),
        LiveSort::Done => a.done.unwrap_or(2.0).total_cmp(&b.done.unwrap_or(2.0)),
    }
}
