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
    Time, Want,
};

/// Stack of a thread that makes one call at a time.
const STACK: usize = 128 << 10;

/// An engine that is handed over with what it is to do.
type Task<E> = (Box<E>, Op);
/// An engine that comes back with the outcome; `None`: it is lost with its thread.
type Return<E> = (Slot, Option<(Box<E>, Outcome)>);

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
    /// A thread has ended, and what it had will not come back.
    gone: bool,
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
            gone: false,
        })
    }

    /// Hands over what was queued. Fails for good once a thread has ended: there is nothing that
    /// could be waited for.
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

    /// The time until then.
    fn left(&self, end: u64) -> Duration {
        Duration::from_nanos(end.saturating_sub(self.clock.now()))
    }

    /// Takes one back.
    fn take(&mut self, (slot, back): Return<E>, done: &mut Completions) -> Result<(), EngineError> {
        let Some((engine, outcome)) = back else {
            self.gone = true;
            return Err(gone());
        };
        self.slots[slot as usize].engine = Some(engine);
        self.in_flight -= 1;
        done.push(slot, outcome);
        Ok(())
    }
}

/// Says so when a thread ends in the middle of a call.
struct Thread<E> {
    slot: Slot,
    back: Sender<Return<E>>,
}

impl<E> Drop for Thread<E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Nobody is there to hear it when the job is over.
            let _ = self.back.send((self.slot, None));
        }
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
        let this = Thread { slot, back };
        for (mut engine, op) in tasks {
            let outcome = carry_out(&mut *engine, &op);
            if this.back.send((slot, Some((engine, outcome)))).is_err() {
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
    EngineError::plain("a thread of io_submit_mode=offload has ended in the middle of its work")
        .help("what went wrong in it is above; io_submit_mode=inline does without such threads")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use fiord_plan::{EnginePlan, Tag};

    use super::*;
    use crate::{MachineClock, OpKind};

    /// Sleeps for as many milliseconds as the op's offset says, and ends with the thread at 0.
    struct Staged(Vec<u8>);

    impl Engine for Staged {
        const ASYNC: bool = false;
        type Clock = MachineClock;
        fn clock(&self) -> MachineClock {
            MachineClock::best()
        }
        fn attach(&mut self, _file: u32, _target: &Target) -> Result<(), EngineError> {
            Ok(())
        }
        fn detach(&mut self, _file: u32) -> Result<(), EngineError> {
            Ok(())
        }
        fn buffer(&mut self, _slot: Slot) -> &mut [u8] {
            &mut self.0
        }
        fn queue(&mut self, _slot: Slot, op: &Op) -> Queued {
            assert!(op.offset > 0, "meant to fail");
            std::thread::sleep(Duration::from_millis(op.offset));
            Queued::Done(Outcome::ok(op.len))
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
        let mut engine = Offload::new(&config, slots, |_| Ok(Staged(vec![0; 512]))).unwrap();
        for (slot, ms) in (0..).zip(times) {
            let (kind, tag) = (OpKind::Read, Tag::PLAIN);
            let op = Op { kind, file: 0, offset: *ms, len: 512, at: 0, tag };
            assert_eq!(engine.queue(slot, &op), Queued::Pending);
        }
        engine
    }

    #[test]
    fn a_thread_that_ends_is_an_error_and_not_waited_for() {
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
    fn a_wait_is_no_longer_for_what_completes_in_it() {
        let mut engine = queued(&[200, 400, 600, 60_000]);
        let mut done = Completions::with_capacity(4);
        let began = Instant::now();
        let timeout = Some(300_000_000);
        engine.reap(Want { min: 4, max: 4, timeout }, &mut done).unwrap();
        assert!((1..=2).contains(&done.len()), "{}", done.len());
        assert!(began.elapsed() >= Duration::from_millis(300));
    }
}
