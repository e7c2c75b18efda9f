//! Engines on libraries without threads of their own: they send, receive and report answers only within calls that the
//! engine makes.
//!
//! | question | module |
//! |---|---|
//! | how does a library report answers | `inbox` |
//! | when is the connection of a library ready | `connection` |
//!
//! A [`PolledClient`] makes the requests of one library, on one or more sessions with a server. The engine keeps the
//! slots, waits, and ends a session whose server does not answer. A lost session fails the requests in flight. If the job
//! continues (`continue_on_error`), its next request opens the session again; if that fails, the job ends.

pub(crate) mod connection;
pub(crate) mod inbox;

use fiord_types::{Errno, FileIndex};

use self::inbox::{Inbox, LibraryText};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::endpoint::{LOOK as LOOK_TIME, Requests};
use crate::{
    Attachment, Completions, EndSignal, Engine, EngineConfig, EngineError, FreeSlot, MachineClock,
    Op, Outcome, Queued, Slot, Time, Want,
};

/// How long a wait lasts at most before the engine looks at the clock, ns.
pub(crate) const LOOK: u64 = LOOK_TIME.as_nanos() as u64;

/// The result of a request that is over.
#[derive(Debug)]
pub enum CallResult {
    /// The server answered.
    Answered(Outcome),
    /// The request failed, for this reason.
    Failed(Errno, String),
    /// The library found that the session is lost, for this reason.
    SessionLost(String),
}

#[derive(Debug)]
pub struct LostSession {
    /// Index of the session.
    session: usize,
    why: String,
}

impl LostSession {
    /// The session of an index, and why it is lost.
    pub(crate) fn new(session: usize, why: String) -> Self {
        LostSession { session, why }
    }
}

/// The requests of one job to one library.
///
/// A session is an index. Requests to a session that the engine has ended ([`PolledClient::end_session`]) are not made
/// before [`PolledClient::restore`] has opened it again.
pub trait PolledClient: Sized {
    /// What a request needs while the library has it, and its result.
    type Call;

    /// How messages name the other end, such as "server".
    const OTHER_END: &'static str;

    /// Connects to nothing.
    ///
    /// # Errors
    ///
    /// The plan is that of another engine.
    fn new(config: &EngineConfig) -> Result<Self, EngineError>;

    /// A record without a request.
    fn no_call() -> Self::Call;

    /// Sets the result of a request that the library has given up.
    fn give_up(call: &mut Self::Call);

    /// The number of files of the job.
    fn files(&self) -> u32;

    /// The number of sessions that the job can have.
    fn sessions(&self) -> usize;

    fn session_of(file: FileIndex) -> usize;

    /// Connects to the server of a file and opens it.
    ///
    /// # Errors
    ///
    /// The server cannot be reached or refuses, or the job does not fit the target.
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError>;

    /// Ends the use of a file. No request to it is in flight.
    ///
    /// # Errors
    ///
    /// The server does not do what is left to do.
    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError>;

    /// Opens a session again that was lost, and its files.
    ///
    /// # Errors
    ///
    /// See [`PolledClient::attach`].
    fn restore(&mut self, session: usize) -> Result<(), EngineError>;

    /// Ends a session. The library reports the requests that it has on it within the call, or never.
    fn end_session(&mut self, session: usize);

    /// Why no request is made for an op: an errno, and what the message says if that is more.
    fn refusal(&self, op: &Op) -> Option<(Errno, Option<String>)>;

    /// Queues a request in the library, which reports its end with [`inbox::finish`].
    ///
    /// # Errors
    ///
    /// The library does not accept the request, and does not report it.
    ///
    /// # Safety
    ///
    /// `data` is a buffer of `op.len` bytes. It and the record of the slot are not used by anything else until the
    /// library has reported the end.
    unsafe fn start(
        &mut self,
        slot: Slot,
        op: &Op,
        data: *mut u8,
        calls: &Inbox<Self::Call>,
    ) -> Result<(), LibraryText>;

    /// The result of a request that is over. Frees what the library kept for it.
    fn result(&mut self, op: &Op, call: &mut Self::Call) -> CallResult;

    /// Sends what is queued, without waiting. Appends the sessions that are lost.
    fn send(&mut self, lost: &mut Vec<LostSession>);

    /// Waits for the sessions for at most `timeout` ns, sends and receives. Appends the sessions that are lost. Returns
    /// whether a signal ended the wait.
    fn pump(&mut self, timeout: u64, lost: &mut Vec<LostSession>) -> bool;
}

/// The engine that makes requests through a library.
pub struct Polled<C: PolledClient> {
    client: C,
    buffers: Buffers,
    requests: Requests,
    calls: Inbox<C::Call>,
    /// Requests that wait until their session is opened again, with their data.
    parked: Vec<(Slot, Op, *mut u8)>,
    /// Why a session is lost, by session: the errno of its requests in flight, and the reason.
    lost: Box<[Option<(Errno, String)>]>,
    /// Queued and not sent.
    unsent: u32,
    clock: MachineClock,
    stop: EndSignal,
    /// The request whose answer did not come in time, which ended its session.
    overdue: Option<Slot>,
    /// The sessions ended because the job had to stop.
    gave_up: bool,
    name: &'static str,
}

// SAFETY: the pointers are into memory that the value owns, which does not move with it. The client says that it may move.
unsafe impl<C: PolledClient + Send> Send for Polled<C> {}

impl<C: PolledClient> Polled<C> {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let client = C::new(config)?;
        Ok(Polled {
            lost: vec![None; client.sessions()].into_boxed_slice(),
            client,
            buffers: Buffers::new(config)?,
            requests: Requests::new(config),
            calls: Inbox::new(config.slots, C::no_call),
            parked: Vec::new(),
            unsent: 0,
            clock: config.clock,
            stop: config.end.clone(),
            overdue: None,
            gave_up: false,
            name: config.engine.def().name,
        })
    }

    /// The outcome of a request that is over.
    fn outcome(&mut self, slot: Slot, op: &Op) -> Outcome {
        let session = C::session_of(op.file);
        // SAFETY: the request is over.
        let call = unsafe { self.calls.request(slot) };
        match self.client.result(op, call) {
            CallResult::Answered(outcome) => return outcome,
            CallResult::SessionLost(why) => self.lose(session, Errno::ECONNRESET, &why),
            CallResult::Failed(errno, why) if self.lost[session].is_none() => {
                self.requests.fail(slot, why);
                return Outcome::err(errno);
            }
            CallResult::Failed(..) => {}
        }
        if self.gave_up {
            return Outcome::ENDED;
        }
        if self.overdue == Some(slot) {
            self.overdue = None;
            return self.requests.time_out(slot);
        }
        let lost = self.lost[session].clone();
        let (errno, why) =
            lost.unwrap_or_else(|| (Errno::ECONNRESET, "the session is over".to_owned()));
        self.requests.fail(slot, why);
        Outcome::err(errno)
    }

    /// Moves completions to `done`, up to `max`. Returns their number.
    fn deliver(&mut self, max: u32, done: &mut Completions) -> u32 {
        let mut count = 0;
        while count < max
            && let Some(slot) = self.calls.take()
        {
            let outcome = match self.requests.op(slot).copied() {
                Some(op) => self.outcome(slot, &op),
                None => Outcome::err(Errno::EIO),
            };
            self.requests.end(slot);
            // SAFETY: the library has completed the request of the slot, and each request is taken once.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
            count += 1;
        }
        count
    }

    /// Ends a session. Its requests in flight complete with this errno.
    #[cold]
    fn lose(&mut self, session: usize, errno: Errno, why: &str) {
        if self.lost[session].is_none() {
            let why = format!(
                "the session is over: {why}. To fix: check the {0} and its log; with `continue_on_error`, the job connects \
                 again",
                C::OTHER_END
            );
            self.lost[session] = Some((errno, why));
            self.client.end_session(session);
        }
        self.parked.retain(|(_, op, _)| C::session_of(op.file) != session);
        let slots: Vec<Slot> = self.requests.slots().collect();
        for slot in slots {
            if self.requests.op(slot).is_some_and(|op| C::session_of(op.file) == session) {
                self.calls.end(slot, C::give_up);
            }
        }
    }

    fn lose_all(&mut self, lost: Vec<LostSession>) {
        for LostSession { session, why } in lost {
            self.lose(session, Errno::ECONNRESET, &why);
        }
    }

    /// Ends a session whose request is overdue, or all if the user has ended the run and the servers do not answer.
    fn look(&mut self, now: u64) {
        if let Some(slot) = self.requests.overdue(now) {
            self.overdue = Some(slot);
            let session = self.requests.op(slot).map_or(0, |op| C::session_of(op.file));
            let name = self.requests.name(slot);
            // This request completes first, because it tells what happened.
            self.calls.end(slot, C::give_up);
            let why = format!("the {} did not answer {name} in time", C::OTHER_END);
            self.lose(session, Errno::ETIMEDOUT, &why);
        } else if self.requests.must_give_up(self.stop.is_interrupted(), now) {
            self.end_all();
        }
    }

    /// Ends all sessions because the job must stop.
    #[cold]
    fn end_all(&mut self) {
        self.gave_up = true;
        for session in 0..self.lost.len() {
            self.lose(session, Errno::ECANCELED, "the job had to stop");
        }
    }

    /// Opens the lost sessions again that requests wait for, and makes these requests.
    #[cold]
    fn restore(&mut self) -> Result<(), EngineError> {
        while let Some((_, op, _)) = self.parked.first() {
            let session = C::session_of(op.file);
            if self.lost[session].is_some() {
                match self.client.restore(session) {
                    Ok(()) => self.lost[session] = None,
                    Err(_) if self.stop.is_stopped() => {
                        self.end_all();
                        return Ok(());
                    }
                    Err(error) => {
                        let parked = std::mem::take(&mut self.parked);
                        parked.iter().for_each(|(slot, ..)| self.calls.end(*slot, C::give_up));
                        return Err(error);
                    }
                }
            }
            let (slot, op, data) = self.parked.remove(0);
            // SAFETY: the data are those of the slot, whose token the engine has until the request has ended.
            let started = unsafe { self.client.start(slot, &op, data, &self.calls) };
            if let Err(LibraryText(why)) = started {
                // Not in the hands of the library, but to be completed.
                self.calls.begin(slot);
                self.lose(session, Errno::ECONNRESET, &why);
            }
        }
        Ok(())
    }

    /// Waits for the sessions for at most `timeout` ns. Returns whether a signal ended the wait.
    fn pump(&mut self, timeout: u64) -> bool {
        let mut lost = Vec::new();
        let interrupted = self.client.pump(timeout, &mut lost);
        self.lose_all(lost);
        interrupted
    }

    /// Waits until the requests in flight are over, or their sessions are.
    fn drain(&mut self) {
        let parked = std::mem::take(&mut self.parked);
        parked.iter().for_each(|(slot, ..)| self.calls.end(*slot, C::give_up));
        let mut done = Completions::with_capacity(self.requests.in_flight());
        while self.requests.in_flight() > 0 {
            if self.calls.ready() == 0 {
                self.pump(LOOK);
                self.look(self.clock.now());
            }
            let _ = self.deliver(u32::MAX, &mut done);
        }
    }
}

impl<C: PolledClient> Engine for Polled<C> {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.client.attach(file, target)
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.client.detach(file)
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.requests.explain(slot)
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let Some(data) = self.buffers.data_of(&slot, op) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let index = slot.index();
        if let Some((errno, why)) = self.client.refusal(op) {
            if let Some(why) = why {
                self.requests.refuse(index, op, &why);
            }
            return Queued::Done(slot, Outcome::err(errno));
        }
        if self.lost[C::session_of(op.file)].is_some() {
            self.calls.begin(index);
            self.parked.push((index, *op, data));
        } else {
            // SAFETY: the data are those of the slot, whose token the engine has until the request has ended.
            let started = unsafe { self.client.start(index, op, data, &self.calls) };
            if let Err(LibraryText(why)) = started {
                self.requests.refuse(index, op, &why);
                return Queued::Done(slot, Outcome::err(Errno::EIO));
            }
        }
        let slot = self.buffers.begin(slot);
        self.requests.begin(slot, op, self.clock.now());
        self.unsent += 1;
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        if !self.parked.is_empty() {
            self.restore()?;
        }
        let sent = std::mem::take(&mut self.unsent);
        if sent > 0 {
            let mut lost = Vec::new();
            self.client.send(&mut lost);
            self.lose_all(lost);
        }
        Ok(sent)
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.flush()?;
        let max = want.max.min(self.requests.in_flight());
        let min = want.min.min(max);
        let mut taken = self.deliver(max, done);
        let mut now = self.clock.now();
        let end = want.timeout.map(|ns| now.saturating_add(ns));
        loop {
            if taken >= max || (taken >= min && min > 0) {
                return Ok(());
            }
            let left = end.map_or(u64::MAX, |end| end.saturating_sub(now));
            let interrupted = self.pump(if min == 0 { 0 } else { left.min(LOOK) });
            taken += self.deliver(max - taken, done);
            if taken >= min || interrupted {
                return Ok(());
            }
            now = self.clock.now();
            self.look(now);
            if left == 0 && self.calls.ready() == 0 {
                return Ok(());
            }
        }
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.drain();
        let mut closed = Ok(());
        for file in 0..self.client.files() {
            closed = closed.and(self.client.detach(FileIndex(file)));
        }
        self.end_sessions();
        closed
    }
}

impl<C: PolledClient> Polled<C> {
    /// Ends the sessions before the memory is freed that the library uses.
    fn end_sessions(&mut self) {
        for session in 0..self.lost.len() {
            self.client.end_session(session);
        }
    }
}

impl<C: PolledClient> Drop for Polled<C> {
    fn drop(&mut self) {
        self.end_sessions();
    }
}

impl<C: PolledClient> std::fmt::Debug for Polled<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let in_flight = self.requests.in_flight();
        f.debug_struct(self.name).field("in_flight", &in_flight).finish_non_exhaustive()
    }
}
