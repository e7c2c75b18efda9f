//! The end of a job's work: flushing and closing. The time that takes is part of the measured time.

use fiord_engine::{Completions, Engine, Op, OpKind, Outcome, Queued, Tag, Want};
use fiord_types::Dir;

use super::super::core::JobState;
use super::detach;
use crate::control::Phase;
use crate::error::JobError;

/// Flushes as the job asks and closes every file.
pub fn finish<E: Engine>(state: &mut JobState<'_>, engine: &mut E) {
    state.control.set_phase(Phase::Finishing);
    state.check_buffers();
    let load = &state.job.load;
    let writes = load.mix.changes_data();
    let failed = state.error.is_some();
    if !state.opens_all() {
        // The source has closed the files one by one. Files that a stopped run left open are closed
        // when they are dropped.
    } else if writes && load.end_fsync && !failed {
        for file in 0..state.files.count() {
            if !flush_alone(state, engine, file) {
                return;
            }
        }
    }
    if load.end_syncfs && writes && !failed {
        let result = state.files.sync_file_systems();
        state.keep_error(result);
    }
    if state.opens_all() {
        for file in 0..state.files.count() {
            let result = close(state, engine, file);
            state.keep_error(result);
        }
    }
}

/// Closes a file. With `fsync_on_close` its data reach the device first, which takes part of the run
/// time.
pub fn close<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    file: u32,
) -> Result<(), JobError> {
    let writes = state.job.load.mix.has(Dir::Write);
    if state.job.load.fsync_on_close && writes && state.error.is_none() {
        flush_alone(state, engine, file);
    }
    detach(engine, state.files, file)?;
    state.files.close(file)
}

/// An fsync with nothing else in flight. False when it failed. It belongs to the end of the run and not
/// to the load, so it does not count as a sync of the job, as in fio.
fn flush_alone<E: Engine>(state: &mut JobState<'_>, engine: &mut E, file: u32) -> bool {
    let op = Op { kind: OpKind::Fsync, file, offset: 0, len: 0, at: 0, tag: Tag::PLAIN };
    let outcome = match engine.queue(0, &op) {
        Queued::Done(outcome) => outcome,
        Queued::Pending => wait_for_one(engine),
        Queued::Full => Outcome::err(11),
    };
    match outcome.get() {
        Ok(_) => true,
        Err(_) => {
            let explanation = engine.explain(0);
            state.last_flush_failed(explanation, &op, outcome);
            false
        }
    }
}

/// The outcome of the only op in flight.
fn wait_for_one<E: Engine>(engine: &mut E) -> Outcome {
    let mut done = Completions::with_capacity(1);
    loop {
        match engine.reap(Want { min: 1, max: 1, timeout: None }, &mut done) {
            Err(e) => return Outcome::err(if e.errno == 0 { 5 } else { e.errno }),
            Ok(()) => {
                if let Some((_, outcome)) = done.as_slice().first() {
                    return *outcome;
                }
            }
        }
    }
}
