//! `rdma`: accesses the memory of a peer, or exchanges messages with it, through an RDMA adapter.
//!
//! | question | module |
//! |---|---|
//! | which functions of which libraries are called | `abi` |
//! | how does a job find its peer or wait for it | `manager` |
//! | what do the ends say when they have connected and before they close | `message` |
//! | which queues and which memory does a connection have | `link` |
//!
//! The end whose job writes connects, and the end whose job reads waits, as in fio. `verb` of the end that connects
//! says what both do. An op is one work request: a message, or an access to the memory of the peer. The end that only
//! lends its memory has ops too, which end with the connection: it cannot see the accesses.
//!
//! The kernel does not take part in an I/O: the adapter reads and writes the registered buffers, and puts completions
//! into a queue in memory. A wait polls this queue for a moment, and then sleeps until the adapter sends an event.

mod abi;
mod link;
mod manager;
mod message;

use std::rc::Rc;
use std::time::Duration;

use fiord_plan::model::{RdmaPlan, Verb};
use fiord_types::{Errno, FileIndex};

use self::abi::{Piece, RdmaFunctions, ReceiveRequest, SendRequest, WorkCompletion, event, status};
use self::link::{FAREWELL_SENT, Lent, Link, MESSAGE_CAME};
use self::manager::{Manager, PATIENCE, wait_for};
use self::message::{Role, arrived_of, word};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::clock::MachineClock;
use crate::{
    Attachment, Completions, EndSignal, Engine, EngineConfig, EngineError, FileKind, FreeSlot, Op,
    OpKind, Outcome, Queued, Slot, Time, Want, dataless,
};

/// How long a wait polls before it sleeps, in ns.
const POLLING: u64 = 10_000;

/// How long ops may take after the job has been told to stop, in ns.
const GRACE: u64 = 1_000_000_000;

/// How long the device may take to return the requests of a closed connection, in ns.
const FLUSHING: u64 = 5_000_000_000;

/// Maximum number of completions that are taken in one call.
const BATCH: usize = 32;

/// RDMA through librdmacm and libibverbs.
#[derive(Debug)]
pub struct Rdma {
    plan: RdmaPlan,
    /// The address to connect to or to wait at.
    address: String,
    lent: Lent,
    functions: Rc<RdmaFunctions>,
    /// Dropped before `buffers`, which its device uses.
    link: Option<Link>,
    manager: Option<Manager>,
    /// The peers meet from now on as soon as the file is attached.
    met: bool,
    sends: Box<[SendRequest]>,
    receives: Box<[ReceiveRequest]>,
    pieces: Box<[Piece]>,
    in_flight: Box<[bool]>,
    /// Slots whose requests were not posted, in order.
    unsent: Vec<Slot>,
    /// Slots with an op that waits for the end of the connection.
    waiting: Vec<Slot>,
    /// Number of posted requests.
    posted: u32,
    /// Number of messages that were sent or received, modulo 2^32.
    moved: u32,
    /// How many of the posted messages the peer has received, although the device does not know it yet.
    arrived: u32,
    /// Ops that completed without a completion of the device.
    finished: Vec<(Slot, Outcome)>,
    /// Since when no op has completed, in ns; `None`: it does not wait.
    idle_since: Option<u64>,
    /// Why the last op failed.
    said: Option<String>,
    stop: EndSignal,
    clock: MachineClock,
    buffers: Buffers,
}

impl Rdma {
    /// Loads the libraries and allocates the buffers.
    ///
    /// # Errors
    ///
    /// A library is missing or lacks a function, or the buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.rdma().cloned().ok_or_else(EngineError::other_engine)?;
        let functions = Rc::new(RdmaFunctions::load()?);
        let buffers = Buffers::new(config)?;
        let (base, stride) = buffers.region();
        let slots = config.slots as usize;
        let address = config.addresses.first().map(|path| path.to_string_lossy().into_owned());
        let receive = ReceiveRequest {
            id: 0,
            next: std::ptr::null_mut(),
            pieces: std::ptr::null_mut(),
            count: 1,
        };
        Ok(Rdma {
            plan,
            address: address.unwrap_or_default(),
            lent: Lent {
                base,
                stride,
                count: config.slots,
                largest_block: config.buffer_bytes.0 as u32,
            },
            functions,
            link: None,
            manager: None,
            met: false,
            sends: vec![SendRequest::EMPTY; slots].into(),
            receives: vec![receive; slots].into(),
            pieces: vec![Piece::default(); slots].into(),
            in_flight: vec![false; slots].into(),
            unsent: Vec::with_capacity(slots),
            waiting: Vec::with_capacity(slots),
            posted: 0,
            moved: 0,
            arrived: 0,
            finished: Vec::with_capacity(slots),
            idle_since: None,
            said: None,
            stop: config.end.clone(),
            clock: config.clock,
            buffers,
        })
    }

    /// Connects to the peer, or waits for it. Returns without a connection if the job must stop.
    fn meet(&mut self) -> Result<(), EngineError> {
        let Some(manager) = &mut self.manager else { return Ok(()) };
        self.link = match self.plan.waits {
            true => Link::accept(&self.functions, manager, self.lent, &self.stop)?,
            false => {
                let said = match self.plan.verb {
                    Verb::Write => word::WRITE,
                    Verb::Read => word::READ,
                    Verb::Send => word::SEND,
                    Verb::Recv => word::RECV,
                };
                let (address, own) = (self.address.as_str(), self.plan.bind.as_deref());
                Link::connect(&self.functions, manager, address, own, said, self.lent, &self.stop)?
            }
        };
        Ok(())
    }

    /// How many ops have not completed.
    fn pending(&self) -> usize {
        self.posted as usize + self.unsent.len() + self.waiting.len() + self.finished.len()
    }

    /// The outcome of an op that the end of the connection ended.
    #[cold]
    fn after_the_end(&mut self) -> Outcome {
        let expected = self.link.as_ref().is_none_or(|link| link.ended) || self.stop.is_stopped();
        if expected {
            return Outcome::ENDED;
        }
        self.said = Some(
            "the peer closed the connection without announcing its end. To fix: check whether its program failed or \
             was killed"
                .into(),
        );
        Outcome::err(Errno::ECONNRESET)
    }

    /// The connection is over: no request goes out any longer, and the peer uses no memory.
    #[cold]
    fn over(&mut self) {
        if let Some(link) = &mut self.link {
            link.disconnect();
        }
        for slot in std::mem::take(&mut self.waiting) {
            let outcome = self.after_the_end();
            self.finished.push((slot, outcome));
        }
    }

    /// Posts all requests that were not posted, with one call. Returns their number.
    fn post(&mut self) -> u32 {
        let (Some(link), false) = (&self.link, self.unsent.is_empty()) else { return 0 };
        let list = &self.unsent;
        let first = list[0] as usize;
        let receives = link.role == Role::Receives;
        for (at, slot) in list.iter().map(|slot| *slot as usize).enumerate() {
            let next = list.get(at + 1).map(|slot| *slot as usize);
            if receives {
                let next = next.map(|next| &raw mut self.receives[next]);
                self.receives[slot].next = next.unwrap_or(std::ptr::null_mut());
            } else {
                let next = next.map(|next| &raw mut self.sends[next]);
                self.sends[slot].next = next.unwrap_or(std::ptr::null_mut());
            }
        }
        // SAFETY: the list consists of requests of slots in flight, which nothing changes or uses before they have
        // completed.
        let posted = unsafe {
            match receives {
                true => link.post_receive(&raw mut self.receives[first]),
                false => link.post(&raw mut self.sends[first]),
            }
        };
        let count = match posted {
            Ok(()) => list.len(),
            Err((_, bad)) => list.iter().position(|slot| u64::from(*slot) == bad).unwrap_or(0),
        };
        self.posted += count as u32;
        if let Err((errno, _)) = posted {
            self.refused(count, errno);
        }
        self.unsent.clear();
        count as u32
    }

    /// The device did not accept the requests from `at` on.
    #[cold]
    fn refused(&mut self, at: usize, errno: Errno) {
        for slot in self.unsent.split_off(at) {
            let outcome = match self.link.as_ref().is_some_and(|link| link.closed) {
                true => self.after_the_end(),
                false => Outcome::err(errno),
            };
            self.finished.push((slot, outcome));
        }
    }

    /// Takes at most `max` completions. Returns their number.
    fn take(&mut self, max: u32, done: &mut Completions) -> Result<u32, EngineError> {
        let mut taken = 0;
        while taken < max
            && let Some((slot, outcome)) = self.finished.pop()
        {
            self.return_slot(slot, outcome, done);
            taken += 1;
        }
        let mut list = [WorkCompletion::default(); BATCH];
        while taken < max {
            let Some(link) = &self.link else { break };
            let room = ((max - taken) as usize).min(BATCH);
            let count = link.poll(&mut list[..room])?;
            for completion in &list[..count] {
                if let Some((slot, outcome)) = self.completed(completion) {
                    self.posted -= 1;
                    self.return_slot(slot, outcome, done);
                    taken += 1;
                }
            }
            if count < room {
                break;
            }
        }
        if taken > 0 {
            self.idle_since = None;
        }
        Ok(taken)
    }

    fn return_slot(&mut self, slot: Slot, outcome: Outcome, done: &mut Completions) {
        self.in_flight[slot as usize] = false;
        // SAFETY: the slot was queued, and its request has completed, was not posted, or its queue is gone.
        done.push(unsafe { self.buffers.end(slot) }, outcome);
    }

    /// The outcome of a request. `None`: it was not one of an op.
    fn completed(&mut self, completion: &WorkCompletion) -> Option<(Slot, Outcome)> {
        if completion.id >= MESSAGE_CAME {
            match completion.id {
                MESSAGE_CAME if completion.status == status::SUCCESS => self.peer_ended(),
                FAREWELL_SENT => self.over(),
                _ => {}
            }
            return None;
        }
        let slot = completion.id as Slot;
        if !self.in_flight.get(slot as usize).copied().unwrap_or(false) {
            return None;
        }
        let receives = self.link.as_ref().is_some_and(|link| link.role == Role::Receives);
        let outcome = match completion.status {
            status::SUCCESS if receives && completion.bytes == 0 => {
                self.peer_ended();
                Outcome::ENDED
            }
            status::SUCCESS if receives => {
                self.moved = self.moved.wrapping_add(1);
                Outcome::ok(completion.bytes)
            }
            code if code == status::SUCCESS || self.arrived > 0 => {
                self.moved = self.moved.wrapping_add(1);
                self.arrived = self.arrived.saturating_sub(1);
                Outcome::ok(self.pieces[slot as usize].len)
            }
            other => self.failed(other),
        };
        Some((slot, outcome))
    }

    /// The peer said that it is done.
    #[cold]
    fn peer_ended(&mut self) {
        if let Some(link) = &mut self.link {
            link.ended = true;
            if link.role == Role::Sends {
                // The farewell can come before the acknowledgements of messages that arrived before it. Requests complete
                // in the order in which they were posted.
                self.arrived = arrived_of(link.farewell_count(), self.moved, self.posted);
            }
        }
        self.over();
    }

    /// The outcome of a request that failed.
    #[cold]
    fn failed(&mut self, code: u32) -> Outcome {
        let closed = self.link.as_ref().is_some_and(|link| link.closed || link.ended);
        if closed {
            return self.after_the_end();
        }
        let name = self.link.as_ref().map_or_else(String::new, |link| link.name_of(code));
        let (errno, why) = match code {
            // The first request that failed says why.
            status::FLUSHED => return Outcome::err(Errno::ECONNRESET),
            status::TOO_LONG | status::REMOTE_INVALID => (
                Errno::EMSGSIZE,
                ": a message is larger than the rest of the block. To fix: use one `bs` on both ends",
            ),
            // A program that is killed loses its memory before its connection.
            status::REMOTE_ACCESS => (
                Errno::EACCES,
                ": the peer no longer grants access to this memory. To fix: check whether its program failed or was \
                 killed",
            ),
            // Its memory can also go while the adapter answers.
            status::REMOTE_FAILED => (
                Errno::EIO,
                ": the peer could not carry out the request. To fix: check whether its program failed or was killed",
            ),
            status::NO_ANSWER => {
                (Errno::ETIMEDOUT, ". To fix: check whether the peer and the network are alive")
            }
            status::NO_BUFFER => (
                Errno::EAGAIN,
                ": the peer has no buffer ready. To fix: use a larger `iodepth` on the end that receives",
            ),
            _ => (Errno::EIO, ""),
        };
        self.said = Some(format!("the adapter reports `{name}`{why}"));
        Outcome::err(errno)
    }

    /// Sleeps until there may be a completion, at most `left` ns.
    fn sleep(&mut self, left: Option<u64>) -> Result<(), EngineError> {
        let now = self.clock.now();
        let idle_since = *self.idle_since.get_or_insert(now);
        let Some(link) = &self.link else { return Ok(()) };
        let manager_fd = self.manager.as_ref().map_or(-1, Manager::fd);
        let time = left.map_or(PATIENCE, |left| PATIENCE.min(Duration::from_nanos(left)));
        if wait_for(&[link.fd(), manager_fd], time)? {
            link.take_event();
            self.look_at_the_connection()?;
        }
        let idle = self.clock.now().saturating_sub(idle_since);
        let link = self.link.as_ref().map(|link| (link.role, link.closed));
        match link {
            Some((role, false)) if self.stop.is_stopped() => {
                let waits_for_peer = matches!(role, Role::Receives | Role::Lends);
                if waits_for_peer || idle > GRACE {
                    self.leave(idle);
                }
            }
            Some((_, true)) if idle > FLUSHING => self.give_up(),
            _ => {}
        }
        Ok(())
    }

    /// The job must stop while ops wait for the peer: tells the peer, and then closes the connection.
    #[cold]
    fn leave(&mut self, idle: u64) {
        let moved = self.moved;
        let said = self.link.as_mut().is_some_and(|link| link.say_farewell(moved));
        if !said && idle > GRACE {
            self.over();
        }
    }

    /// Handles what happened to the connection.
    fn look_at_the_connection(&mut self) -> Result<(), EngineError> {
        let mut happened = Vec::new();
        if let Some(manager) = &self.manager {
            happened.extend(std::iter::from_fn(|| manager.next_event()));
        }
        for event in happened {
            match event.kind {
                // What the peer said before is in the queue.
                event::DISCONNECTED => {
                    self.hear_the_last();
                    self.over();
                }
                event::DEVICE_REMOVAL => {
                    let what = "the RDMA device was removed while the job used it";
                    return Err(EngineError::plain(what));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Learns whether the peer announced its end before the connection closed: the worker has not taken that
    /// completion yet.
    fn hear_the_last(&mut self) {
        let mut list = [WorkCompletion::default(); BATCH];
        while let Some(link) = &self.link
            && let Ok(count @ 1..) = link.poll(&mut list)
        {
            for completion in &list[..count] {
                if let Some(found) = self.completed(completion) {
                    self.posted -= 1;
                    self.finished.push(found);
                }
            }
        }
    }

    /// The device does not return the requests of a closed connection: destroys the queues.
    #[cold]
    fn give_up(&mut self) {
        if let Some(link) = &mut self.link {
            link.destroy_queues();
        }
        self.posted = 0;
        self.unsent.clear();
        for slot in 0..self.in_flight.len() {
            let waits = |(other, _): &(Slot, Outcome)| *other as usize == slot;
            if self.in_flight[slot] && !self.finished.iter().any(waits) {
                let outcome = self.after_the_end();
                self.finished.push((slot as Slot, outcome));
            }
        }
    }

    /// Ends the connection.
    fn end(&mut self) -> Result<(), EngineError> {
        let Some(mut link) = self.link.take() else { return Ok(()) };
        if link.close(self.moved) {
            return Ok(());
        }
        self.buffers.leak();
        Err(EngineError::leaked("ioengine=rdma", "ibv_dereg_mr", Errno::last()))
    }
}

impl Engine for Rdma {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        let mut manager = Manager::new(self.functions.clone(), self.stop.clone())?;
        if self.plan.waits {
            manager.listen(&self.address)?;
        }
        self.manager = Some(manager);
        if self.met { self.meet() } else { Ok(()) }
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        self.met = true;
        self.meet()
    }

    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        let ended = self.end();
        self.manager = None;
        ended
    }

    slots_of_buffers!();

    fn explain(&mut self, _slot: &FreeSlot) -> Option<String> {
        self.said.take()
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            return Queued::Done(slot, dataless::carry_out(-1, FileKind::Endpoint, op));
        }
        let Some(data) = self.buffers.span(&slot, op.at, op.len) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let (role, key) = match &self.link {
            Some(link) if !link.closed => (link.role, link.key()),
            _ => {
                let outcome = self.after_the_end();
                return Queued::Done(slot, outcome);
            }
        };
        let slot = self.buffers.begin(slot);
        let index = slot as usize;
        self.in_flight[index] = true;
        if role == Role::Lends {
            self.waiting.push(slot);
            return Queued::Pending;
        }
        let address = data.expose_provenance() as u64;
        self.pieces[index] = Piece { address, len: op.len, key };
        let pieces = &raw mut self.pieces[index];
        match role {
            Role::Receives => {
                let request = &mut self.receives[index];
                (request.id, request.pieces) = (slot.into(), pieces);
            }
            _ => {
                let request = &mut self.sends[index];
                (request.id, request.pieces, request.count) = (slot.into(), pieces, 1);
                if let (Role::Accesses { opcode }, Some(link)) = (role, &self.link) {
                    let remote = link.peer[index % link.peer.len()];
                    request.opcode = opcode;
                    (request.remote_address, request.remote_key) = (remote.address, remote.key);
                }
            }
        }
        self.unsent.push(slot);
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(self.post())
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.post();
        let min = want.min.min(want.max);
        let mut taken = self.take(want.max, done)?;
        if taken >= min || self.pending() == 0 {
            return Ok(());
        }
        let began = self.clock.now();
        let mut armed = false;
        while taken < min && self.pending() > 0 {
            let before = taken;
            taken += self.take(want.max - taken, done)?;
            if taken > before {
                continue;
            }
            let now = self.clock.now();
            let left = want.timeout.map(|time| (began + time).saturating_sub(now));
            if left == Some(0) {
                break;
            }
            if now - began < POLLING {
                std::hint::spin_loop();
            } else if armed {
                self.sleep(left)?;
                armed = false;
            } else if let Some(link) = &self.link {
                // A completion may have come since the last look, and before the event was requested.
                link.arm()?;
                armed = true;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.end()
    }
}

impl Drop for Rdma {
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.end();
    }
}
