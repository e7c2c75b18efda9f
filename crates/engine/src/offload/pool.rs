//! The threads of `io_submit_mode=offload`, and what they share with the job.
//!
//! A slot with its engine belongs either to the job or to the threads. The job passes it to the threads in
//! [`ReadySlots`], a thread passes it back in [`EndedSlots`].
//!
//! # When threads sleep and wake
//!
//! A system call that wakes a thread costs as much as several reads from the page cache. Therefore:
//!
//! - A thread without work busy-waits for [`IDLE_SPIN`] before it sleeps, unless another thread does so already.
//! - If calls are short ([`SHORT_CALL`]), the job wakes a thread only when all of them sleep: the thread that is awake
//!   carries out all ops. If an op is not taken within [`STALL`], a call blocks, and the job wakes more threads: one,
//!   then two, then four.
//! - If calls are long, the job wakes a thread for each op.
//! - The job busy-waits for completions before it sleeps, for a time that adapts to how often that succeeds.
//!
//! On one CPU no thread busy-waits. If calls are short, the job then sleeps until all ops have ended, but looks for
//! ended and blocked ops after [`NAP`].

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use fiord_types::Errno;

use super::queues::{EndedSlots, Padded, ReadySlots};
use super::sleep::{EventCount, Sleepers};
use crate::{Engine, EngineError, FreeSlot, MachineClock, Op, Outcome, Queued, Slot, Time};

/// Stack size in bytes of a thread that issues one system call at a time.
const STACK: usize = 128 << 10;
/// How long a thread busy-waits for an op before it sleeps, ns.
const IDLE_SPIN: u64 = 20_000;
/// Calls that take less than this on average are short, ns. Waking a thread takes about as long.
const SHORT_CALL: u32 = 5_000;
/// The job wakes more threads if no op is taken for this long, ns.
pub(super) const STALL: u64 = 10_000;
/// Longest sleep of the job while ops that no thread has taken may be waiting behind a blocked call, ns.
pub(super) const NAP: u64 = 50_000;

/// A slot's engine, the op that a thread carries out with it, and the outcome.
#[repr(align(128))]
pub(super) struct Task<E> {
    /// `None` if the engine was dropped because the job has ended.
    pub(super) engine: Option<E>,
    /// The only slot of the engine. `None` while the engine has it.
    pub(super) own: Option<FreeSlot>,
    pub(super) op: Option<Op>,
    pub(super) outcome: Outcome,
}

/// What the job and its threads share.
pub(super) struct ThreadPool<E> {
    tasks: Box<[UnsafeCell<Task<E>>]>,
    ready: ReadySlots,
    ended: EndedSlots,
    pub(super) threads: Sleepers,
    /// Counts ops that have ended. The job sleeps on it.
    pub(super) completions: EventCount,
    /// A thread busy-waits for an op.
    spins: Padded<AtomicBool>,
    /// Moving average of the duration of a call, ns.
    call: Padded<AtomicU32>,
    /// The job has ended.
    closed: AtomicBool,
    /// A thread has ended in the middle of an op, which will never complete.
    gone: AtomicBool,
    pub(super) clock: MachineClock,
    /// The threads have only one CPU.
    pub(super) one_cpu: bool,
}

// SAFETY: a task is accessed only by the thread that has its slot: the job, or the thread that took the slot from one
// of the queues, which publish the writes of the thread that added it.
unsafe impl<E: Send> Sync for ThreadPool<E> {}

impl<E: Engine<Clock = MachineClock> + Send + 'static> ThreadPool<E> {
    /// Shares these engines, one per slot, with threads that have yet to be started.
    pub(super) fn new(engines: Vec<(E, FreeSlot)>, clock: MachineClock) -> Self {
        let slots = engines.len() as u32;
        let task = |(engine, own)| {
            let (engine, own) = (Some(engine), Some(own));
            UnsafeCell::new(Task { engine, own, op: None, outcome: Outcome::ok(0) })
        };
        ThreadPool {
            tasks: engines.into_iter().map(task).collect(),
            ready: ReadySlots::new(slots),
            ended: EndedSlots::new(slots),
            threads: Sleepers::default(),
            completions: EventCount::default(),
            spins: Padded::default(),
            call: Padded::default(),
            closed: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            clock,
            one_cpu: std::thread::available_parallelism().is_ok_and(|count| count.get() == 1),
        }
    }

    /// The task of a slot.
    ///
    /// # Safety
    ///
    /// The slot is in the caller's hands: it is in no queue, and no other thread has taken it from one.
    #[expect(clippy::mut_from_ref, reason = "the slot is the permission")]
    pub(super) unsafe fn task(&self, slot: Slot) -> &mut Task<E> {
        // SAFETY: the caller has the slot.
        unsafe { &mut *self.tasks[slot as usize].get() }
    }

    /// Starts the thread number `number`.
    ///
    /// # Errors
    ///
    /// The system refuses another thread.
    pub(super) fn start(self: &Arc<Self>, number: u32) -> Result<(), EngineError> {
        let shared = Arc::clone(self);
        let body = move || {
            let thread = Thread(&shared);
            thread.0.work();
        };
        match std::thread::Builder::new().stack_size(STACK).spawn(body) {
            Ok(_) => Ok(()),
            Err(error) => {
                let mut failed = EngineError::plain(format!(
                    "io_submit_mode=offload: cannot start the thread of slot {number}: {error}"
                ));
                failed.errno = Errno::of(&error);
                Err(failed.help(
                    "To fix: lower iodepth, or raise the limit on threads (ulimit -u, pids.max)",
                ))
            }
        }
    }

    /// Passes `count` slots to the threads, and wakes as many threads as are needed for them.
    pub(super) fn submit(&self, slots: impl Iterator<Item = Slot>, count: u32) {
        self.ready.add(slots);
        fiord_sys::interleaving::point();
        let asleep = self.threads.asleep();
        if asleep == 0 {
            return;
        }
        if !self.calls_are_short() {
            let spinning = u32::from(self.spins.0.load(Ordering::SeqCst));
            self.threads.wake(count.saturating_sub(spinning));
        } else if asleep as usize == self.tasks.len() {
            self.threads.wake(1);
        }
    }

    /// Whether calls take less time than waking a thread.
    pub(super) fn calls_are_short(&self) -> bool {
        self.call.0.load(Ordering::Relaxed) < SHORT_CALL
    }

    /// Number of ops that no thread has taken.
    pub(super) fn not_taken(&self) -> u32 {
        self.ready.len()
    }

    /// Number of ops that threads have taken so far.
    pub(super) fn taken(&self) -> usize {
        self.ready.taken()
    }

    /// Appends the slots whose ops have ended to `list`, the newest one first. Returns whether there were any.
    pub(super) fn take_ended(&self, list: &mut Vec<Slot>) -> bool {
        self.ended.take_all(list)
    }

    /// Whether an op never completes, because its thread has ended.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Makes all threads end after their current op, and drops the engines that are in a queue.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.discard();
        self.threads.wake(u32::MAX);
    }

    /// Drops the engines that are in a queue.
    fn discard(&self) {
        let mut slots = Vec::new();
        self.ended.take_all(&mut slots);
        slots.extend(std::iter::from_fn(|| self.ready.take()));
        for slot in slots {
            // SAFETY: the slot was taken from a queue.
            unsafe { self.task(slot) }.engine = None;
        }
    }

    /// Carries out ops until the job has ended.
    fn work(&self) {
        loop {
            fiord_sys::interleaving::point();
            if let Some(slot) = self.ready.take() {
                self.carry_out(slot);
                continue;
            }
            if self.closed.load(Ordering::SeqCst) {
                return self.discard();
            }
            if self.one_cpu || !self.spin() {
                self.threads.sleep(|| self.has_work());
            }
        }
    }

    fn has_work(&self) -> bool {
        self.ready.len() > 0 || self.closed.load(Ordering::SeqCst)
    }

    /// Busy-waits for an op, unless another thread does. Returns whether there is one.
    fn spin(&self) -> bool {
        if self.spins.0.swap(true, Ordering::SeqCst) {
            return false;
        }
        let end = self.clock.now() + IDLE_SPIN;
        let mut found = self.has_work();
        while !found && self.clock.now() < end {
            spin_loop();
            found = self.has_work();
        }
        self.spins.0.store(false, Ordering::SeqCst);
        found
    }

    /// Carries out the op of a slot that this thread has taken.
    fn carry_out(&self, slot: Slot) {
        // SAFETY: the slot was taken from the queue.
        let task = unsafe { self.task(slot) };
        if let (Some(engine), Some(own), Some(op)) =
            (&mut task.engine, task.own.take(), task.op.take())
        {
            let start = self.clock.now();
            let (own, outcome) = match engine.queue(own, &op) {
                Queued::Done(own, outcome) => (own, outcome),
                Queued::Full(own) => (own, Outcome::err(Errno::EAGAIN)),
                Queued::Pending => panic!("the engine does not complete each op as it is queued"),
            };
            self.took(self.clock.now().saturating_sub(start));
            task.own = Some(own);
            task.outcome = outcome;
        }
        self.ended.add(slot);
        self.completions.add();
    }

    /// Updates the average duration of a call. A call that was interrupted counts for a short one: a few of them do
    /// not make calls long.
    fn took(&self, ns: u64) {
        let ns = ns.min(u64::from(SHORT_CALL) * 10) as u32;
        let average = self.call.0.load(Ordering::Relaxed);
        self.call.0.store(average - average / 16 + ns / 16, Ordering::Relaxed);
    }
}

/// A thread that works. Reports to the job if it panics.
struct Thread<'a, E>(&'a ThreadPool<E>);

impl<E> Drop for Thread<'_, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.gone.store(true, Ordering::SeqCst);
            self.0.completions.wake();
        }
    }
}
