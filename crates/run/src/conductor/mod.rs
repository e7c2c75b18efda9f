//! The conductor controls a whole run: it lays out files, starts, watches and stops jobs, and creates the
//! report.
//!
//! The conductor runs on one thread and sleeps between events. Each job has its own thread and sends messages
//! to the conductor.
//!
//! | question | module |
//! |---|---|
//! | inputs and results of a run | `interface.rs` |
//! | how files are laid out while signals are handled | `laying_out.rs` |
//! | which job may start when, and which end together | `schedule.rs` |
//! | how jobs start and end | `lifecycle.rs` |
//! | what happens on a job's thread before and after its I/O | `jobthread.rs` |
//! | what a job hangs in when the run ends without it | `stuck.rs` |
//! | how jobs start together with those of other hosts | `gate.rs` |
//! | progress, status reports, the final report | `reporting.rs` |
//! | what a trigger does (`--trigger-file`) | `trigger.rs` |

mod gate;
mod interface;
mod jobthread;
mod laying_out;
mod lifecycle;
mod reporting;
mod schedule;
mod stuck;
mod trigger;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use fiord_engine::sim::SimDisks;
use fiord_plan::{JobPlan, Plan};
use fiord_stat::finding::RunWarning;
use fiord_sys::clock;
use fiord_types::Nanos;

use self::schedule::Schedule;
use crate::error::JobError;
use crate::events::{EventKind, EventSender};
use crate::files::layout;
use crate::files::lock::FileLocks;
use crate::files::space::SpaceWatch;
use crate::idleness::IdleWatch;
use crate::job::control::{Phase, StopReason};
use crate::job::steady::SteadyMember;
use crate::job::thread::ControlGroups;
use crate::job::timebase::Timebase;
use crate::logs::{BandwidthLog, RunLogs};
use crate::maps::VerifyMaps;
use crate::monitor::{DeviceActivity, Disks, JobWatch, LatencyMeter, Meter, SnapshotMeter};
use crate::results::report;
use crate::shared::{Finished, Message, Run, Shared};
use crate::trace::iolog::Iologs;
use crate::trace::replay::TraceMerges;
use crate::verify::save::{ExtentLists, Journals};
use crate::zones::ZoneTables;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// Longest sleep, ns. It limits the delay of signals and of device counters.
const MAX_SLEEP: u64 = 50 * MS;
/// Shortest sleep, ns: an event that is overdue right after handling must not cause a busy loop.
const MIN_SLEEP: u64 = MS;
/// How long a stopped job may take to end before the run ends without it, ns.
const STUCK_AFTER: u64 = 300 * SECOND;
/// How long the conductor waits for killed commands to end, ns.
const COMMANDS_END: u64 = SECOND;

use self::trigger::TriggerWatch;
pub use gate::StartGate;
pub use interface::{Interrupt, Interrupts, NoInterrupts, RunOptions, RunResult, Trigger};

/// Runs a plan to its end and returns the report and the errors of its jobs. Calls `before_start` once, after the
/// layout and before the first job starts; the run waits for it.
pub fn run(
    plan: Arc<Plan>,
    options: &RunOptions,
    events: &EventSender,
    interrupts: &mut dyn Interrupts,
    before_start: &mut dyn FnMut(),
) -> RunResult {
    raise_limits(&plan);
    let run = Arc::new(Run {
        jobs: Shared::of(&plan),
        plan: Arc::clone(&plan),
        cancelled: AtomicBool::new(false),
        abandoned: AtomicBool::new(false),
        commands: AtomicUsize::new(0),
        aux_path: options.aux_path.clone(),
        groups: ControlGroups::default(),
        timebase: Timebase::start(&plan),
        locks: FileLocks::of(&plan),
        layout_locks: FileLocks::of_layouts(&plan),
        zones: ZoneTables::of(&plan),
        simulated: SimDisks::of(&plan.jobs),
        verify_maps: VerifyMaps::of(&plan),
        verify_extents: ExtentLists::default(),
        merges: TraceMerges::default(),
        iologs: Iologs::default(),
        journals: Journals::kept_by(options.keeper.clone()),
        logs: RunLogs::open(&plan, options.bandwidth_log.as_deref()),
        debug: options.debug.clone(),
        triggers: options.trigger.can_fire(),
        triggered: AtomicBool::new(false),
        keeper: options.keeper.clone(),
        signalled: AtomicBool::new(false),
    });
    let (sender, receiver) = channel();
    let mut conductor = Conductor::new(&run, options, events, interrupts, sender);
    conductor.refuse_without_logs();
    if !conductor.over() {
        conductor.lay_out(&receiver);
    }
    if !conductor.abandoned {
        conductor.events.send(EventKind::LaidOut);
        before_start();
        conductor.begin();
        if let Some(gate) = &options.gate {
            conductor.wait_at_gate(&**gate, &receiver);
        }
    }
    while !conductor.over() {
        conductor.step(&receiver);
    }
    conductor.result()
}

/// The conductor's record of one job.
#[derive(Debug, Default)]
struct JobEntry {
    watch: JobWatch,
    start_ms: u64,
    stopped_at: Option<u64>,
    /// The error for which the conductor stopped the job, if any.
    ended_for: Option<JobError>,
    finished: Option<Box<Finished>>,
    /// What the job hangs in, if the run ended without it.
    stuck: Option<JobError>,
}

struct Conductor<'a> {
    run: Arc<Run>,
    options: &'a RunOptions,
    events: &'a EventSender,
    interrupts: &'a mut dyn Interrupts,
    sender: Sender<Message>,
    schedule: Schedule<'a>,
    entries: Vec<JobEntry>,
    /// Jobs in set-up that start together: each waits for the others.
    cohort: Vec<usize>,
    /// Jobs in set-up that start alone, because their `exec_prerun` takes an unknown time.
    solo: Vec<usize>,
    meter: Meter,
    /// Only if progress contains latencies.
    latencies: Option<LatencyMeter>,
    /// Only if the run is exported.
    snapshots: Option<SnapshotMeter>,
    disks: Disks,
    devices: DeviceActivity,
    space: SpaceWatch,
    bandwidth_log: Option<BandwidthLog>,
    began: u64,
    next_progress: Option<u64>,
    next_status: Option<u64>,
    /// A status report waits for the results of a job that has just ended, at most until then, ns.
    late_status: Option<u64>,
    signal: Option<i32>,
    /// The user has ended the run ([`Interrupt::Finish`]).
    finished_early: bool,
    trigger: TriggerWatch,
    /// `--idle-prof`.
    idleness: Option<IdleWatch>,
    /// The job whose files are being laid out by the layout thread.
    laying_out: Option<usize>,
    abandoned: bool,
    warnings: Vec<RunWarning>,
}

impl<'a> Conductor<'a> {
    fn new(
        run: &'a Arc<Run>,
        options: &'a RunOptions,
        events: &'a EventSender,
        interrupts: &'a mut dyn Interrupts,
        sender: Sender<Message>,
    ) -> Self {
        let jobs = &run.plan.jobs;
        let entry = |job: &JobPlan| JobEntry { watch: JobWatch::new(job), ..JobEntry::default() };
        let now = clock::monotonic();
        Conductor {
            run: Arc::clone(run),
            options,
            events,
            interrupts,
            sender,
            schedule: Schedule::new(jobs),
            entries: jobs.iter().map(entry).collect(),
            cohort: Vec::new(),
            solo: Vec::new(),
            meter: Meter::new(jobs.len(), now),
            latencies: options.latencies.then(|| LatencyMeter::new(jobs.len())),
            snapshots: None,
            disks: Disks::default(),
            devices: DeviceActivity::default(),
            space: SpaceWatch::new(jobs, now),
            bandwidth_log: None,
            began: now,
            next_progress: None,
            next_status: None,
            late_status: None,
            signal: None,
            finished_early: false,
            trigger: TriggerWatch::default(),
            idleness: None,
            laying_out: None,
            abandoned: false,
            warnings: Vec::new(),
        }
    }

    /// Starts the clock of the run and the first jobs.
    fn begin(&mut self) {
        self.idleness = self.options.idle_profile.map(IdleWatch::begin);
        self.disks = Disks::start(&self.run.plan);
        self.devices = DeviceActivity::find(&self.run.plan);
        self.begin_at(clock::monotonic());
        self.watch_trigger();
        self.start_jobs();
    }

    /// Starts the clock of the run. `began`: ns of `CLOCK_MONOTONIC`, which may be a little in the future.
    fn begin_at(&mut self, began: u64) {
        self.began = began;
        self.run.jobs.iter().for_each(|job| job.control.set_origin(began));
        self.meter = Meter::new(self.run.jobs.len(), self.began);
        let all = self.run.logs.all();
        self.bandwidth_log = all.map(|all| BandwidthLog::begin(&self.run.plan, all, self.began));
        let snapshots = self.options.snapshots;
        self.snapshots =
            snapshots.map(|t| SnapshotMeter::begin(t, self.began, self.run.jobs.len()));
        self.next_progress = self.options.progress.map(|t| self.began + t);
        self.next_status = self.options.status.map(|t| self.began + t);
        self.trigger.begin(self.began, self.options.trigger.timeout);
    }

    fn over(&self) -> bool {
        self.abandoned || (self.schedule.over() && !self.trigger.is_running())
    }

    /// Waits for the next event and handles it.
    fn step(&mut self, receiver: &Receiver<Message>) {
        let now = clock::monotonic();
        let pause = Duration::from_nanos(self.next_due(now).saturating_sub(now));
        match receiver.recv_timeout(pause) {
            Ok(message) => {
                let mut more = VecDeque::from([message]);
                more.extend(receiver.try_iter());
                more.into_iter().for_each(|message| self.handle(message));
            }
            // The conductor itself holds a sender, so the channel is never disconnected.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.handle_interrupts();
        self.start_jobs();
        self.release_ready();
        let now = clock::monotonic();
        self.watch(now);
        self.watch_space(now);
        if let Some(log) = &mut self.bandwidth_log {
            log.sample(self.run.totals(), now);
        }
        self.progress(now);
        self.snapshot(now);
        if self.next_status.is_some_and(|due| now >= due) {
            self.next_status = self.options.status.map(|t| now + t);
            self.status();
        } else if self.late_status.is_some() {
            self.status();
        }
    }

    fn next_due(&self, now: u64) -> u64 {
        let jobs =
            self.entries.iter().zip(&self.run.plan.jobs).filter(|(b, _)| b.finished.is_none());
        let windows =
            jobs.filter_map(|(entry, job)| entry.watch.due(job, entry.stopped_at.is_some())).min();
        let delay = self.schedule.next_start().map(|t| self.began.saturating_add(t));
        let trigger = self.trigger.due();
        let snapshots = self.snapshots.as_ref().map(SnapshotMeter::next);
        let reports = [self.progress_due(), snapshots, self.next_status, self.late_status, trigger];
        let log = self.bandwidth_log.as_ref().map(BandwidthLog::due);
        let due =
            [windows, delay, self.space.due(), log].into_iter().chain(reports).flatten().min();
        match due {
            Some(due) if due > now => due.min(now + MAX_SLEEP),
            Some(_) => now + MIN_SLEEP,
            None => now + MAX_SLEEP,
        }
    }

    /// Handles a message of a job's thread.
    fn handle(&mut self, message: Message) {
        let run = Arc::clone(&self.run);
        let job = |index| report::name(&run.plan, index);
        match message {
            Message::LayingOut { index, files, bytes } => {
                self.events.send(EventKind::LayingOut { job: job(index).into(), files, bytes });
            }
            Message::Command { index, when, output } => {
                self.events.send(EventKind::Command { job: job(index).into(), when, output });
            }
            Message::Warning { index, what } => {
                self.warn(Some(job(index)), &what);
            }
            Message::BadBlock { index, what } => {
                self.events.send(EventKind::BadBlock { job: job(index).into(), what });
            }
            Message::SurvivedError { what } => self.events.send(EventKind::SurvivedError { what }),
            // The message only wakes the conductor: `release_ready` finds the ready jobs.
            Message::Ready => {}
            // `lay_out_one` handles this message.
            Message::LaidOut { .. } => {}
            Message::Ended { index, result } => self.job_ended(index, result),
            Message::TriggerEnded { line, ending } => self.trigger_ended(&line, ending),
        }
    }

    fn handle_interrupts(&mut self) {
        while let Some(interrupt) = self.interrupts.next() {
            match interrupt {
                Interrupt::Status => self.status(),
                Interrupt::Trigger => self.fire_from_outside(),
                Interrupt::End(signal) if self.signal.is_none() => {
                    self.signal = Some(signal);
                    self.run.cancelled.store(true, Ordering::Relaxed);
                    self.run.signalled.store(true, Ordering::Relaxed);
                    self.events.send(EventKind::Terminating { signal });
                    for index in 0..self.entries.len() {
                        self.stop(index, StopReason::Signal);
                    }
                }
                Interrupt::End(_) => self.abandon(),
                Interrupt::Finish => self.finish_early(),
            }
        }
        self.watch_trigger();
    }

    /// Ends the jobs because the user has seen enough.
    fn finish_early(&mut self) {
        if self.run.is_cancelled() {
            return;
        }
        self.finished_early = true;
        self.run.cancelled.store(true, Ordering::Relaxed);
        let seconds = Nanos(clock::monotonic().saturating_sub(self.began)).as_secs_f64();
        self.warn(None, &format!("the user ended the run early, after {seconds:.1} s"));
        for index in 0..self.entries.len() {
            self.stop(index, StopReason::Signal);
        }
    }

    /// Ends the run without waiting for the jobs that have not ended.
    fn abandon(&mut self) {
        if self.abandoned {
            return;
        }
        self.abandoned = true;
        let run = Arc::clone(&self.run);
        run.abandoned.store(true, Ordering::Relaxed);
        let laying_out = self.laying_out;
        let entries = self.entries.iter_mut().enumerate();
        let hang = entries.filter(|(n, entry)| entry.finished.is_none() || laying_out == Some(*n));
        for (index, entry) in hang {
            entry.stuck = Some(stuck::error(&run.plan.jobs[index], &run.jobs[index]));
        }
        // The threads of the jobs poll `abandoned` and kill their commands.
        let until = clock::monotonic() + COMMANDS_END;
        while run.commands.load(Ordering::Acquire) > 0 && clock::monotonic() < until {
            std::thread::sleep(Duration::from_nanos(MIN_SLEEP));
        }
    }

    /// Checks every running job: its rates, its run time, steady state, and whether it hangs.
    fn watch(&mut self, now: u64) {
        let run = Arc::clone(&self.run);
        let mut hopeless = false;
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if entry.finished.is_some() {
                continue;
            }
            let shared = &run.jobs[index];
            entry.watch.update(&run.plan.jobs[index], &shared.control, now);
            if shared.control.steady().is_some_and(SteadyMember::attained) {
                shared.control.stop(StopReason::Steady);
            }
            if shared.control.stopped() {
                let since = *entry.stopped_at.get_or_insert(now);
                hopeless |= now.saturating_sub(since) > STUCK_AFTER;
            }
        }
        if hopeless {
            self.abandon();
        }
    }

    /// Stops the jobs that would leave less free space than `space_reserve`.
    fn watch_space(&mut self, now: u64) {
        let run = Arc::clone(&self.run);
        let entries = self.entries.iter().zip(&run.plan.jobs).enumerate();
        let runs = |index: usize| {
            let control = &run.jobs[index].control;
            control.phase() >= Phase::Ramp && !control.stopped()
        };
        let running = entries.filter(|(i, (entry, _))| entry.finished.is_none() && runs(*i));
        for (index, error) in self.space.check(running.map(|(i, (_, job))| (i, job)), now) {
            self.entries[index].ended_for = error;
            self.stop(index, StopReason::Failure);
        }
    }
}

/// Raises the limit on open files so that all files can be open at once. If the system refuses, the open that
/// fails reports it.
fn raise_limits(plan: &Plan) {
    /// Descriptors for unflushed files of a layout, standard streams, rings, event descriptors and libraries.
    const SPARE: u64 = 64 + layout::BATCH as u64;
    let logs = |job: &JobPlan| job.log.as_ref().map_or(0, |log| log.files.len() as u64);
    let files =
        plan.jobs.iter().map(|job| u64::from(job.target.open_files) + 2 + logs(job)).sum::<u64>();
    let _ = fiord_sys::limits::raise_open_files(files + SPARE);
}

#[cfg(test)]
mod tests;
