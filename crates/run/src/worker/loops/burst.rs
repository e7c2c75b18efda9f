//! Housekeeping of the loops, and the bursts of sampled rounds that follow it. Compiled once for all engines with a
//! clock.

use fiord_engine::{Engine, FreeSlot, Time};
use fiord_stat::shares::LoopStage;

use super::mode::Mode;
use super::slots::LoopState;
use super::{DynBorrowedWorker, StepEnd};

/// Housekeeping of a loop that issues one I/O at a time, then a burst of samples. The slot, and the time
/// after that; `None` when the job must issue no more I/Os.
#[inline(never)]
pub(super) fn keep_house_direct<M: Mode, E: Engine>(
    worker: &mut DynBorrowedWorker<'_, '_, E>,
    mut now: u64,
    mut slot: FreeSlot,
) -> (FreeSlot, Option<u64>) {
    // The next I/O begins after any wait for the writer of the logs.
    if worker.state.log.take_waited() {
        now = worker.clock.now();
    }
    if !worker.state.keep_house(now) {
        return (slot, None);
    }
    if !worker.state.stages.begin_burst(now) {
        return (slot, Some(now));
    }
    let mut more = true;
    while more && !worker.state.housekeeping_urgent(now) {
        let (before, drawn) = (worker.state.completed(), worker.state.drawn);
        worker.state.stages.begin_round(worker.clock.now());
        // A round ends with its I/O, whatever control operations come before it.
        while worker.state.drawn == drawn && !worker.state.housekeeping_urgent(now) {
            let end;
            (slot, end) = worker.step::<M>(slot, &mut now);
            if end == StepEnd::Stop {
                return (slot, None);
            }
        }
        more = end_round::<M, E>(worker, before);
    }
    // The burst may have ended because there is something to do.
    now = worker.clock.now();
    let goes_on = !worker.state.housekeeping_due(now) || worker.state.keep_house(now);
    (slot, goes_on.then_some(now))
}

/// Housekeeping of a loop with many I/Os in flight, then a burst of samples. False when the job must
/// issue no more I/Os.
#[inline(never)]
pub(super) fn keep_house_queued<M: Mode, E: Engine>(
    worker: &mut DynBorrowedWorker<'_, '_, E>,
    at: &mut LoopState,
) -> bool {
    // The next I/Os begin after any wait for the writer of the logs.
    if worker.state.log.take_waited() {
        at.now = worker.clock.now();
    }
    if !worker.state.keep_house(at.now) {
        return false;
    }
    if at.ended || !worker.state.stages.begin_burst(at.now) {
        return true;
    }
    let mut more = true;
    while more && !at.ended && !worker.state.housekeeping_urgent(at.now) {
        let before = worker.state.completed();
        at.now = worker.clock.now();
        worker.state.stages.begin_round(at.now);
        if !worker.round::<M>(at) || worker.state.error.is_some() {
            return false;
        }
        more = end_round::<M, E>(worker, before);
    }
    // The burst may have ended because there is something to do.
    !worker.state.housekeeping_due(at.now) || worker.state.keep_house(at.now)
}

/// Ends a sampled round. `before`: the I/Os that had completed when it began. False at the end of the
/// burst.
fn end_round<M: Mode, E: Engine>(worker: &mut DynBorrowedWorker<'_, '_, E>, before: u64) -> bool {
    // So that only a clock read lies between the last stage and the end.
    worker.end_stage::<M>(LoopStage::Rest);
    // The measurement may have started again in this round.
    let ios = worker.state.completed().saturating_sub(before);
    worker.state.stages.end_round(ios, worker.clock.now())
}
