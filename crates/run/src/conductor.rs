//! The run as a whole: layout, starting jobs, watching them, ending them, the report.
//!
//! One thread does all this and sleeps in between; jobs run on threads of their own and send word
//! when something happens.
//!
//! | question | module |
//! |---|---|
//! | what is a run given, what does it give back | `interface.rs` |
//! | how are files laid out while signals are heard | `laying_out.rs` |
//! | how do jobs start and end | `starting.rs` |
//! | progress, status reports, the report at the end | `telling.rs` |

mod interface;
mod laying_out;
mod starting;
mod telling;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use fiord_plan::{JobPlan, Plan};
use fiord_stat::finding::RunWarning;
use fiord_sys::clock;

use crate::control::{Phase, StopReason};
use crate::error::JobError;
use crate::events::{Event, Observer};
use crate::layout;
use crate::lock::FileLocks;
use crate::monitor::{Devices, Disks, Meter, Watch};
use crate::report;
use crate::schedule::Schedule;
use crate::shared::{Finished, Message, Run, Shared};
use crate::space::SpaceWatch;
use crate::steady::Membership;
use crate::stuck;
use crate::thread::ControlGroups;
use crate::timebase::Timebase;
use crate::zones::ZoneTables;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// The longest sleep: signals and disks' news are never later than this.
const TICK: u64 = 50 * MS;
/// The shortest: what is overdue although it was just seen to is not waited for in a spin.
const BREATH: u64 = MS;
/// How long after it was told to end a job may take, before the run ends without it.
const STUCK: u64 = 300 * SECOND;
/// How long commands may take to end that are killed.
const COMMANDS_END: u64 = SECOND;

pub use interface::{Interrupt, Interrupts, RunOptions, RunResult, Undisturbed};

/// Runs a plan to its end.
pub fn run(
    plan: Arc<Plan>,
    options: &RunOptions,
    observer: &mut dyn Observer,
    interrupts: &mut dyn Interrupts,
) -> RunResult {
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
        zones: ZoneTables::of(&plan),
        debug: options.debug.clone(),
    });
    raise_limits(&plan);
    let (sender, receiver) = channel();
    let mut conductor = Conductor::new(&run, options, observer, interrupts, sender);
    conductor.lay_out(&receiver);
    if !conductor.abandoned {
        conductor.observer.event(&Event::LaidOut);
        conductor.begin();
    }
    while !conductor.over() {
        conductor.step(&receiver);
    }
    conductor.result()
}

/// One job in the conductor's books.
#[derive(Debug, Default)]
struct Book {
    watch: Watch,
    start_ms: u64,
    stopped_at: Option<u64>,
    /// Why the run itself told it to end, where that is an error.
    ended_for: Option<JobError>,
    finished: Option<Box<Finished>>,
    /// What it hung in when the run ended without it.
    stuck: Option<JobError>,
}

struct Conductor<'a> {
    run: Arc<Run>,
    options: &'a RunOptions,
    observer: &'a mut dyn Observer,
    interrupts: &'a mut dyn Interrupts,
    sender: Sender<Message>,
    schedule: Schedule<'a>,
    books: Vec<Book>,
    /// Jobs that were started together and wait for each other.
    gathering: Vec<usize>,
    /// Jobs that start alone (they have a `exec_prerun` of unknown length).
    loners: Vec<usize>,
    meter: Meter,
    disks: Disks,
    devices: Devices,
    space: SpaceWatch,
    began: u64,
    next_progress: Option<u64>,
    next_status: Option<u64>,
    signal: Option<i32>,
    /// The job that is being laid out, where jobs are laid out one after another.
    laying_out: Option<usize>,
    abandoned: bool,
    warnings: Vec<RunWarning>,
}

impl<'a> Conductor<'a> {
    fn new(
        run: &'a Arc<Run>,
        options: &'a RunOptions,
        observer: &'a mut dyn Observer,
        interrupts: &'a mut dyn Interrupts,
        sender: Sender<Message>,
    ) -> Self {
        let jobs = &run.plan.jobs;
        let book = |job: &JobPlan| Book { watch: Watch::new(job), ..Book::default() };
        let now = clock::monotonic();
        Conductor {
            run: Arc::clone(run),
            options,
            observer,
            interrupts,
            sender,
            schedule: Schedule::new(jobs),
            books: jobs.iter().map(book).collect(),
            gathering: Vec::new(),
            loners: Vec::new(),
            meter: Meter::new(jobs.len(), now),
            disks: Disks::default(),
            devices: Devices::default(),
            space: SpaceWatch::new(jobs, now),
            began: now,
            next_progress: None,
            next_status: None,
            signal: None,
            laying_out: None,
            abandoned: false,
            warnings: Vec::new(),
        }
    }

    /// The time of the run begins.
    fn begin(&mut self) {
        self.disks = Disks::start(&self.run.plan);
        self.devices = Devices::start(&self.run.plan);
        self.began = clock::monotonic();
        self.meter = Meter::new(self.run.jobs.len(), self.began);
        self.next_progress = self.options.progress.map(|t| self.began + t);
        self.next_status = self.options.status.map(|t| self.began + t);
        self.start_jobs();
    }

    fn over(&self) -> bool {
        self.abandoned || self.schedule.over()
    }

    /// Waits for the next thing and does it.
    fn step(&mut self, receiver: &Receiver<Message>) {
        let now = clock::monotonic();
        let pause = Duration::from_nanos(self.next_due(now).saturating_sub(now));
        match receiver.recv_timeout(pause) {
            Ok(message) => {
                let mut more = VecDeque::from([message]);
                more.extend(receiver.try_iter());
                more.into_iter().for_each(|message| self.hear(message));
            }
            // The conductor holds a sender itself, so there is always one.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.hear_interrupts();
        self.start_jobs();
        self.let_go();
        let now = clock::monotonic();
        self.look_at_devices();
        self.watch(now);
        self.watch_space(now);
        self.progress(now);
        if self.next_status.is_some_and(|due| now >= due) {
            self.next_status = self.options.status.map(|t| now + t);
            self.status();
        }
    }

    fn next_due(&self, now: u64) -> u64 {
        let jobs = self.books.iter().zip(&self.run.plan.jobs).filter(|(b, _)| b.finished.is_none());
        let windows =
            jobs.filter_map(|(book, job)| book.watch.due(job, book.stopped_at.is_some())).min();
        let delay = self.schedule.next_start().map(|t| self.began.saturating_add(t));
        let due = [windows, delay, self.space.due(), self.next_progress, self.next_status]
            .into_iter()
            .flatten()
            .min();
        match due {
            Some(due) if due > now => due.min(now + TICK),
            Some(_) => now + BREATH,
            None => now + TICK,
        }
    }

    /// Takes a message of a job's thread.
    fn hear(&mut self, message: Message) {
        let run = Arc::clone(&self.run);
        let job = |index| report::name(&run.plan, index);
        match message {
            Message::LayingOut { index, files, bytes } => {
                self.observer.event(&Event::LayingOut { job: job(index), files, bytes });
            }
            Message::Command { index, when, output } => {
                self.observer.event(&Event::Command { job: job(index), when, output: &output });
            }
            Message::Warning { index, what } => {
                self.warn(Some(job(index)), &what);
            }
            // Being woken is all: `let_go` sees who is ready.
            Message::Ready => {}
            // Only while jobs are laid out, and taken there.
            Message::LaidOut { .. } => {}
            Message::Ended { index, result } => self.job_ended(index, result),
        }
    }

    fn hear_interrupts(&mut self) {
        while let Some(interrupt) = self.interrupts.next() {
            match interrupt {
                Interrupt::Status => self.status(),
                Interrupt::End(signal) if self.signal.is_none() => {
                    self.signal = Some(signal);
                    self.run.cancelled.store(true, Ordering::Relaxed);
                    self.observer.event(&Event::Terminating { signal });
                    for index in 0..self.books.len() {
                        self.stop(index, StopReason::Signal);
                    }
                }
                Interrupt::End(_) => self.abandon(),
            }
        }
    }

    /// Ends the run without the jobs that have not ended.
    fn abandon(&mut self) {
        if self.abandoned {
            return;
        }
        self.abandoned = true;
        let run = Arc::clone(&self.run);
        run.abandoned.store(true, Ordering::Relaxed);
        let laying_out = self.laying_out;
        let books = self.books.iter_mut().enumerate();
        let hang = books.filter(|(n, book)| book.finished.is_none() || laying_out == Some(*n));
        for (index, book) in hang {
            book.stuck = Some(stuck::error(&run.plan.jobs[index], &run.jobs[index]));
        }
        // Their processes are killed by the threads of the jobs, which look for it all the time.
        let until = clock::monotonic() + COMMANDS_END;
        while run.commands.load(Ordering::Acquire) > 0 && clock::monotonic() < until {
            std::thread::sleep(Duration::from_nanos(BREATH));
        }
    }

    /// Whether the measured part of the run has begun, for the devices' own view of it.
    fn look_at_devices(&mut self) {
        let since = self.run.jobs.iter().map(|job| job.control.measured_since());
        self.devices.look(&self.run.plan, since);
    }

    /// Looks at every running job.
    fn watch(&mut self, now: u64) {
        let run = Arc::clone(&self.run);
        let mut hopeless = false;
        for (index, book) in self.books.iter_mut().enumerate() {
            if book.finished.is_some() {
                continue;
            }
            let shared = &run.jobs[index];
            book.watch.look(&run.plan.jobs[index], &shared.control, &shared.live, now);
            if shared.control.steady().is_some_and(Membership::attained) {
                shared.control.stop(StopReason::Steady);
            }
            if shared.control.stopped() {
                let since = *book.stopped_at.get_or_insert(now);
                hopeless |= now.saturating_sub(since) > STUCK;
            }
        }
        if hopeless {
            self.abandon();
        }
    }

    /// Ends the jobs that would leave too little space.
    fn watch_space(&mut self, now: u64) {
        let run = Arc::clone(&self.run);
        let books = self.books.iter().zip(&run.plan.jobs).enumerate();
        let runs = |index: usize| {
            let control = &run.jobs[index].control;
            control.phase() >= Phase::Ramp && !control.stopped()
        };
        let running = books.filter(|(i, (book, _))| book.finished.is_none() && runs(*i));
        for (index, error) in self.space.look(running.map(|(i, (_, job))| (i, job)), now) {
            self.books[index].ended_for = error;
            self.stop(index, StopReason::Failure);
        }
    }
}

/// Sees to it that every file can be open at once. What the system does not give is met, and told,
/// when a file is opened.
fn raise_limits(plan: &Plan) {
    /// Files of a layout that are not flushed yet, standard streams, rings, event descriptors and what the
    /// libraries hold.
    const SPARE: u64 = 64 + layout::BATCH as u64;
    let files: u64 = plan.jobs.iter().map(|job| u64::from(job.target.open_files) + 2).sum();
    let _ = fiord_sys::limits::raise_open_files(files + SPARE);
}

#[cfg(test)]
mod tests;
