//! The thread that reads a trace ahead of the job that replays it (`read_iolog`).
//!
//! The thread turns the events of the trace into steps and feeds them to a bounded ring, so that memory does not depend on
//! the length of the trace.

mod merge;
mod steps;

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fiord_formats::trace::{TraceError, TraceReader};
use fiord_load::source::replay::{ReplayCursor, ReplayFeeder, ReplayStep, replay_ring};
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{Facts, JobPlan, ReplayPlan, TraceInput};
use fiord_stat::replay::{ReplayCount, ReplayCounts};
use fiord_types::Errno;

use crate::error::{JobError, Stage};
pub(crate) use merge::TraceMerges;
pub use merge::write_merged;
use steps::{CannotReplay, TraceSteps};

/// How long the thread sleeps while the ring is full. A fast job needs longer than that for half the ring.
const PAUSE: Duration = Duration::from_micros(500);

/// A trace that is being read.
#[derive(Debug)]
pub(crate) struct ReplayFeed {
    /// Where the worker takes the steps.
    pub cursor: Rc<ReplayCursor>,
    /// What the thread noticed.
    pub state: Arc<FeedState>,
}

/// What the reading thread noticed.
#[derive(Debug, Default)]
pub(crate) struct FeedState {
    inner: Mutex<FeedNotes>,
}

/// What the reading thread noticed so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct FeedNotes {
    /// Why reading ended before the end of the trace.
    pub error: Option<JobError>,
    /// I/Os and lines that were skipped.
    pub counts: ReplayCounts,
    /// The first invalid line that was skipped.
    pub first_invalid: Option<String>,
}

impl FeedState {
    fn update(&self, change: impl FnOnce(&mut FeedNotes)) {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What the thread noticed so far.
    pub(crate) fn notes(&self) -> FeedNotes {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ReplayFeed {
    /// Opens the trace of a job and starts the thread. `None`: the job replays nothing.
    pub(crate) fn start(job: &JobPlan, merges: &TraceMerges) -> Result<Option<Self>, JobError> {
        job.replay.as_ref().map(|plan| Self::of_plan(job, plan, merges)).transpose()
    }

    /// Not inlined: only jobs that replay a trace need its stack.
    #[inline(never)]
    fn of_plan(job: &JobPlan, plan: &ReplayPlan, merges: &TraceMerges) -> Result<Self, JobError> {
        if let TraceInput::Merged(merge) = &plan.input {
            merges.write(merge)?;
        }
        let path = plan.input.path().to_owned();
        let reader = plan
            .open(&|path| SystemFacts.open_trace(path))
            .map_err(|error| read_error(&error).at(&path))?;
        let (feeder, cursor) = replay_ring();
        let state = Arc::new(FeedState::default());
        let (plan, job, shared) = (plan.clone(), job.clone(), Arc::clone(&state));
        let body = move || {
            let feed = Feed { plan: &plan, steps: TraceSteps::new(&job, &plan), feeder };
            feed.run(reader, &shared);
        };
        let thread = thread::Builder::new().name("fiord-replay".into()).spawn(body);
        thread.map_err(|error| {
            let detail = "cannot create the thread that reads the trace. To fix: raise the limit on threads (ulimit \
                          -u, pids.max)";
            JobError::new(Stage::ReadTrace, Errno::of(&error), detail).at(path)
        })?;
        Ok(ReplayFeed { cursor: Rc::new(cursor), state })
    }
}

/// The work of the thread.
struct Feed<'a> {
    plan: &'a ReplayPlan,
    steps: TraceSteps<'a>,
    feeder: ReplayFeeder,
}

/// Why the thread ends early.
enum Stop {
    /// The trace cannot be read.
    Trace(TraceError),
    /// An I/O cannot be replayed.
    Io(CannotReplay),
    /// The job has ended.
    Closed,
}

impl Feed<'_> {
    fn run(mut self, mut reader: Box<dyn TraceReader + Send>, state: &FeedState) {
        let end = self.read(&mut *reader);
        let path = self.plan.input.path();
        let error = match end {
            Ok(()) | Err(Stop::Closed) => None,
            Err(Stop::Trace(error)) => Some(read_error(&error).at(path)),
            Err(Stop::Io(refused)) => Some(refused.error().at(path)),
        };
        state.update(|notes| {
            notes.error = error;
            notes.counts.add(ReplayCount::Skipped, self.steps.skipped());
            let trace = reader.notes();
            notes.counts.add(ReplayCount::Invalid, trace.skipped);
            notes.counts.add(ReplayCount::Backwards, trace.backwards);
            let line = trace.first_skipped.as_ref();
            notes.first_invalid =
                line.map(|line| format!("line {}: {}: {:?}", line.line, line.problem, line.text));
        });
        // The end of the steps is announced only now, when the worker can read why they end.
        drop(self.feeder);
    }

    fn read(&mut self, reader: &mut dyn TraceReader) -> Result<(), Stop> {
        let feeder = &mut self.feeder;
        while let Some(event) = reader.next_event().map_err(Stop::Trace)? {
            self.steps.of(&event, |step| feed(feeder, &step))?;
        }
        Ok(())
    }
}

impl From<CannotReplay> for Stop {
    fn from(refused: CannotReplay) -> Stop {
        Stop::Io(refused)
    }
}

/// Adds a step to the ring. Waits until it has room.
#[inline]
fn feed(feeder: &mut ReplayFeeder, step: &ReplayStep) -> Result<(), Stop> {
    if feeder.try_feed(step) { Ok(()) } else { feed_later(feeder, step) }
}

#[cold]
fn feed_later(feeder: &mut ReplayFeeder, step: &ReplayStep) -> Result<(), Stop> {
    loop {
        // A thread that wakes up for each step would disturb the job.
        while feeder.waiting() > feeder.room() / 2 {
            if feeder.is_closed() {
                return Err(Stop::Closed);
            }
            thread::sleep(PAUSE);
        }
        if feeder.try_feed(step) {
            return Ok(());
        }
    }
}

/// The error of a job whose trace cannot be read.
fn read_error(error: &TraceError) -> JobError {
    let errno = match error {
        TraceError::Read(error) => Errno::of(error),
        _ => Some(Errno::EINVAL),
    };
    let cause = match error {
        TraceError::Read(cause) => format!(": {cause}"),
        _ => String::new(),
    };
    let help = match error {
        TraceError::Line { .. } => {
            ". To fix: correct the line, or skip invalid lines with replay_invalid=skip"
        }
        _ => "",
    };
    JobError::new(Stage::ReadTrace, errno, format!("{error}{cause}{help}"))
}
