//! The inner loops: one for engines that complete each I/O at once, one for engines with many I/Os in
//! flight.
//!
//! | question | module |
//! |---|---|
//! | what is a loop compiled for | `mode.rs` |
//! | one I/O at a time | `direct.rs` |
//! | many I/Os in flight: a round of the loop | `queued.rs` |
//! | what happens with the completions of a round | `complete.rs` |
//! | how free slots are filled: choose the next op, prepare it, submit it | `fill.rs` |
//! | rounds that are sampled for the report's time shares | `burst.rs` |
//! | which slots are free, which ops are in flight | `slots.rs` |
//! | flushing and closing at the end of a job | `finish.rs` |

mod burst;
mod complete;
mod direct;
mod fill;
mod finish;
pub(super) mod mode;
mod queued;
mod slots;

use fiord_engine::{Engine, FreeSlot, Time};
use fiord_load::{Io, Next, Source};
use fiord_plan::EngineAccess;
use fiord_stat::shares::LoopStage;
use fiord_types::FileIndex;

use self::mode::Mode;
use super::core::{JobState, opens_all};
use super::layers::Borrowed;
use crate::error::{JobError, Stage};
use crate::files::Files;
use crate::hook::{Events, Extra};
use crate::worker_result::WorkerResult;

/// The bytes of writes.
pub(super) trait Payload {
    /// Whether the job writes bytes at all.
    fn writes(&self) -> bool;
    /// Fills the buffer of a write. False if that took less time than reading a clock.
    fn fill(&mut self, buffer: &mut [u8], io: &Io) -> bool;
    /// Prepares a slot's buffer before the first I/O.
    fn prepare(&mut self, buffer: &mut [u8]);
}

/// A job instance while it runs.
pub(super) struct Worker<'a, E: Engine, S, P> {
    pub state: JobState<'a>,
    pub engine: E,
    /// The slots that no loop uses now.
    slots: Vec<FreeSlot>,
    source: S,
    payload: P,
    clock: E::Clock,
}

/// Borrowed parts of a [`Worker`]. The code of a round works on these, so that sampled rounds can run it
/// with an engine, a source and a payload behind pointers: they are compiled once.
///
/// Every method on the hot path is inlined into its loop. A method that is not would force the pointers
/// into memory, so rare code is a method of [`JobState`] or a function that takes the parts it needs.
struct BorrowedWorker<'w, 'a, E: Engine, S: ?Sized, P: ?Sized> {
    state: &'w mut JobState<'a>,
    engine: &'w mut E,
    source: &'w mut S,
    payload: &'w mut P,
    clock: &'w E::Clock,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepEnd {
    /// The next I/O follows.
    Next,
    /// Housekeeping may be due.
    Look,
    /// The job must stop.
    Stop,
}

/// [`BorrowedWorker`] as the rare code takes it: compiled once.
type DynBorrowedWorker<'w, 'a, E> = BorrowedWorker<'w, 'a, E, dyn Source + 'w, dyn Payload + 'w>;

impl<'a, E: Engine, S: Source, P: Payload> Worker<'a, E, S, P> {
    /// A worker whose set-up is complete. `slots`: all slots of the engine.
    pub(super) fn new(
        (engine, slots): (E, Vec<FreeSlot>),
        source: S,
        payload: P,
        state: Box<JobState<'a>>,
    ) -> Self {
        let clock = engine.clock();
        // Behind a pointer, the state would cost the loop some instructions for each I/O.
        Worker { state: *state, engine, slots, source, payload, clock }
    }

    #[inline(always)]
    fn borrowed(&mut self) -> BorrowedWorker<'_, 'a, E, S, P> {
        BorrowedWorker {
            state: &mut self.state,
            engine: &mut self.engine,
            source: &mut self.source,
            payload: &mut self.payload,
            clock: &self.clock,
        }
    }

    /// Flushes the files as the job asks.
    pub(super) fn finish(&mut self) {
        let mut engine = Borrowed::of(&mut self.engine);
        finish::finish(&mut self.state, &mut engine, &mut self.slots.pop());
    }

    /// The result of the job.
    pub(super) fn result(mut self) -> Box<WorkerResult> {
        let now = self.clock.now();
        finish::result(&mut self.state, &mut Borrowed::of(&mut self.engine), now)
    }

    /// The result of the job, and its engine.
    #[cfg(test)]
    pub(super) fn result_and_engine(mut self) -> (WorkerResult, E) {
        let now = self.clock.now();
        (*self.state.result(now), self.engine)
    }
}

impl<E: Engine, S: Source + ?Sized, P: Payload + ?Sized> BorrowedWorker<'_, '_, E, S, P> {
    /// Ends a stage of a sampled round.
    #[inline(always)]
    fn end_stage<M: Mode>(&mut self, stage: LoopStage) {
        if M::SAMPLED {
            self.state.stages.end_stage(stage, self.clock.now());
        }
    }

    /// Fills a slot's buffer with the bytes of a write. False if that took no time worth measuring. The I/O comes by
    /// value: one whose address escapes is assembled in memory, and reading it back waits for that.
    #[inline(always)]
    fn fill_buffer<M: Mode>(&mut self, slot: &mut FreeSlot, io: Io, now: u64) -> bool {
        if M::HOOKS && self.state.hooks.want(Events::FILL) {
            let io = Io { ..io };
            self.state.hooks.fill(&io, &mut self.engine.buffer(slot)[..io.len as usize], now);
            return true;
        }
        if !self.payload.writes() {
            return false;
        }
        // A copy, so that only this path has the I/O in memory.
        let io = Io { ..io };
        self.payload.fill(&mut self.engine.buffer(slot)[..io.len as usize], &io) || M::SAMPLED
    }

    /// The next I/O of a job that begins nothing new: it completes what the source has begun.
    #[cold]
    fn owed(&mut self) -> Next {
        loop {
            match self.source.owed() {
                Next::Io(io) if self.state.is_untrimmed(&io) => {}
                next => return next,
            }
        }
    }

    /// Whether a hook may ask for an I/O before the source is asked.
    #[inline(always)]
    fn asks_for_extras(&self) -> bool {
        self.state.hooks.want(Events::EXTRA) && !self.state.winding_down
    }

    /// The time: exact if the loop measures latencies.
    #[inline(always)]
    fn time<M: Mode>(&mut self, last: u64) -> u64 {
        if M::ROUGH_TIME { self.state.rough_time(self.clock, last) } else { self.clock.now() }
    }
}

/// Result of a control operation (open, close, end of a loop).
#[derive(PartialEq, Eq)]
enum ControlOutcome {
    /// Continue.
    Continue,
    /// Continue with the next loop: the source must be restarted.
    Restart,
    /// The work is done.
    End,
    /// The job must stop because of an error.
    Stop,
}

/// Opens every file and attaches it to the engine.
pub(super) fn open_all(engine: &mut impl Engine, files: &mut dyn Files) -> Result<(), JobError> {
    for file in (0..files.count()).map(FileIndex) {
        attach(engine, files, file)?;
    }
    files.ready()
}

fn attach(
    engine: &mut impl Engine,
    files: &mut dyn Files,
    file: FileIndex,
) -> Result<(), JobError> {
    let target = files.open(file)?;
    engine
        .attach(file, &target)
        .map_err(|e| JobError::from(e).during(Stage::Open).at(files.path(file)))
}

fn detach(engine: &mut impl Engine, files: &dyn Files, file: FileIndex) -> Result<(), JobError> {
    engine.detach(file).map_err(|e| JobError::from(e).during(Stage::Close).at(files.path(file)))
}

/// Opens or closes a file, or ends a loop. Nothing that the operation needs idle is in flight. `slot`: a
/// slot to flush with.
#[cold]
#[inline(never)]
fn carry_out_control<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slot: &mut Option<FreeSlot>,
    next: &Next,
) -> ControlOutcome {
    let result = match *next {
        // A hook has opened it. It stays open for the job.
        Next::Open(file) if state.visited == Some(file) => {
            state.visited = None;
            Ok(())
        }
        Next::Open(file) => attach(engine, state.files, file),
        Next::Close(file) => finish::close(state, engine, slot, file),
        Next::Again(file) => begin_again(state, engine, file),
        Next::End => return end_of_loop(state, engine),
        Next::Io(_) | Next::Flush(..) => Ok(()),
    };
    if state.keep_error(result) { ControlOutcome::Continue } else { ControlOutcome::Stop }
}

/// The next I/O that a hook asks for. Carries out the other ops that it asks for before. `slot`: a slot to flush with.
#[inline(never)]
fn extra_io<E: Engine>(
    state: &mut JobState<'_>,
    (engine, clock): (&mut E, &E::Clock),
    slot: &mut Option<FreeSlot>,
    now: &mut u64,
    ending: bool,
) -> Option<Io> {
    while state.error.is_none() {
        let result = match state.hooks.extra(*now, ending)? {
            Extra::Io(io) => return Some(io),
            Extra::Wait if state.control.stopped() => return None,
            Extra::Wait => {
                state.hooks.wait();
                Ok(())
            }
            Extra::Open(file) => attach(engine, state.files, file),
            Extra::Visit(file) if state.files.is_open(file) => Ok(()),
            Extra::Visit(file) => {
                state.visited = Some(file);
                attach(engine, state.files, file)
            }
            Extra::Leave(file) if state.visited != Some(file) => Ok(()),
            Extra::Close(file) | Extra::Leave(file) => {
                state.visited = None;
                detach(engine, state.files, file).and_then(|()| state.files.close(file))
            }
            Extra::Settle(file) => {
                match finish::flush_alone(state, engine, slot, file) {
                    true => drop_pages(state, engine, file),
                    // The error has been kept.
                    false => Ok(()),
                }
            }
        };
        state.keep_error(result);
        *now = clock.now();
    }
    None
}

/// Drops the cached pages of a file that the job has gone through and begins again (`invalidate`).
fn begin_again<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    file: FileIndex,
) -> Result<(), JobError> {
    if state.job.target.unlink_each_loop {
        // The file is new, and its pages were dropped as it was opened.
        return Ok(());
    }
    drop_pages(state, engine, file)
}

/// Drops the cached pages of an open file (`invalidate`).
fn drop_pages<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    file: FileIndex,
) -> Result<(), JobError> {
    // The kernel keeps pages that are mapped.
    let mapped = state.job.engine.def().access == EngineAccess::Mapping;
    if mapped {
        detach(engine, state.files, file)?;
    }
    state.files.forget_pages(file)?;
    if mapped { attach(engine, state.files, file) } else { Ok(()) }
}

/// The source has no more work in this loop.
fn end_of_loop<E: Engine>(state: &mut JobState<'_>, engine: &mut E) -> ControlOutcome {
    if !state.begin_next_loop() {
        return if state.error.is_some() { ControlOutcome::Stop } else { ControlOutcome::End };
    }
    if state.job.target.unlink_each_loop {
        let result = remake_files(state, engine);
        if !state.keep_error(result) {
            return ControlOutcome::Stop;
        }
    }
    ControlOutcome::Restart
}

/// `unlink_each_loop`: removes the files and opens new ones.
fn remake_files<E: Engine>(state: &mut JobState<'_>, engine: &mut E) -> Result<(), JobError> {
    for file in (0..state.files.count()).map(FileIndex) {
        detach(engine, state.files, file)?;
        state.files.close(file)?;
    }
    state.files.next_loop()?;
    if opens_all(state.job) { open_all(engine, state.files) } else { Ok(()) }
}
