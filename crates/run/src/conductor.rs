//! The run as a whole: layout, starting jobs, watching them, ending them, the report.
//!
//! One thread does all this and sleeps in between; jobs run on threads of their own and send word
//! when something happens.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use fiord_plan::{JobPlan, Plan};
use fiord_stat::report::Report;
use fiord_sys::clock;

use crate::control::{Phase, StopReason};
use crate::error::JobError;
use crate::events::{Event, Observer};
use crate::jobthread;
use crate::layout::{self, Done, Overseer};
use crate::lock::FileLocks;
use crate::monitor::{Disks, Meter, Outcome, Standing, Watch, estimate};
use crate::report::{self, Frame, JobFacts};
use crate::schedule::Schedule;
use crate::shared::{Finished, Message, Run, Shared};
use crate::space::SpaceWatch;
use crate::steady::Membership;
use crate::thread::ControlGroups;
use crate::timebase::Timebase;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// The longest sleep: signals and disks' news are never later than this.
const TICK: u64 = 50 * MS;
/// How long a running job may take to answer a status request.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long after it was told to end a job may take, before the run ends without it.
const STUCK: u64 = 300 * SECOND;

/// What came from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// End the run well; a second one ends it at once.
    End(i32),
    /// Report how the running jobs stand.
    Status,
}

/// Where interrupts come from.
pub trait Interrupts {
    /// The next one that has come and was not told yet.
    fn next(&mut self) -> Option<Interrupt>;
}

/// None ever comes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Undisturbed;

impl Interrupts for Undisturbed {
    fn next(&mut self) -> Option<Interrupt> {
        None
    }
}

/// How to run, beside what the plan says.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Time between two [`Event::Progress`], ns; `None`: there are none.
    pub progress: Option<u64>,
    /// Time between two [`Event::Status`] (`--status-interval`), ns.
    pub status: Option<u64>,
    /// Where files that the run itself makes go (`--aux-path`).
    pub aux_path: PathBuf,
    /// What the report says about who wrote it.
    pub version: String,
    /// Seconds to add to UTC for local time.
    pub utc_offset_s: i32,
}

/// What a run came to.
#[derive(Debug)]
pub struct RunResult {
    /// Everything that was measured.
    pub report: Report,
    /// The errors that ended jobs, by index in the plan.
    pub errors: Vec<(usize, JobError)>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Jobs that did not end in time and were left behind.
    pub stuck: Vec<usize>,
}

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
        aux_path: options.aux_path.clone(),
        groups: ControlGroups::default(),
        timebase: Timebase::start(&plan),
        locks: FileLocks::of(&plan),
    });
    raise_limits(&plan);
    let (sender, receiver) = channel();
    let mut conductor = Conductor::new(&run, options, observer, interrupts, sender);
    conductor.lay_out();
    conductor.begin();
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
    stuck: bool,
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
    space: SpaceWatch,
    began: u64,
    next_progress: Option<u64>,
    next_status: Option<u64>,
    signal: Option<i32>,
    abandoned: bool,
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
            space: SpaceWatch::new(jobs, now),
            began: now,
            next_progress: None,
            next_status: None,
            signal: None,
            abandoned: false,
        }
    }

    /// Makes the files of the jobs that do not make theirs themselves, one job after another.
    fn lay_out(&mut self) {
        let run = Arc::clone(&self.run);
        for (index, job) in run.plan.jobs.iter().enumerate() {
            if !job.target.layout.serialize || self.books[index].finished.is_some() {
                continue;
            }
            self.hear_interrupts();
            if self.run.is_cancelled() {
                return;
            }
            match layout::prepare(job, &mut InOrder { conductor: self, job: &job.identity.name }) {
                Ok(Done::Complete) => {}
                Ok(Done::Cancelled) => return,
                Err(error) => {
                    let finished = Finished { worker: None, error: Some(error) };
                    self.job_ended(index, Box::new(finished));
                }
            }
        }
    }

    /// The time of the run begins.
    fn begin(&mut self) {
        self.disks = Disks::start(&self.run.plan);
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
        let windows = jobs.filter_map(|(book, job)| book.watch.due(job)).min();
        let delay = self.schedule.next_start().map(|t| self.began.saturating_add(t));
        let due = [windows, delay, self.space.due(), self.next_progress, self.next_status]
            .into_iter()
            .flatten()
            .min();
        due.unwrap_or(u64::MAX).clamp(now, now + TICK)
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
                self.observer.event(&Event::Warning { job: job(index), what: &what });
            }
            // Being woken is all: `let_go` sees who is ready.
            Message::Ready => {}
            Message::Ended { index, result } => self.job_ended(index, result),
        }
    }

    /// Starts the threads of all jobs whose time has come.
    fn start_jobs(&mut self) {
        let elapsed = clock::monotonic().saturating_sub(self.began);
        for index in self.schedule.start(elapsed) {
            if let Err(error) = jobthread::spawn(&self.run, index, &self.sender) {
                self.job_ended(index, Box::new(Finished { worker: None, error: Some(error) }));
            } else if self.run.plan.jobs[index].start.prerun.is_some() {
                self.loners.push(index);
            } else {
                self.gathering.push(index);
            }
        }
    }

    /// Opens the gate for jobs that are set up: together with those they were started with.
    fn let_go(&mut self) {
        let run = Arc::clone(&self.run);
        let set_up = |index: &usize| run.jobs[*index].control.phase() >= Phase::Waiting;
        let mut ready = Vec::new();
        if self.gathering.iter().all(set_up) {
            ready.append(&mut self.gathering);
        }
        self.loners.retain(|index| {
            let ready_now = set_up(index);
            if ready_now {
                ready.push(*index);
            }
            !ready_now
        });
        if ready.is_empty() {
            return;
        }
        ready.retain(|index| run.jobs[*index].control.phase() == Phase::Waiting);
        // One stamp for all, and nothing between two wake-ups: they begin together.
        let now = clock::monotonic();
        let wall = clock::wall();
        for &index in &ready {
            let book = &mut self.books[index];
            book.watch.go(now);
            book.start_ms = start_ms(&run.plan.jobs[index], wall);
        }
        for &index in &ready {
            run.jobs[index].control.go();
        }
        for index in ready {
            self.observer.event(&Event::JobStarted { index });
        }
    }

    /// A job is over: it is told, and those go with it that it takes along.
    fn job_ended(&mut self, index: usize, mut finished: Box<Finished>) {
        let run = Arc::clone(&self.run);
        finished.error = finished.error.take().or(self.books[index].ended_for.take());
        self.gathering.retain(|other| *other != index);
        self.loners.retain(|other| *other != index);
        let error = finished.first_error();
        let failed = error.is_some();
        let pid = run.jobs[index].tid.load(Ordering::Relaxed);
        let job = report::name(&run.plan, index);
        self.observer.event(&Event::JobEnded { index, job, pid, error });
        let along = self.schedule.taken_along(index, failed);
        self.schedule.ended(index);
        self.books[index].finished = Some(finished);
        self.leaves_jury(index);
        let reason = if failed { StopReason::Failure } else { StopReason::ExitAll };
        for other in along {
            self.stop(other, reason);
        }
    }

    /// Ends a job: one that runs is told, one that has not started never will.
    fn stop(&mut self, index: usize, reason: StopReason) {
        if self.books[index].finished.is_some() {
            return;
        }
        self.run.jobs[index].control.stop(reason);
        if self.schedule.is_waiting(index) {
            self.schedule.ended(index);
            self.books[index].finished = Some(Box::default());
            self.leaves_jury(index);
        } else {
            self.books[index].stopped_at.get_or_insert(clock::monotonic());
        }
    }

    /// Those a job is judged with wait for it no longer.
    fn leaves_jury(&self, index: usize) {
        if let Some(steady) = self.run.jobs[index].control.steady() {
            steady.ended();
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
        self.abandoned = true;
        for book in self.books.iter_mut().filter(|book| book.finished.is_none()) {
            book.stuck = true;
        }
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

    fn progress(&mut self, now: u64) {
        let (Some(due), Some(interval)) = (self.next_progress, self.options.progress) else {
            return;
        };
        if now < due {
            return;
        }
        self.next_progress = Some((due + interval).max(now + interval / 2));
        let outcomes: Vec<Outcome> = self.books.iter().map(outcome).collect();
        let run = Arc::clone(&self.run);
        let standings = standings(&run, &self.books, now);
        let progress = self.meter.progress(&run, &standings, &outcomes, (self.began, now));
        self.observer.event(&Event::Progress(&progress));
    }

    /// Reports how everything stands now.
    fn status(&mut self) {
        let run = Arc::clone(&self.run);
        let runs = |(index, book): &(usize, &Book)| {
            book.finished.is_none() && run.jobs[*index].control.phase() >= Phase::Ramp
        };
        let running: Vec<usize> =
            self.books.iter().enumerate().filter(runs).map(|(index, _)| index).collect();
        for &index in &running {
            run.jobs[index].control.request_snapshot();
        }
        let until = clock::monotonic() + PATIENCE.as_nanos() as u64;
        let mut snapshots = Vec::new();
        for index in running {
            let left = Duration::from_nanos(until.saturating_sub(clock::monotonic()));
            snapshots.push((index, run.jobs[index].control.take_snapshot(left)));
        }
        let frame = self.frame();
        let standings = standings(&run, &self.books, clock::monotonic());
        let (eta_s, _) = estimate(&run.plan.jobs, &standings, frame.elapsed);
        let mut jobs = Vec::with_capacity(self.books.len());
        for (index, book) in self.books.iter().enumerate() {
            let facts = JobFacts { eta_s, ..self.facts(index) };
            let at = snapshots.iter_mut().find(|(i, _)| *i == index);
            jobs.push(match (&book.finished, at) {
                (Some(finished), _) => {
                    report::ended(&frame, index, &facts, finished.worker.as_ref())
                }
                (None, at) => report::running(&frame, index, &facts, at.and_then(|s| s.1.take())),
            });
        }
        let report = report::report(&frame, jobs, &self.disks);
        self.observer.event(&Event::Status(&report));
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            plan: &self.run.plan,
            version: &self.options.version,
            elapsed: clock::monotonic().saturating_sub(self.began),
            utc_offset_s: self.options.utc_offset_s,
            timebase: &self.run.timebase,
        }
    }

    fn facts(&self, index: usize) -> JobFacts<'_> {
        let book = &self.books[index];
        JobFacts {
            pid: self.run.jobs[index].tid.load(Ordering::Relaxed),
            start_ms: book.start_ms,
            error: book
                .finished
                .as_ref()
                .and_then(|f| f.first_error())
                .map_or(0, JobError::reported_errno),
            eta_s: None,
            watch: &book.watch,
            steady: self.run.jobs[index].control.steady(),
        }
    }

    /// The end.
    fn result(self) -> RunResult {
        for what in self.run.groups.close() {
            self.observer.event(&Event::Warning { job: "", what: &what });
        }
        let frame = self.frame();
        let mut errors = Vec::new();
        let mut jobs = Vec::with_capacity(self.books.len());
        let mut stuck = Vec::new();
        for (index, book) in self.books.iter().enumerate() {
            let finished = book.finished.as_deref();
            if let Some(error) = finished.and_then(Finished::first_error) {
                errors.push((index, error.clone()));
            }
            if book.stuck {
                stuck.push(index);
            }
            let worker = finished.and_then(|f| f.worker.as_ref());
            jobs.push(report::ended(&frame, index, &self.facts(index), worker));
        }
        let report = report::report(&frame, jobs, &self.disks);
        RunResult { report, errors, signal: self.signal, stuck }
    }
}

/// Sees to it that every file can be open at once. What the system does not give is met, and told,
/// when a file is opened.
fn raise_limits(plan: &Plan) {
    /// Standard streams, rings, event descriptors and what the libraries hold.
    const SPARE: u64 = 64;
    let files: u64 = plan.jobs.iter().map(|job| u64::from(job.target.open_files) + 2).sum();
    let _ = fiord_sys::limits::raise_open_files(files + SPARE);
}

/// What is known of each job at `now`.
fn standings(run: &Run, books: &[Book], now: u64) -> Vec<Standing> {
    let one = |(book, shared): (&Book, &Shared)| {
        let totals = shared.live.totals();
        Standing {
            running: book.watch.went.map(|at| now.saturating_sub(at)),
            ended: book.finished.is_some(),
            bytes: totals.bytes.iter().sum(),
            ios: totals.ios.iter().sum(),
        }
    };
    books.iter().zip(&run.jobs).map(one).collect()
}

fn outcome(book: &Book) -> Outcome {
    match &book.finished {
        None => Outcome::None,
        Some(finished) if finished.first_error().is_some() => Outcome::Failed,
        Some(_) => Outcome::Well,
    }
}

/// The start of a job as `job_start` shows it: `wall`, or by the clock that the job names.
fn start_ms(job: &JobPlan, wall: u64) -> u64 {
    job.record.start_clock_id.and_then(|id| clock::read_id(id).ok()).unwrap_or(wall) / MS
}

/// The layout of one job after another, on the run's own thread.
struct InOrder<'c, 'a> {
    conductor: &'c mut Conductor<'a>,
    job: &'c str,
}

impl Overseer for InOrder<'_, '_> {
    fn cancelled(&mut self) -> bool {
        self.conductor.hear_interrupts();
        self.conductor.run.is_cancelled()
    }
    fn laying_out(&mut self, files: usize, bytes: u64) {
        self.conductor.observer.event(&Event::LayingOut { job: self.job, files, bytes });
    }
    fn warning(&mut self, what: &str) {
        self.conductor.observer.event(&Event::Warning { job: self.job, what });
    }
}

#[cfg(test)]
mod tests;
