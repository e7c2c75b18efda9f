//! `http`: objects on a WebDAV, S3 or Swift server. A read is a GET, a HEAD or a list, a write a PUT, a trim a DELETE.
//!
//! | question | module |
//! |---|---|
//! | which request does an op become | `request` |
//! | when are connections made before the run | `connect` |
//! | which requests upload an object in parts | `upload` |
//! | what happens on one connection | `lane` |
//! | when is a request sent again | `retries` |
//! | where is the server | `server` |
//! | whether a job uses TLS | `tls` |
//! | why did a request fail, and what helps | `failure` |
//! | what does `http_verbose` print | `verbose` |
//!
//! Each slot has a connection of its own to each server of the job, so `iodepth` is the number of requests in flight.
//! Connections are made before the run, and stay. If a server closes a connection instead of answering the second or a
//! later request on it, the engine sends that request once more on a new connection, as RFC 9112 (section 9.3.1) expects
//! of clients. With `http_retries`, requests whose connection failed or whose answer is 429 or 503 are sent again after a
//! pause. Reads, writes and trims are idempotent; of an upload in parts, each request is sent again by itself. Otherwise,
//! only requests to remove an upload are.

mod connect;
mod failure;
mod lane;
mod request;
mod retries;
mod server;
mod tls;
mod upload;
mod verbose;

use std::time::Duration;

use fiord_plan::{HttpPlan, RetryLimit};
use fiord_stat::engine::{EngineReport, RequestCount, RequestCounts};
use fiord_sys::poll::{self, PollEntry};
use fiord_types::{Errno, FileIndex, Nanos};

use self::failure::RequestFailure;
use self::lane::{LaneContext, LaneData, RequestLane};
use self::request::{ObjectCall, ObjectRequest, RequestWriter};
use self::retries::RetryPauses;
use self::server::Server;
use self::upload::{Upload, UploadStep};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::endpoint::{LOOK, Requests, shown};
use crate::tls::TlsClient;
use crate::{
    Attachment, Completions, EndSignal, Engine, EngineConfig, EngineError, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Slot, Time, Want,
};

/// The `http` engine.
pub struct Http {
    plan: HttpPlan,
    writer: RequestWriter,
    servers: Vec<Server>,
    tls: Option<TlsClient>,
    /// The lanes of slot `s` begin at index `s` times the number of servers.
    lanes: Vec<RequestLane>,
    /// The server of each slot's request.
    chosen: Box<[usize]>,
    /// The server of the next request.
    turn: usize,
    requests: Requests,
    /// The data of each slot's op.
    data: Box<[LaneData]>,
    uploads: Box<[Upload]>,
    /// When the engine first noticed that the job must stop, ns.
    stopped: Option<u64>,
    /// When the engine gave up its requests, because the job must stop, ns.
    gave_up: Option<u64>,
    /// Whether each slot's request was sent again on a new connection.
    again: Box<[bool]>,
    pauses: RetryPauses,
    /// When each slot's request was handed over, ns. `None` after its answer has begun.
    started: Box<[Option<u64>]>,
    counts: RequestCounts,
    said: Box<[Option<String>]>,
    unsent: Vec<Slot>,
    flying: Vec<Slot>,
    finished: Vec<(Slot, Outcome)>,
    entries: Vec<PollEntry>,
    /// When the engine last looked for requests without an answer, ns.
    looked: u64,
    buffers: Buffers,
    clock: MachineClock,
    end: EndSignal,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Http {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated, or TLS cannot be set up.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.http().ok_or_else(EngineError::other_engine)?;
        let slots = config.slots as usize;
        let servers: Vec<_> = plan.servers.iter().cloned().map(Server::new).collect();
        Ok(Http {
            plan: plan.clone(),
            writer: RequestWriter::new(plan, &config.addresses),
            tls: tls::client(plan)?,
            lanes: (0..slots * servers.len()).map(|_| RequestLane::new()).collect(),
            servers,
            chosen: vec![0; slots].into(),
            turn: 0,
            requests: Requests::new(config),
            data: vec![LaneData::NONE; slots].into(),
            uploads: (0..slots).map(|_| Upload::default()).collect(),
            stopped: None,
            gave_up: None,
            again: vec![false; slots].into(),
            pauses: RetryPauses::new(slots, plan.retries),
            started: vec![None; slots].into(),
            counts: RequestCounts::with_room(),
            said: vec![None; slots].into(),
            unsent: Vec::with_capacity(slots),
            flying: Vec::with_capacity(slots),
            finished: Vec::with_capacity(slots),
            entries: Vec::with_capacity(slots),
            looked: 0,
            buffers: Buffers::new(config)?,
            clock: config.clock,
            end: config.end.clone(),
        })
    }

    /// The lane of a slot's request.
    fn lane(&self, slot: Slot) -> usize {
        slot as usize * self.servers.len() + self.chosen[slot as usize]
    }

    /// Continues with the connection or the request of a lane.
    fn advance(&mut self, index: usize, wait: bool) -> Result<Option<u64>, RequestFailure> {
        let context = LaneContext {
            server: &self.servers[index % self.servers.len()],
            tls: self.tls.as_ref(),
            mode: self.plan.mode,
            wait,
            verbose: self.plan.verbose,
            clock: self.clock,
        };
        self.lanes[index].advance(&context)
    }

    /// Sends the requests that were queued.
    fn submit(&mut self) -> u32 {
        if self.unsent.is_empty() {
            return 0;
        }
        let unsent = std::mem::take(&mut self.unsent);
        for slot in &unsent {
            self.flying.push(*slot);
            if self.go_on(*slot, false) {
                self.flying.pop();
            }
        }
        let count = unsent.len() as u32;
        self.unsent = unsent;
        self.unsent.clear();
        count
    }

    /// Begins the request of a slot's op, or the next one of its upload.
    fn begin_request(&mut self, slot: Slot, now: u64) {
        let index = slot as usize;
        let Some(op) = self.requests.op(slot).copied() else { return };
        self.again[index] = false;
        self.pauses.reset(slot);
        self.requests.begin_again(slot, now);
        self.started[index] = Some(now);
        self.upload_request_began(slot, now);
        let (object, upload) = (self.data[index], &self.uploads[index]);
        let (call, query, data) = match upload.step {
            Some(step) => (step.call(), upload.query.as_str(), upload.part(object)),
            None => (self.writer.call(&op), "", object),
        };
        let text = upload.step.map_or(&[][..], |_| upload.text.as_bytes());
        let body = match call {
            // SAFETY: the token of the slot is with the engine, and nothing writes to the buffer of a write.
            ObjectCall::Put | ObjectCall::PutPart => unsafe { data.bytes() },
            _ => text,
        };
        let host = &self.servers[self.chosen[index]].named.host;
        let lane = &mut self.lanes[index * self.servers.len() + self.chosen[index]];
        self.counts.add(RequestCount::Sent, 1);
        self.counts.add(RequestCount::Reconnects, u64::from(!lane.has_connection()));
        lane.head.clear();
        self.writer.write(ObjectRequest { op: &op, call, query, body }, host, &mut lane.head);
        lane.head.extend_from_slice(text);
        let last = (op.offset + u64::from(op.len)).saturating_sub(1);
        let range = self.writer.is_range(&op).then_some((op.offset, last));
        // SAFETY: the token of the slot is with the engine until the request has ended or its lane is closed.
        unsafe { lane.begin(call, data, range) };
    }

    /// Continues with the request of a slot, and with those that follow it. Returns whether the op has ended.
    fn go_on(&mut self, slot: Slot, mut wait: bool) -> bool {
        loop {
            if let Some(ended) = self.go_on_once(slot, wait) {
                return ended;
            }
            wait = false;
        }
    }

    /// Continues with the request of a slot. Returns whether the op has ended. `None`: its next request has begun.
    fn go_on_once(&mut self, slot: Slot, wait: bool) -> Option<bool> {
        let index = self.lane(slot);
        let advanced = self.advance(index, wait);
        if let (Some(began), Some(start)) = (self.lanes[index].begun, self.started[slot as usize]) {
            self.counts.began_after(Nanos(began.saturating_sub(start)));
            self.started[slot as usize] = None;
        }
        if let Some(time) = self.lanes[index].handshake.take() {
            self.counts.add(RequestCount::Handshakes, 1);
            self.counts.add(RequestCount::HandshakeNanos, time.0);
        }
        match advanced {
            Ok(None) => Some(false),
            Ok(Some(names)) => {
                if let Some(step) = self.uploads[slot as usize].step {
                    return match self.next_of_upload(slot, step) {
                        Ok(None) => None,
                        Ok(Some(outcome)) => {
                            self.finish(slot, outcome);
                            Some(true)
                        }
                        Err(failure) => Some(self.failed(slot, failure, wait)),
                    };
                }
                self.counts.add(RequestCount::Listed, names);
                let moved = self.requests.op(slot).map_or(0, |op| match op.kind {
                    OpKind::Read | OpKind::Write => op.len,
                    _ => 0,
                });
                self.finish(slot, Outcome::ok(moved));
                Some(true)
            }
            Err(failure) => Some(self.failed(slot, failure, wait)),
        }
    }

    /// A request failed. Returns whether it has ended.
    #[cold]
    fn failed(&mut self, slot: Slot, failure: RequestFailure, wait: bool) -> bool {
        let index = self.lane(slot);
        if !self.lanes[index].is_ready() {
            self.lanes[index].close();
        }
        if failure.is_stale && !std::mem::replace(&mut self.again[slot as usize], true) {
            self.lanes[index].restart();
            self.counts.add(RequestCount::Reconnects, 1);
            return self.go_on(slot, wait);
        }
        self.counts.add(RequestCount::Throttled, u64::from(failure.errno == Errno::EBUSY));
        let removals = self.removals(slot, &failure);
        let is_repeated = failure.is_passing && !self.end.is_stopped() || removals > RetryLimit(0);
        if is_repeated && let Some(until) = self.pauses.begin(slot, self.clock.now(), removals) {
            // The request has its whole time after the pause.
            self.requests.begin_again(slot, until);
            return false;
        }
        self.fail(slot, failure.errno, &failure.why.to_string())
    }

    /// The op of a slot fails. Returns whether it has ended: an upload is removed first.
    #[cold]
    fn fail(&mut self, slot: Slot, errno: Errno, why: &str) -> bool {
        let mut outcome = Outcome::err(errno);
        match self.uploads[slot as usize].step {
            Some(UploadStep::Abort) => outcome = self.abort_failed(slot, why),
            _ => self.say(slot, why),
        }
        if self.abort_upload(slot, outcome) {
            return self.go_on(slot, false);
        }
        self.finish(slot, outcome);
        true
    }

    /// Sends the requests again whose pause has ended.
    #[cold]
    fn send_again(&mut self) {
        let now = self.clock.now();
        for at in (0..self.flying.len()).rev() {
            let slot = self.flying[at];
            if !self.pauses.end(slot, now) {
                continue;
            }
            let index = self.lane(slot);
            self.counts.add(RequestCount::Sent, 1);
            self.counts.add(RequestCount::Retries, 1);
            let connected = self.lanes[index].has_connection();
            self.counts.add(RequestCount::Reconnects, u64::from(!connected));
            self.again[slot as usize] = false;
            self.started[slot as usize] = Some(now);
            self.lanes[index].restart();
            if self.go_on(slot, false) {
                self.flying.swap_remove(at);
            }
        }
    }

    /// Keeps the message about a request that failed.
    fn say(&mut self, slot: Slot, why: &str) {
        let Some(op) = self.requests.op(slot).copied() else { return };
        let upload = &self.uploads[slot as usize];
        let call = upload.step.map_or_else(|| self.writer.call(&op), UploadStep::call);
        let (method, mut path) = (call.method().word(), self.writer.path(&op));
        if upload.step.is_some() {
            path = format!("{path}?{}", upload.query);
        }
        let range = match self.writer.is_range(&op) {
            true => format!(" ({} bytes at {})", op.len, op.offset),
            false => String::new(),
        };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = &self.servers[self.chosen[slot as usize]].named.host;
        self.said[slot as usize] = Some(format!("{method} {scheme}://{host}{path}{range}: {why}"));
    }

    fn finish(&mut self, slot: Slot, outcome: Outcome) {
        self.requests.end(slot);
        self.finished.push((slot, outcome));
    }

    /// Returns at most `max` slots of requests that have ended. Returns their number.
    fn hand_over(&mut self, max: u32, done: &mut Completions) -> u32 {
        let count = self.finished.len().min(max as usize);
        for (slot, outcome) in self.finished.drain(..count) {
            // SAFETY: the slot was queued, and its request has ended: its answer is complete, or its connection is closed
            // and the kernel has copied what was sent. It was pushed once.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
        }
        count as u32
    }

    /// Ends requests that were not answered in time, and all requests if the user has ended the run.
    fn look_at_the_clock(&mut self) {
        let now = self.clock.now();
        if now.saturating_sub(self.looked) < LOOK.as_nanos() as u64 {
            return;
        }
        self.looked = now;
        if self.requests.must_give_up(self.end.is_interrupted(), now) {
            self.give_up(true, now);
        } else if self.end.is_stopped()
            && now.saturating_sub(*self.stopped.get_or_insert(now)) >= self.requests.timeout().0
        {
            self.give_up(false, now);
        }
        while let Some(slot) = self.requests.overdue(now) {
            let index = self.lane(slot);
            let connected = self.lanes[index].has_connection();
            let stage = if connected { "no answer" } else { "no connection, and no answer" };
            self.lanes[index].close();
            let why = format!(
                "{stage} to {} within {}. To fix: check the server and the network, or set a longer `endpoint_timeout`",
                self.requests.name(slot),
                shown(self.requests.timeout())
            );
            if self.fail(slot, Errno::ETIMEDOUT, &why) {
                self.flying.retain(|other| *other != slot);
            }
        }
    }

    /// The job must stop: ends the uploads, whose many requests may take long, and removes them. With `all`, ends the
    /// other requests, too.
    #[cold]
    fn give_up(&mut self, all: bool, now: u64) {
        for slot in std::mem::take(&mut self.flying) {
            if self.uploads[slot as usize].step.is_some() {
                if self.end_upload(slot, now) {
                    self.flying.push(slot);
                }
                continue;
            }
            if !all {
                self.flying.push(slot);
                continue;
            }
            let index = self.lane(slot);
            self.lanes[index].close();
            self.finish(slot, Outcome::ENDED);
        }
    }

    /// Waits until a request can continue, at most `left` ns, and continues those that can. Returns false if a signal
    /// arrived.
    fn wait(&mut self, left: Option<u64>) -> Result<bool, EngineError> {
        let mut limit = left.map_or(LOOK, |left| LOOK.min(Duration::from_nanos(left)));
        if self.pauses.any() {
            self.send_again();
            limit = limit.min(self.pauses.left(self.clock.now()));
            if !self.finished.is_empty() {
                return Ok(true);
            }
        }
        if let [slot] = self.flying[..]
            && limit == LOOK
            && !self.pauses.is_paused(slot)
            && !self.lanes[self.lane(slot)].is_connecting()
        {
            // The call that receives waits, for as long as the socket's patience.
            if self.go_on(slot, true) {
                self.flying.clear();
            }
            return Ok(true);
        }
        self.entries.clear();
        for slot in &self.flying {
            let index = *slot as usize * self.servers.len() + self.chosen[*slot as usize];
            // The kernel ignores this entry.
            let none = PollEntry::new(-1, poll::Readiness::Readable);
            let entry = self.lanes[index].entry().filter(|_| !self.pauses.is_paused(*slot));
            self.entries.push(entry.unwrap_or(none));
        }
        let waited = poll::wait(&mut self.entries, Some(limit));
        match waited.map_err(|error| EngineError::from_sys("ioengine=http", &error))? {
            poll::Waited::Interrupted => return Ok(false),
            poll::Waited::TimedOut => return Ok(true),
            poll::Waited::Ready => {}
        }
        // From the end, because a request that has ended leaves the list.
        for at in (0..self.flying.len()).rev() {
            let entry = &self.entries[at];
            if (entry.is_readable() || entry.is_writable()) && self.go_on(self.flying[at], false) {
                self.flying.swap_remove(at);
            }
        }
        Ok(true)
    }
}

impl Engine for Http {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        Ok(())
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        for server in &mut self.servers {
            let began = self.clock.now();
            server.look_up()?;
            self.counts.looked_up(Nanos(self.clock.now().saturating_sub(began)));
        }
        self.connect_all()
    }

    fn report(&self, _path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        EngineReport { requests: Some(Box::new(self.counts.clone())), ..EngineReport::default() }
    }

    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.said.get_mut(slot.index() as usize)?.take()
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let call = self.writer.call(op);
        let len = match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Trim if !call.moves_data() => 0,
            OpKind::Read | OpKind::Write | OpKind::Trim => op.len,
            // The server has stored an object when it answers.
            OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => {
                return Queued::Done(slot, Outcome::ok(0));
            }
        };
        let Some(data) = self.buffers.span(&slot, op.at, len) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let slot = self.buffers.begin(slot);
        let index = slot as usize;
        self.chosen[index] = self.turn;
        self.turn = (self.turn + 1) % self.servers.len();
        self.data[index] = LaneData::new(data, len as usize);
        self.begin_upload(slot, len as usize, op.kind == OpKind::Write);
        let now = self.clock.now();
        self.requests.begin(slot, op, now);
        self.begin_request(slot, now);
        self.unsent.push(slot);
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(self.submit())
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.submit();
        let min = want.min.min(want.max);
        let mut taken = self.hand_over(want.max, done);
        if min == 0 && !self.flying.is_empty() {
            self.wait(Some(0))?;
            self.look_at_the_clock();
            taken += self.hand_over(want.max - taken, done);
        }
        let began = self.clock.now();
        while taken < min && !(self.flying.is_empty() && self.finished.is_empty()) {
            let waited = self.clock.now() - began;
            let left = want.timeout.map(|time| time.saturating_sub(waited));
            if left == Some(0) && waited > 0 {
                break;
            }
            let uninterrupted = self.wait(left)?;
            self.look_at_the_clock();
            taken += self.hand_over(want.max - taken, done);
            if !uninterrupted {
                break;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.lanes.iter_mut().for_each(RequestLane::close);
        Ok(())
    }
}
