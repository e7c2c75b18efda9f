//! `io_submit_mode=offload`: synchronous calls on threads of their own, one a slot, so that the job
//! can issue an I/O when it is due though others have not returned.
//!
//! Each slot has a whole engine with one buffer. It is either at home, where the job fills its
//! buffer, or out on its thread, where its call is made: it is handed over with the op and comes
//! back with the outcome, so nothing is shared.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::{
    Completions, Engine, EngineConfig, EngineError, FileKind, Op, Outcome, Queued, Slot, Target,
    Want,
};

/// Stack of a thread that makes one call at a time.
const STACK: usize = 128 << 10;

/// An engine that is handed over with what it is to do.
type Task<E> = (Box<E>, Op);
/// An engine that comes back.
type Return<E> = (Slot, Box<E>, Outcome);

/// An engine whose calls are made on other threads.
#[derive(Debug)]
pub struct Offload<E: Engine> {
    clock: E::Clock,
    slots: Vec<Unit<E>>,
    returns: Receiver<Return<E>>,
    /// Every file that was attached or detached, in order.
    changes: Vec<(u32, Option<Target>)>,
    unsent: Vec<Slot>,
    in_flight: u32,
}

/// A slot and its thread, which ends when `thread` is dropped.
#[derive(Debug)]
struct Unit<E> {
    /// `None`: it is out.
    engine: Option<Box<E>>,
    thread: Sender<Task<E>>,
    op: Option<Op>,
    /// How many of the changes it knows of.
    known: usize,
    /// Why its last change failed.
    broken: i32,
}

impl<E: Engine + Send + 'static> Offload<E> {
    /// As many threads as there are slots; `make` makes each slot's engine.
    ///
    /// # Errors
    /// When an engine cannot be made, or a thread.
    pub fn new(
        config: &EngineConfig,
        slots: u32,
        make: impl Fn(&EngineConfig) -> Result<E, EngineError>,
    ) -> Result<Self, EngineError> {
        let config = EngineConfig { slots: 1, ..config.clone() };
        let (back, returns) = channel();
        let mut units = Vec::with_capacity(slots as usize);
        let mut clock = None;
        for slot in 0..slots.max(1) {
            let engine = make(&config)?;
            clock.get_or_insert_with(|| engine.clock());
            units.push(Unit {
                engine: Some(Box::new(engine)),
                thread: start(slot, back.clone())?,
                op: None,
                known: 0,
                broken: 0,
            });
        }
        let Some(clock) = clock else {
            return Err(EngineError::plain("iodepth=0 is not possible"));
        };
        Ok(Offload {
            clock,
            slots: units,
            returns,
            changes: Vec::new(),
            unsent: Vec::with_capacity(slots as usize),
            in_flight: 0,
        })
    }

    /// Hands over what was queued.
    fn send(&mut self) -> Result<u32, EngineError> {
        let count = self.unsent.len() as u32;
        for slot in self.unsent.drain(..) {
            let unit = &mut self.slots[slot as usize];
            if let (Some(engine), Some(op)) = (unit.engine.take(), unit.op.take())
                && unit.thread.send((engine, op)).is_err()
            {
                return Err(EngineError::plain("a thread of io_submit_mode=offload has ended"));
            }
        }
        Ok(count)
    }

    /// Takes one back.
    fn take(&mut self, (slot, engine, outcome): Return<E>, done: &mut Completions) {
        self.slots[slot as usize].engine = Some(engine);
        self.in_flight -= 1;
        done.push(slot, outcome);
    }
}

impl<E: Engine> Unit<E> {
    /// Tells the engine of files that came and went while it was out.
    fn catch_up(&mut self, changes: &[(u32, Option<Target>)]) -> Result<(), EngineError> {
        let Some(engine) = &mut self.engine else { return Ok(()) };
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
                self.broken = if error.errno > 0 { error.errno } else { libc::EIO };
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The same file, opened for one slot: the calls of several would move each other's position.
fn with_own_position(target: &Target) -> Result<Target, EngineError> {
    let fd = match &target.fd {
        Some(fd) if matches!(target.kind, FileKind::Regular | FileKind::Block) => fd,
        _ => return Ok(target.clone()),
    };
    let own = fiord_sys::file::reopen(fd.as_fd()).map_err(|error| EngineError {
        what: format!("io_submit_mode=offload opens the file for each I/O in flight: {error}"),
        help: Some("use an engine without a file position: psync, pvsync, pvsync2".into()),
        errno: error.errno,
    })?;
    Ok(Target { fd: Some(Arc::new(own)), ..target.clone() })
}

/// Starts the thread of a slot.
fn start<E: Engine + Send + 'static>(
    slot: Slot,
    back: Sender<Return<E>>,
) -> Result<Sender<Task<E>>, EngineError> {
    let (thread, tasks) = channel::<Task<E>>();
    let body = move || {
        for (mut engine, op) in tasks {
            let outcome = carry_out(&mut *engine, &op);
            if back.send((slot, engine, outcome)).is_err() {
                break;
            }
        }
    };
    match std::thread::Builder::new().stack_size(STACK).spawn(body) {
        Ok(_) => Ok(thread),
        Err(error) => {
            let mut failed = EngineError::plain(format!(
                "io_submit_mode=offload: no thread for I/O {slot}: {error}"
            ));
            failed.errno = error.raw_os_error().unwrap_or(0);
            Err(failed.help("lower iodepth, or raise the limits (ulimit -u, pids.max)"))
        }
    }
}

/// One op, to its end.
fn carry_out<E: Engine>(engine: &mut E, op: &Op) -> Outcome {
    match engine.queue(0, op) {
        Queued::Done(outcome) => return outcome,
        Queued::Full => return Outcome::err(libc::EAGAIN),
        Queued::Pending => {}
    }
    let mut done = Completions::with_capacity(1);
    loop {
        match engine.reap(Want { min: 1, max: 1, timeout: None }, &mut done) {
            Err(error) => {
                return Outcome::err(if error.errno > 0 { error.errno } else { libc::EIO });
            }
            Ok(()) => {
                if let Some((_, outcome)) = done.as_slice().first() {
                    return *outcome;
                }
            }
        }
    }
}

impl<E: Engine + Send + 'static> Engine for Offload<E> {
    const ASYNC: bool = true;
    type Clock = E::Clock;

    fn clock(&self) -> E::Clock {
        self.clock.clone()
    }

    fn attach(&mut self, file: u32, target: &Target) -> Result<(), EngineError> {
        self.changes.push((file, Some(target.clone())));
        self.slots.iter_mut().try_for_each(|unit| unit.catch_up(&self.changes))
    }

    fn detach(&mut self, file: u32) -> Result<(), EngineError> {
        self.changes.push((file, None));
        let result = self.slots.iter_mut().try_for_each(|unit| unit.catch_up(&self.changes));
        if self.slots.iter().all(|unit| unit.known == self.changes.len()) {
            // Nobody has to hear of them any more, and files are not to be kept open.
            self.changes.clear();
            self.slots.iter_mut().for_each(|unit| unit.known = 0);
        }
        result
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        match &mut self.slots[slot as usize].engine {
            Some(engine) => engine.buffer(0),
            None => &mut [],
        }
    }

    fn queue(&mut self, slot: Slot, op: &Op) -> Queued {
        let unit = &mut self.slots[slot as usize];
        if unit.engine.is_none() || unit.op.is_some() {
            return Queued::Full;
        }
        if unit.known < self.changes.len() && unit.catch_up(&self.changes).is_err() {
            return Queued::Done(Outcome::err(unit.broken));
        }
        unit.op = Some(*op);
        self.unsent.push(slot);
        self.in_flight += 1;
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.send()
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.send()?;
        let mut taken = 0;
        while taken < want.max && self.in_flight > 0 {
            let next = match want.timeout {
                _ if taken >= want.min => self.returns.try_recv().ok(),
                Some(ns) => match self.returns.recv_timeout(Duration::from_nanos(ns)) {
                    Ok(next) => Some(next),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                },
                None => Some(self.returns.recv().map_err(|_| gone())?),
            };
            let Some(next) = next else { break };
            self.take(next, done);
            taken += 1;
        }
        Ok(())
    }
}

fn gone() -> EngineError {
    EngineError::plain("the threads of io_submit_mode=offload have ended")
}
