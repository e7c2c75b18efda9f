//! Engines on libraries that call a function on a thread of their own when a request has ended.
//!
//! | question | module |
//! |---|---|
//! | how does a job connect that may have to stop | `connecting` |
//! | how do completions pass from the threads of the library to the job | `handover` |
//!
//! A [`Client`] makes the requests of one library. The engine keeps the slots, waits, and gives up requests that get no
//! answer. The library may write to the buffers of such requests later: these buffers stay allocated until the process
//! ends, and the engine continues with others.

pub(crate) mod connecting;
mod handover;

use fiord_types::{Errno, FileIndex, Nanos};

pub(crate) use self::handover::Ticket;

use self::handover::Handover;
use crate::buffers::{Buffers, slots_of_buffers};
use crate::endpoint::{LOOK, Requests};
use crate::{
    Attachment, Completions, EndSignal, Engine, EngineConfig, EngineError, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Slot, Time, Want,
};

/// How long a library may take, beyond the timeout of the job, to report that a request got no answer, ns. It looks at
/// its clock once in a while only.
const MARGIN: u64 = 6_000_000_000;

/// The requests of one job to one library.
pub trait Client: Sized {
    /// Whether the library measures the timeout of the job itself. The engine then waits a little longer than the job
    /// says, before it gives the request up.
    const REPORTS_TIMEOUTS: bool;

    /// Loads the library. Connects to nothing.
    ///
    /// # Errors
    ///
    /// The library is missing or lacks a function.
    fn new(config: &EngineConfig) -> Result<Self, EngineError>;

    /// Connects to the server. Returns early without an error if the job must stop.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or refuses.
    fn connect(&mut self) -> Result<(), EngineError>;

    /// Makes a target known. Called before or after [`Client::connect`].
    ///
    /// # Errors
    ///
    /// The target cannot be used.
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError>;

    /// Ends the use of a target. No request to it is in flight. `abandoned`: some were given up, so that it must not wait.
    fn detach(&mut self, file: FileIndex, abandoned: bool);

    /// Makes a request. The library reports its end with [`Ticket::complete`].
    ///
    /// # Errors
    ///
    /// The library does not accept the request. It does not report it then.
    ///
    /// # Safety
    ///
    /// `data` is a buffer of `op.len` bytes, which nothing else uses until the library has reported the end.
    unsafe fn start(&mut self, op: &Op, data: *mut u8, ticket: Ticket) -> Result<(), Errno>;

    /// The outcome of a request, from the result that the library reported.
    ///
    /// # Safety
    ///
    /// `data` is the buffer of the request, which nothing else uses.
    unsafe fn outcome(&self, op: &Op, _data: *mut u8, result: i64) -> Outcome {
        match (result, op.kind) {
            (0.., OpKind::Read) => Outcome::from_raw(result),
            (0.., OpKind::Write) => Outcome::ok(op.len),
            (0.., _) => Outcome::ok(0),
            (error, _) => Outcome::from_raw(error),
        }
    }

    /// Whether a request that failed with this errno, after this time, failed because the server did not answer.
    fn has_given_up(&self, errno: Errno, _waited: Nanos) -> bool {
        errno == Errno::ETIMEDOUT
    }

    /// What a request failed for, and what the user can do. `None`: the text of the errno says it. `request` names the
    /// request.
    fn reason(&self, _request: &str, _errno: Errno) -> Option<String> {
        None
    }

    /// Ends the connection. `abandoned`: requests are in flight that the library may still report. It must not wait for
    /// them.
    fn close(&mut self, abandoned: bool);
}

/// The engine that makes requests through a library.
pub struct Callbacks<C: Client> {
    client: C,
    buffers: Buffers,
    handover: Handover,
    requests: Requests,
    /// The buffer of each slot's request.
    data: Box<[*mut u8]>,
    clock: MachineClock,
    end: EndSignal,
    name: &'static str,
    /// Polls for completions and does not sleep.
    polls: bool,
    /// The library may still use buffers of requests that the engine gave up.
    abandoned: bool,
    /// Number of requests since the last flush.
    queued: u32,
}

// SAFETY: the pointers are into buffers that the value owns, which do not move with it. The client says that it may move.
unsafe impl<C: Client + Send> Send for Callbacks<C> {}

impl<C: Client> Callbacks<C> {
    /// Loads the library and allocates the buffers.
    ///
    /// # Errors
    ///
    /// The library is missing, or the buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(Callbacks {
            client: C::new(config)?,
            buffers: Buffers::new(config)?,
            handover: Handover::new(config.slots),
            requests: Requests::new(config),
            data: vec![std::ptr::null_mut(); config.slots as usize].into_boxed_slice(),
            clock: config.clock,
            end: config.end.clone(),
            name: config.engine.def().name,
            polls: config.engine.polls_endpoint(),
            abandoned: false,
            queued: 0,
        })
    }

    /// Appends up to `max` completions to `done`. Returns their number.
    fn take(&mut self, max: u32, done: &mut Completions) -> u32 {
        let mut taken = 0;
        while taken < max
            && let Some((slot, result)) = self.handover.take()
        {
            let mut outcome = match self.requests.op(slot) {
                // SAFETY: the request of the slot has ended, and its token was not returned yet.
                Some(op) => unsafe { self.client.outcome(op, self.data[slot as usize], result) },
                None => Outcome::err(Errno::EIO),
            };
            if let Err(errno) = outcome.get() {
                outcome = self.note(slot, errno);
            }
            self.requests.end(slot);
            // SAFETY: `queue` began the slot, the library has reported the end of its request, and reports it once.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
            taken += 1;
        }
        taken
    }

    /// Remembers why a request in flight failed. Returns its outcome.
    #[cold]
    fn note(&mut self, slot: Slot, errno: Errno) -> Outcome {
        let waited = self.requests.waited(slot, self.clock.now());
        if self.client.has_given_up(errno, waited) {
            return self.requests.time_out_after(slot, waited);
        }
        if let Some(why) = self.client.reason(&self.requests.name(slot), errno) {
            self.requests.fail(slot, why);
        }
        Outcome::err(errno)
    }

    /// Gives up all requests in flight: `ended` if the user has ended the run, otherwise because they got no answer.
    #[cold]
    fn give_up(&mut self, ended: bool, done: &mut Completions) -> Result<(), EngineError> {
        self.abandoned = true;
        self.handover.leak();
        self.handover = Handover::new(self.data.len() as u32);
        self.buffers.replace_memory()?;
        for slot in 0..self.data.len() as Slot {
            if self.requests.end(slot) {
                let outcome = match ended {
                    true => Outcome::ENDED,
                    false => self.requests.time_out(slot),
                };
                // SAFETY: the request of the slot uses memory that no slot has any longer, and reports to cells that the
                // engine does not look at.
                done.push(unsafe { self.buffers.end(slot) }, outcome);
            }
        }
        Ok(())
    }

    /// Gives up if requests are overdue, or if the user has ended the run. Returns whether it did.
    fn check_patience(&mut self, now: u64, done: &mut Completions) -> Result<bool, EngineError> {
        let stop = self.requests.must_give_up(self.end.is_interrupted(), now);
        let margin = if C::REPORTS_TIMEOUTS { MARGIN } else { 0 };
        let late = self.requests.overdue(now.saturating_sub(margin)).is_some();
        if stop || late {
            self.give_up(stop, done)?;
        }
        Ok(stop || late)
    }

    /// Waits for requests in flight before the connection ends, as long as the job must be patient.
    fn drain(&mut self) {
        let mut done = Completions::with_capacity(self.requests.in_flight());
        self.end.interrupt();
        while self.requests.in_flight() > 0 {
            let all = self.requests.in_flight();
            self.handover.sleep(all, LOOK.as_nanos() as u64);
            self.take(all, &mut done);
            let now = self.clock.now();
            if self.check_patience(now, &mut done).is_err() {
                return;
            }
        }
    }
}

impl<C: Client> Engine for Callbacks<C> {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.client.attach(file, target)
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        self.client.connect()
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.client.detach(file, self.abandoned);
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.requests.explain(slot)
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let Some(data) = self.buffers.data_of(&slot, op) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let index = self.buffers.begin(slot);
        self.data[index as usize] = data;
        self.requests.begin(index, op, self.clock.now());
        // SAFETY: the bytes lie in the buffer of the slot, whose token the engine has until the request has ended.
        match unsafe { self.client.start(op, data, self.handover.ticket(index)) } {
            Ok(()) => {
                self.queued += 1;
                Queued::Pending
            }
            Err(errno) => {
                let outcome = self.note(index, errno);
                self.requests.end(index);
                // SAFETY: the slot was begun above, and the library did not take the request.
                Queued::Done(unsafe { self.buffers.end(index) }, outcome)
            }
        }
    }

    /// The requests are on their way already.
    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(std::mem::take(&mut self.queued))
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.queued = 0;
        let max = want.max.min(self.requests.in_flight());
        let min = want.min.min(max);
        let mut taken = self.take(max, done);
        if taken >= min {
            return Ok(());
        }
        let end = want.timeout.map(|ns| self.clock.now().saturating_add(ns));
        let mut spins = 0u32;
        while taken < min {
            spins = spins.wrapping_add(1);
            if self.polls && !spins.is_multiple_of(SPINS) {
                std::hint::spin_loop();
                taken += self.take(max - taken, done);
                continue;
            }
            let now = self.clock.now();
            if end.is_some_and(|end| now >= end) {
                break;
            }
            if !self.polls {
                let left = end.map_or(u64::MAX, |end| end - now).min(LOOK.as_nanos() as u64);
                self.handover.sleep(min - taken, left);
            }
            let before = taken;
            taken += self.take(max - taken, done);
            if taken == before && self.check_patience(now, done)? {
                break;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        // A job whose user has ended the run does not wait for answers, and does not fail.
        let interrupted = self.end.is_interrupted();
        self.drain();
        let unanswered = self.requests.in_flight() > 0;
        self.client.close(self.abandoned || unanswered);
        if unanswered {
            self.buffers.leak();
            self.handover.leak();
        }
        if (self.abandoned || unanswered) && !interrupted {
            let what = format!(
                "ioengine={}: the server did not answer all requests, so their buffers stay allocated until the process \
                 ends",
                self.name
            );
            return Err(EngineError::plain(what));
        }
        Ok(())
    }
}

/// Busy loops between two looks at the clock.
const SPINS: u32 = 1024;

impl<C: Client> Drop for Callbacks<C> {
    /// Ends the connection first: no thread of the library uses the buffers and cells that are freed then.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.close();
    }
}

impl<C: Client> std::fmt::Debug for Callbacks<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let in_flight = self.requests.in_flight();
        f.debug_struct(self.name).field("in_flight", &in_flight).finish_non_exhaustive()
    }
}
