//! `io_submit_mode=offload`: synchronous system calls on other threads, as many as there are slots, so that the job
//! can issue an I/O when it is due although earlier calls have not returned.
//!
//! Each slot has an engine of its own with one buffer. The engine is either idle, and the job fills its buffer, or
//! belongs to a thread, which issues the call. A thread that still runs when the job ends drops its engine itself.
//!
//! | question | module |
//! |---|---|
//! | which thread carries out an op, and when is it woken | `pool` |
//! | how do slots pass between the job and the threads | `queues` |
//! | how do threads sleep | `sleep` |

mod pool;
mod queues;
pub(crate) mod sleep;
#[cfg(test)]
mod tests;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use fiord_types::{Errno, FileIndex};

use self::pool::{NAP, STALL, ThreadPool};
use crate::slot::SlotPool;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FileKind, FreeSlot, HeldSlot,
    MachineClock, Op, Outcome, Queued, Slot, Time, Want,
};

/// Maximum time that the job busy-waits for a completion before it sleeps, ns.
const MAX_SPIN: u64 = 20_000;
/// Minimum time that the job busy-waits, ns: the time grows again when it brings completions.
const MIN_SPIN: u64 = 1_000;

/// Engine that issues the calls of a synchronous engine on other threads.
pub struct Offload<E: Engine<Clock = MachineClock> + Send + 'static> {
    shared: Arc<ThreadPool<E>>,
    pool: SlotPool,
    slots: Vec<SlotState>,
    /// Every file that was attached or detached, in order, until all slots know of it.
    changes: Vec<(FileIndex, Option<Attachment>)>,
    unsent: Vec<Slot>,
    /// Slots whose ops have ended, oldest last.
    ended: Vec<Slot>,
    in_flight: u32,
    /// Number of ops that threads have completed and this engine has taken over.
    completed: u64,
    /// How long to busy-wait for a completion, ns.
    spin: u64,
    stall: Stall,
}

/// What the job knows of a slot.
#[derive(Debug, Clone, Copy)]
struct SlotState {
    /// The threads have its engine.
    lent: bool,
    /// Number of entries of `changes` that the engine has seen.
    known: usize,
    /// The errno of the last change that failed.
    broken: Errno,
}

impl<E: Engine<Clock = MachineClock> + Send + 'static> Offload<E> {
    /// Starts one thread per slot; `make` creates the engine of each slot, which must complete each op as it is queued.
    ///
    /// # Errors
    ///
    /// An engine cannot be created or a thread cannot be started.
    pub fn new(
        config: &EngineConfig,
        slots: u32,
        make: &dyn Fn(&EngineConfig) -> Result<E, EngineError>,
    ) -> Result<Self, EngineError> {
        let config = EngineConfig { slots: 1, spare_slots: 0, ..config.clone() };
        let mut engines = Vec::with_capacity(slots as usize);
        let mut clock = None;
        for _ in 0..slots.max(1) {
            let mut engine = make(&config)?;
            clock.get_or_insert_with(|| engine.clock());
            let own = engine.take_slots().pop();
            let own = own.ok_or_else(|| EngineError::plain("iodepth=0 is out of range"))?;
            engines.push((engine, own));
        }
        let slots = engines.len() as u32;
        let shared = Arc::new(ThreadPool::new(engines, clock.unwrap_or(config.clock)));
        let state = SlotState { lent: false, known: 0, broken: Errno::EIO };
        let engine = Offload {
            shared,
            pool: SlotPool::new(slots)?,
            slots: vec![state; slots as usize],
            changes: Vec::new(),
            unsent: Vec::with_capacity(slots as usize),
            ended: Vec::with_capacity(slots as usize),
            in_flight: 0,
            completed: 0,
            spin: MAX_SPIN,
            stall: Stall { since: 0, taken: 0, wake: 1 },
        };
        // If one of them fails, dropping the engine ends the others.
        (0..slots).try_for_each(|number| engine.shared.start(number))?;
        Ok(engine)
    }

    /// The engine of a slot that the job has, and its slot.
    fn idle(&mut self, slot: &FreeSlot) -> Option<(&mut E, &mut FreeSlot)> {
        assert!(self.pool.owns(slot), "the slot belongs to another engine");
        // SAFETY: the slot is free, so no thread has it. The engine is borrowed until the references end.
        let task = unsafe { self.shared.task(slot.index()) };
        task.engine.as_mut().zip(task.own.as_mut())
    }

    /// Attaches and detaches the files that changed while a thread had the slot's engine.
    fn catch_up(&mut self, slot: Slot) -> Result<(), EngineError> {
        let state = &mut self.slots[slot as usize];
        if state.lent {
            return Ok(());
        }
        // SAFETY: no thread has the slot.
        let task = unsafe { self.shared.task(slot) };
        let Some(engine) = &mut task.engine else { return Ok(()) };
        for (file, target) in &self.changes[state.known.min(self.changes.len())..] {
            state.known += 1;
            let result = match target {
                Some(target) if engine.moves_position() => {
                    with_own_position(target).and_then(|own| engine.attach(*file, &own))
                }
                Some(target) => engine.attach(*file, target),
                None => engine.detach(*file),
            };
            if let Err(error) = result {
                state.broken = error.errno.unwrap_or(Errno::EIO);
                return Err(error);
            }
        }
        Ok(())
    }

    fn all_catch_up(&mut self) -> Result<(), EngineError> {
        (0..self.slots.len() as Slot).try_for_each(|slot| self.catch_up(slot))
    }

    /// Appends up to `max` completions to `done`, and returns their number.
    fn take(&mut self, max: u32, done: &mut Completions) -> u32 {
        let mut taken = 0;
        while taken < max {
            if self.ended.is_empty() && !self.shared.take_ended(&mut self.ended) {
                break;
            }
            let Some(slot) = self.ended.pop() else { break };
            self.slots[slot as usize].lent = false;
            // SAFETY: a thread has passed the slot back.
            let outcome = unsafe { self.shared.task(slot) }.outcome;
            self.in_flight -= 1;
            self.completed += 1;
            // SAFETY: `queue` passed the slot to the threads, and a thread has passed it back.
            done.push(unsafe { self.pool.end(slot) }, outcome);
            taken += 1;
        }
        taken
    }

    /// Waits until `want.min` ops have ended, of which `taken` are in `done`.
    fn wait(
        &mut self,
        want: Want,
        mut taken: u32,
        done: &mut Completions,
    ) -> Result<(), EngineError> {
        let clock = self.shared.clock;
        let start = clock.now();
        let end = want.timeout.map(|ns| start.saturating_add(ns));
        let mut rest = start + if self.shared.one_cpu { 0 } else { self.spin };
        // On one CPU, one wait for all ops costs less than a wait for each.
        let mut together = self.shared.one_cpu;
        while taken < want.min && self.in_flight > 0 {
            if self.shared.is_gone() {
                return Err(gone());
            }
            let now = clock.now();
            if end.is_some_and(|end| now >= end) {
                break;
            }
            let blocked = self.stall.look(&self.shared, now);
            if now < rest {
                std::hint::spin_loop();
            } else {
                if rest > start {
                    // Busy-waiting was in vain.
                    self.spin = (self.spin / 2).max(MIN_SPIN);
                    rest = start;
                }
                let short = together && self.shared.calls_are_short();
                let enough = if short { want.max - taken } else { want.min - taken };
                let nap = (blocked || short).then_some(NAP);
                let left = end.map(|end| end - now).into_iter().chain(nap).min();
                self.sleep(enough.min(self.in_flight), left);
                together = false;
            }
            let count = self.take(want.max - taken, done);
            if count > 0 && rest > start {
                self.spin = (self.spin * 2).min(MAX_SPIN);
            }
            taken += count;
        }
        Ok(())
    }

    /// Sleeps until `enough` more ops have ended, or for `left` ns.
    fn sleep(&self, enough: u32, left: Option<u64>) {
        let shared = &self.shared;
        let goal = self.completed + self.ended.len() as u64 + u64::from(enough);
        shared.completions.sleep(goal, left.map(Duration::from_nanos), || shared.is_gone());
    }
}

/// Detects that no thread takes the ops that are ready, because the threads that are awake are in calls that block.
struct Stall {
    /// When an op was taken for the last time.
    since: u64,
    /// Number of ops that had been taken then.
    taken: usize,
    /// How many threads to wake next.
    wake: u32,
}

impl Stall {
    /// Wakes threads if no op was taken for a while. Returns whether ops are ready that a sleeping thread could take.
    fn look<E: Engine<Clock = MachineClock> + Send + 'static>(
        &mut self,
        shared: &ThreadPool<E>,
        now: u64,
    ) -> bool {
        let ready = shared.not_taken();
        if ready == 0 || shared.threads.asleep() == 0 {
            return false;
        }
        let taken = shared.taken();
        if taken != self.taken {
            *self = Stall { since: now, taken, wake: 1 };
        } else if now.saturating_sub(self.since) >= STALL {
            shared.threads.wake(self.wake.min(ready));
            self.wake = self.wake.saturating_mul(2);
            self.since = now;
        }
        true
    }
}

/// Opens the same file again for one slot. The calls of several slots on one open file would move
/// each other's position.
fn with_own_position(target: &Attachment) -> Result<Attachment, EngineError> {
    let fd = match &target.fd {
        Some(fd) if matches!(target.kind, FileKind::Regular | FileKind::Block) => fd,
        _ => return Ok(target.clone()),
    };
    let own = fiord_sys::file::reopen(fd.as_fd()).map_err(|error| EngineError {
        what: format!(
            "io_submit_mode=offload cannot open the file once more for each I/O in flight: {error}"
        ),
        help: Some(
            "To fix: use psync, pvsync or pvsync2, which do not use the file position".into(),
        ),
        errno: Some(error.errno),
    })?;
    Ok(Attachment { fd: Some(Arc::new(own)), ..target.clone() })
}

impl<E: Engine<Clock = MachineClock> + Send + 'static> Engine for Offload<E> {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.shared.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.changes.push((file, Some(target.clone())));
        self.all_catch_up()
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.changes.push((file, None));
        let result = self.all_catch_up();
        if self.slots.iter().all(|state| state.known == self.changes.len()) {
            // All engines have seen the changes. Keeping them would keep the files open.
            self.changes.clear();
            self.slots.iter_mut().for_each(|state| state.known = 0);
        }
        result
    }

    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.pool.take()
    }

    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        match self.idle(slot) {
            Some((engine, own)) => engine.buffer(own),
            None => &mut [],
        }
    }

    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        assert!(self.pool.owns(&slot), "the slot belongs to another engine");
        // SAFETY: the slot is free, so no thread has it.
        let task = unsafe { self.shared.task(slot.index()) };
        let (Some(engine), Some(own)) = (&mut task.engine, task.own.take()) else {
            unreachable!("the engine of a free slot is idle")
        };
        let held = engine.hold(own);
        // SAFETY: `own` is used only together with `slot`.
        let (held, own) = unsafe { held.exchange(slot) };
        task.own = Some(own);
        held
    }

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        let (engine, own) = self.idle(slot)?;
        engine.explain(own)
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if !self.pool.owns(&slot) {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        }
        let index = slot.index();
        if self.slots[index as usize].known < self.changes.len() && self.catch_up(index).is_err() {
            return Queued::Done(slot, Outcome::err(self.slots[index as usize].broken));
        }
        // SAFETY: the slot is free, so no thread has it.
        unsafe { self.shared.task(index) }.op = Some(*op);
        self.slots[index as usize].lent = true;
        self.unsent.push(self.pool.begin(slot));
        self.in_flight += 1;
        Queued::Pending
    }

    /// Passes the queued ops to the threads.
    ///
    /// # Errors
    ///
    /// A thread has ended. All later calls fail too, because the op of that thread never completes.
    fn flush(&mut self) -> Result<u32, EngineError> {
        let count = self.unsent.len() as u32;
        if count > 0 {
            if self.shared.not_taken() == 0 {
                self.stall.since = self.shared.clock.now();
            }
            self.shared.submit(self.unsent.drain(..), count);
        }
        if self.shared.is_gone() { Err(gone()) } else { Ok(count) }
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.flush()?;
        let taken = self.take(want.max, done);
        let want = Want { min: want.min.min(want.max), ..want };
        if taken >= want.min && self.shared.not_taken() > 0 {
            // The job does not wait now, but calls may block.
            self.stall.look(&self.shared, self.shared.clock.now());
        }
        self.wait(want, taken, done)
    }
}

impl<E: Engine<Clock = MachineClock> + Send + 'static> Drop for Offload<E> {
    fn drop(&mut self) {
        for (slot, state) in (0..).zip(&self.slots) {
            if !state.lent || self.unsent.contains(&slot) {
                // SAFETY: no thread has the slot.
                unsafe { self.shared.task(slot) }.engine = None;
            }
        }
        for slot in self.ended.drain(..) {
            // SAFETY: a thread has passed the slot back.
            unsafe { self.shared.task(slot) }.engine = None;
        }
        self.shared.close();
    }
}

impl<E: Engine<Clock = MachineClock> + Send + 'static> std::fmt::Debug for Offload<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offload").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

fn gone() -> EngineError {
    EngineError::plain("a thread of io_submit_mode=offload ended in the middle of an I/O")
        .help("see its message above. To fix: use io_submit_mode=inline, which needs no threads")
}
