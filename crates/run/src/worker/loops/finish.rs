//! The end of a job's work: flushing and closing. The flushes that the job asks for are part of the measured time. Closing
//! is not, as in fio: a server may have much to write when a file is closed.

use fiord_engine::{
    Completions, Engine, FreeSlot, IoAttributes, Op, OpKind, Outcome, Queued, Want,
};
use fiord_stat::engine::RequestCount;
use fiord_types::{Dir, Errno, FileIndex};

use fiord_stat::recorder::Times;

use super::super::core::JobState;
use super::detach;
use crate::error::{JobError, Stage};
use crate::hook::Completed;
use crate::job::control::Phase;
use crate::worker_result::WorkerResult;

/// Flushes as the job asks. `slot`: a slot to flush with.
pub(super) fn finish<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slot: &mut Option<FreeSlot>,
) {
    state.control.set_phase(Phase::Finishing);
    state.check_buffers();
    let load = &state.job.load;
    let writes = load.mix.changes_data();
    let failed = state.error.is_some();
    if !state.opens_all() {
        // The source has closed the files one by one. Files that a stopped run left open are closed
        // when they are dropped.
    } else if writes && load.end_fsync && !failed && !flush_all(state, engine, slot) {
        return;
    }
    if load.end_syncfs && writes && !failed {
        let result = state.files.sync_file_systems();
        state.keep_error(result);
    }
    if state.opens_all() && flushes_on_close(state) {
        flush_all(state, engine, slot);
    }
}

/// Flushes all files, one after the other. False when one of the flushes failed.
fn flush_all<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slot: &mut Option<FreeSlot>,
) -> bool {
    let mut files = (0..state.files.count()).map(FileIndex);
    files.all(|file| flush_alone(state, engine, slot, file))
}

/// Whether a flush precedes the close of a file (`fsync_on_close`).
fn flushes_on_close(state: &JobState<'_>) -> bool {
    let load = &state.job.load;
    load.fsync_on_close && load.mix.has(Dir::Write) && state.error.is_none()
}

/// The result of a job that ended at `now`. Closes its files and its engine.
#[inline(never)]
pub(super) fn result<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    now: u64,
) -> Box<WorkerResult> {
    if state.opens_all() {
        for file in (0..state.files.count()).map(FileIndex) {
            let result = detach(engine, state.files, file).and_then(|()| state.files.close(file));
            state.keep_error(result);
        }
    }
    let closed = engine.close();
    let ended = state.hooks.end(now);
    state.keep_error(ended);
    let mut result = state.result(now);
    result.engine = engine.report(&|file| state.files.path(file).display().to_string());
    result
        .hooks
        .warnings
        .extend(result.engine.flash.into_iter().flat_map(crate::worker::flash::warnings));
    if state.unanswered() > 0 {
        note_unanswered(&mut result, state.unanswered());
    }
    if let Err(error) = closed {
        result.error.get_or_insert(JobError::from(error).during(Stage::End));
    }
    result
}

/// Adds the requests that no server answered. An engine that does not count requests makes one for each I/O.
#[cold]
fn note_unanswered(result: &mut WorkerResult, unanswered: u64) {
    let recorder = &result.recorder;
    let issued: u64 = recorder.dirs.values().map(|dir| dir.issued).sum();
    let sent = issued.saturating_add(recorder.sync_issued);
    let requests = result.engine.requests.get_or_insert_default();
    if requests.get(RequestCount::Sent) == 0 {
        requests.add(RequestCount::Sent, sent);
    }
    requests.add(RequestCount::Unanswered, unanswered);
}

/// Closes a file while the job runs. With `fsync_on_close` its data reach the device first, which takes part of the run
/// time.
pub(super) fn close<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slot: &mut Option<FreeSlot>,
    file: FileIndex,
) -> Result<(), JobError> {
    if flushes_on_close(state) {
        flush_alone(state, engine, slot, file);
    }
    detach(engine, state.files, file)?;
    state.files.close(file)
}

/// An fsync with nothing else in flight. False when it failed. It belongs to the end of the run and not
/// to the load, so it does not count as a sync of the job, as in fio. Hooks see it without times.
pub(super) fn flush_alone<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slot: &mut Option<FreeSlot>,
    file: FileIndex,
) -> bool {
    let op =
        Op { kind: OpKind::Fsync, file, offset: 0, len: 0, at: 0, attributes: IoAttributes::PLAIN };
    let index = slot.as_ref().map(FreeSlot::index);
    if let Some(index) = index {
        state.hooks.issued(index, &op, &mut [], 0);
    }
    let outcome = match slot.take().map(|slot| engine.queue(slot, &op)) {
        Some(Queued::Done(free, outcome)) => {
            *slot = Some(free);
            outcome
        }
        Some(Queued::Pending) => wait_for_one(engine, slot),
        Some(Queued::Full(free)) => {
            *slot = Some(free);
            Outcome::err(Errno::EAGAIN)
        }
        // A slot was lost, and the job has failed.
        None => Outcome::err(Errno::EAGAIN),
    };
    if let Some(index) = index {
        let times = Times::default();
        let completed = match outcome.get() {
            Ok(_) => Completed::ok(0, times, 0),
            Err(_) => Completed::failed(outcome, times, 0),
        };
        state.hooks.completed(index, &[], &completed, &mut state.recorder);
    }
    match outcome.get() {
        Ok(_) => {
            state.hooks.flushed(file);
            true
        }
        Err(_) => {
            let explanation = slot.as_ref().and_then(|slot| engine.explain(slot));
            state.note_unanswered(&op, &Completed::failed(outcome, Times::default(), 0));
            state.last_flush_failed(explanation, &op, outcome);
            false
        }
    }
}

/// The outcome of the only op in flight, whose slot comes back.
fn wait_for_one<E: Engine>(engine: &mut E, slot: &mut Option<FreeSlot>) -> Outcome {
    let mut done = Completions::with_capacity(1);
    loop {
        match engine.reap(Want { min: 1, max: 1, timeout: None }, &mut done) {
            Err(e) => return Outcome::err(e.errno.unwrap_or(Errno::EIO)),
            Ok(()) => {
                if let Some((free, outcome)) = done.pop_front() {
                    *slot = Some(free);
                    return outcome;
                }
            }
        }
    }
}
