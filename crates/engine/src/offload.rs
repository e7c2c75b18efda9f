//! `io_submit_mode=offload`: synchronous system calls on threads of their own, one per slot, so
//! that the job can issue an I/O when it is due although earlier calls have not returned.
//!
//! Each slot has an engine of its own with one buffer. The engine is either idle, and the job fills
//! its buffer, or busy on the slot's thread, which issues the call. The job sends the engine to the
//! thread together with its slot and the op, and the thread sends them back with the outcome, so the
//! threads share no data. A thread that still runs when the job ends drops its engine itself.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use fiord_types::{Errno, FileIndex};

use crate::slot::SlotPool;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FileKind, FreeSlot, HeldSlot, Op,
    Outcome, Queued, Slot, Time, Want,
};

/// Stack size in bytes of a thread that issues one system call at a time.
const STACK: usize = 128 << 10;

/// An engine that has no op in flight, and its only slot.
type Idle<E> = (Box<E>, FreeSlot);
/// An engine, and the op that the thread is to carry out with it.
type Task<E> = (Idle<E>, Op);
/// The slot of the job, its engine and the outcome; `None` if the thread has ended and the engine is
/// lost.
type Return<E> = (Slot, Option<(Idle<E>, Outcome)>);

/// Engine that issues the calls of a synchronous engine on other threads.
#[derive(Debug)]
pub struct Offload<E: Engine> {
    clock: E::Clock,
    pool: SlotPool,
    slots: Vec<Unit<E>>,
    returns: Receiver<Return<E>>,
    /// Every file that was attached or detached, in order, until all slots know of it.
    changes: Vec<(FileIndex, Option<Attachment>)>,
    unsent: Vec<Slot>,
    in_flight: u32,
    /// A thread has ended in the middle of an op, which will never complete.
    gone: bool,
}

/// A slot and its thread, which ends when `thread` is dropped.
#[derive(Debug)]
struct Unit<E> {
    /// `None` while the thread has the engine.
    engine: Option<Idle<E>>,
    thread: Sender<Task<E>>,
    op: Option<Op>,
    /// Number of entries of `changes` that the engine has seen.
    known: usize,
    /// The errno of the last change that failed.
    broken: Errno,
}

impl<E: Engine + Send + 'static> Offload<E> {
    /// Starts one thread per slot; `make` creates the engine of each slot, which must complete each op
    /// as it is queued.
    ///
    /// # Errors
    ///
    /// An engine cannot be created or a thread cannot be started.
    pub fn new(
        config: &EngineConfig,
        slots: u32,
        make: impl Fn(&EngineConfig) -> Result<E, EngineError>,
    ) -> Result<Self, EngineError> {
        let config = EngineConfig { slots: 1, spare_slots: 0, ..config.clone() };
        let (back, returns) = channel();
        let mut units = Vec::with_capacity(slots as usize);
        let mut clock = None;
        for slot in 0..slots.max(1) {
            let mut engine = make(&config)?;
            clock.get_or_insert_with(|| engine.clock());
            let own = engine.take_slots().pop();
            units.push(Unit {
                engine: own.map(|slot| (Box::new(engine), slot)),
                thread: start(slot, back.clone())?,
                op: None,
                known: 0,
                broken: Errno::EIO,
            });
        }
        let Some(clock) = clock else {
            return Err(EngineError::plain("iodepth=0 is out of range"));
        };
        Ok(Offload {
            clock,
            pool: SlotPool::new(slots.max(1))?,
            slots: units,
            returns,
            changes: Vec::new(),
            unsent: Vec::with_capacity(slots as usize),
            in_flight: 0,
            gone: false,
        })
    }

    /// Sends the queued ops to their threads, and returns their number.
    ///
    /// # Errors
    ///
    /// A thread has ended. All later calls fail too, because the op of that thread never completes.
    fn send(&mut self) -> Result<u32, EngineError> {
        let count = self.unsent.len() as u32;
        for slot in self.unsent.drain(..) {
            let unit = &mut self.slots[slot as usize];
            if let (Some(engine), Some(op)) = (unit.engine.take(), unit.op.take())
                && unit.thread.send((engine, op)).is_err()
            {
                self.gone = true;
            }
        }
        if self.gone { Err(gone()) } else { Ok(count) }
    }

    /// The unit of a slot.
    fn unit(&mut self, slot: &FreeSlot) -> &mut Unit<E> {
        assert!(self.pool.owns(slot), "the slot belongs to another engine");
        &mut self.slots[slot.index() as usize]
    }

    /// Time from now until `end`.
    fn left(&self, end: u64) -> Duration {
        Duration::from_nanos(end.saturating_sub(self.clock.now()))
    }

    /// Takes an engine and the outcome of its op back from a thread.
    fn take(&mut self, (slot, back): Return<E>, done: &mut Completions) -> Result<(), EngineError> {
        let Some((engine, outcome)) = back else {
            self.gone = true;
            return Err(gone());
        };
        self.slots[slot as usize].engine = Some(engine);
        self.in_flight -= 1;
        // SAFETY: `queue` sent the slot to its thread, which has sent it back.
        done.push(unsafe { self.pool.end(slot) }, outcome);
        Ok(())
    }
}

/// Reports to the job if the thread panics.
struct Thread<E> {
    slot: Slot,
    back: Sender<Return<E>>,
}

impl<E> Drop for Thread<E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Sending fails only if the job has ended and no longer listens.
            let _ = self.back.send((self.slot, None));
        }
    }
}

impl<E: Engine> Unit<E> {
    /// Attaches and detaches the files that changed while the thread had the engine.
    fn catch_up(&mut self, changes: &[(FileIndex, Option<Attachment>)]) -> Result<(), EngineError> {
        let Some((engine, _)) = &mut self.engine else { return Ok(()) };
        for (file, target) in &changes[self.known.min(changes.len())..] {
            self.known += 1;
            let result = match target {
                Some(target) if E::POSITIONED => {
                    with_own_position(target).and_then(|own| engine.attach(*file, &own))
                }
                Some(target) => engine.attach(*file, target),
                None => engine.detach(*file),
            };
            if let Err(error) = result {
                self.broken = error.errno.unwrap_or(Errno::EIO);
                return Err(error);
            }
        }
        Ok(())
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

/// Starts the thread of a slot.
fn start<E: Engine + Send + 'static>(
    slot: Slot,
    back: Sender<Return<E>>,
) -> Result<Sender<Task<E>>, EngineError> {
    let (thread, tasks) = channel::<Task<E>>();
    let body = move || {
        let this = Thread { slot, back };
        for ((mut engine, own), op) in tasks {
            let (own, outcome) = match engine.queue(own, &op) {
                Queued::Done(own, outcome) => (own, outcome),
                Queued::Full(own) => (own, Outcome::err(Errno::EAGAIN)),
                Queued::Pending => panic!("the engine does not complete each op as it is queued"),
            };
            if this.back.send((slot, Some(((engine, own), outcome)))).is_err() {
                break;
            }
        }
    };
    match std::thread::Builder::new().stack_size(STACK).spawn(body) {
        Ok(_) => Ok(thread),
        Err(error) => {
            let mut failed = EngineError::plain(format!(
                "io_submit_mode=offload: cannot start the thread of slot {slot}: {error}"
            ));
            failed.errno = Errno::of(&error);
            Err(failed.help(
                "To fix: lower iodepth, or raise the limits on threads (ulimit -u, pids.max)",
            ))
        }
    }
}

impl<E: Engine + Send + 'static> Engine for Offload<E> {
    const ASYNC: bool = true;
    type Clock = E::Clock;

    fn clock(&self) -> E::Clock {
        self.clock.clone()
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.changes.push((file, Some(target.clone())));
        self.slots.iter_mut().try_for_each(|unit| unit.catch_up(&self.changes))
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.changes.push((file, None));
        let result = self.slots.iter_mut().try_for_each(|unit| unit.catch_up(&self.changes));
        if self.slots.iter().all(|unit| unit.known == self.changes.len()) {
            // All engines have seen the changes. Keeping them would keep the files open.
            self.changes.clear();
            self.slots.iter_mut().for_each(|unit| unit.known = 0);
        }
        result
    }

    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.pool.take()
    }

    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        match self.unit(slot) {
            Unit { engine: Some((engine, own)), .. } => engine.buffer(own),
            _ => &mut [],
        }
    }

    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        let unit = self.unit(&slot);
        let Some((mut engine, own)) = unit.engine.take() else {
            unreachable!("the engine of a free slot is idle")
        };
        let held = engine.hold(own);
        // SAFETY: `own` is used only together with `slot`.
        let (held, own) = unsafe { held.exchange(slot) };
        unit.engine = Some((engine, own));
        held
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if !self.pool.owns(&slot) {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        }
        let unit = &mut self.slots[slot.index() as usize];
        if unit.known < self.changes.len() && unit.catch_up(&self.changes).is_err() {
            return Queued::Done(slot, Outcome::err(unit.broken));
        }
        unit.op = Some(*op);
        self.unsent.push(self.pool.begin(slot));
        self.in_flight += 1;
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.send()
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.send()?;
        let end = want.timeout.map(|ns| self.clock.now().saturating_add(ns));
        let mut taken = 0;
        while taken < want.max && self.in_flight > 0 {
            let next = match end {
                _ if taken >= want.min => self.returns.try_recv().ok(),
                Some(end) => match self.returns.recv_timeout(self.left(end)) {
                    Ok(next) => Some(next),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                },
                None => Some(self.returns.recv().map_err(|_| gone())?),
            };
            let Some(next) = next else { break };
            self.take(next, done)?;
            taken += 1;
        }
        Ok(())
    }
}

fn gone() -> EngineError {
    EngineError::plain("a thread of io_submit_mode=offload ended in the middle of an I/O")
        .help("see its message above. To fix: use io_submit_mode=inline, which needs no threads")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use fiord_plan::{EnginePlan, IoAttributes};

    use super::*;
    use crate::{Buffers, MachineClock, OpKind};

    /// Sleeps for as many milliseconds as the op's offset says. Panics at offset 0.
    struct Staged(Buffers);

    impl Engine for Staged {
        const ASYNC: bool = false;
        type Clock = MachineClock;
        fn clock(&self) -> MachineClock {
            MachineClock::best()
        }
        fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
            Ok(())
        }
        fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
            Ok(())
        }
        fn take_slots(&mut self) -> Vec<FreeSlot> {
            self.0.take_slots()
        }
        fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
            self.0.slice(slot)
        }
        fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
            self.0.hold(slot)
        }
        fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
            assert!(op.offset > 0, "meant to fail");
            std::thread::sleep(Duration::from_millis(op.offset));
            Queued::Done(slot, Outcome::ok(op.len))
        }
        fn flush(&mut self) -> Result<u32, EngineError> {
            Ok(0)
        }
        fn reap(&mut self, _want: Want, _done: &mut Completions) -> Result<(), EngineError> {
            Ok(())
        }
    }

    fn queued(times: &[u64]) -> Offload<Staged> {
        let slots = times.len() as u32;
        let config = EngineConfig::plain(EnginePlan::Psync, slots, 512);
        let mut engine =
            Offload::new(&config, slots, |config| Buffers::new(config).map(Staged)).unwrap();
        for (slot, ms) in engine.take_slots().into_iter().zip(times) {
            let (kind, attributes) = (OpKind::Read, IoAttributes::PLAIN);
            let op = Op { kind, file: FileIndex(0), offset: *ms, len: 512, at: 0, attributes };
            assert_eq!(engine.queue(slot, &op), Queued::Pending);
        }
        engine
    }

    #[test]
    fn a_dead_thread_is_an_error_and_does_not_hang_the_job() {
        let mut engine = queued(&[1, 0, 60_000]);
        let mut done = Completions::with_capacity(3);
        let all = Want { min: 3, max: 3, timeout: None };
        let error = engine.reap(all, &mut done).unwrap_err();
        assert!(error.to_string().contains("a thread of io_submit_mode=offload"), "{error}");
        assert!(engine.reap(all, &mut done).is_err(), "it is for good");
        assert!(engine.flush().is_err());
        assert!(done.len() <= 1);
    }

    #[test]
    fn completions_during_a_wait_do_not_extend_its_timeout() {
        let mut engine = queued(&[200, 400, 600, 60_000]);
        let mut done = Completions::with_capacity(4);
        let began = Instant::now();
        let timeout = Some(300_000_000);
        engine.reap(Want { min: 4, max: 4, timeout }, &mut done).unwrap();
        assert!((1..=2).contains(&done.len()), "{}", done.len());
        assert!(began.elapsed() >= Duration::from_millis(300));
    }

    #[test]
    fn a_held_slot_has_the_bytes_of_its_own_engine() {
        let config = EngineConfig::plain(EnginePlan::Psync, 2, 512);
        let make = |config: &EngineConfig| Buffers::new(config).map(Staged);
        let mut engine = Offload::new(&config, 2, make).unwrap();
        let mut free = engine.take_slots();
        for slot in &mut free {
            let byte = slot.index() as u8;
            engine.buffer(slot).fill(byte);
        }
        let held = free.pop().map(|slot| engine.hold(slot)).unwrap();
        assert_eq!((held.index(), held.data()), (1, &[1; 512][..]));
        let mut slot = held.release();
        assert_eq!(engine.buffer(&mut slot), [1; 512]);
    }
}
