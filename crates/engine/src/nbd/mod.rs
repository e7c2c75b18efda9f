//! `nbd`: requests to a server of network block devices, many in flight on one connection.
//!
//! | question | module |
//! |---|---|
//! | how is a connection made? | `link` |
//! | how are requests sent? | `outgoing` |
//! | how are bytes received? | `incoming` |
//!
//! The bytes of requests and replies are made and read by `fiord_formats::nbd`.

mod incoming;
mod link;
mod outgoing;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use fiord_formats::nbd::handshake::Goal;
use fiord_formats::nbd::reply::{ReplyContent, ReplyHeader, header};
use fiord_formats::nbd::request::{FUA, NbdCommand, NbdRequest};
use fiord_formats::nbd::{ExportFlags, NbdError};
use fiord_plan::{EnginePlan, NbdPlan};
use fiord_types::{Bytes, Errno, FileIndex};

use self::incoming::{Incoming, Received, errno_of, within};
use self::link::NbdLink;
pub(crate) use self::link::ask;
use self::outgoing::RequestQueue;
use crate::buffers::{Buffers, slots_of_buffers};
use crate::endpoint::{LOOK, Requests};
use crate::error::FailureCause;
use crate::transport::Moved;
use crate::{
    Attachment, Completions, EndSignal, Engine, EngineConfig, EngineError, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Slot, Time, Want,
};

/// The `nbd` engine.
pub struct Nbd {
    plan: NbdPlan,
    link: Option<NbdLink>,
    file: Option<FileIndex>,
    read_only: bool,
    /// Every write is durable when the server answers it.
    durable: bool,
    largest: Bytes,
    buffers: Buffers,
    clock: MachineClock,
    end: EndSignal,
    requests: Requests,
    transfers: Box<[Transfer]>,
    outgoing: RequestQueue,
    incoming: Incoming,
    /// The data of a read that arrive now.
    arriving: Option<Arriving>,
    /// Completions that nothing has taken yet, after the connection was lost.
    lost: Vec<(Slot, Outcome)>,
    /// The number of queued ops that were not flushed.
    unflushed: u32,
    /// The clock at the last batch, ns.
    now: u64,
    /// When the engine last looked for requests without an answer, ns.
    looked: u64,
}

/// What the request of a slot transfers.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    /// Distinguishes the requests of a slot.
    turn: u32,
    data: *mut u8,
    /// Bytes that have arrived.
    got: u32,
    /// The server has reported an error, and its reply is not complete.
    errno: Option<Errno>,
}

/// Data that arrive for a slot.
#[derive(Debug, Clone, Copy)]
struct Arriving {
    slot: Slot,
    at: *mut u8,
    left: usize,
    /// The request completes with them.
    done: bool,
}

// SAFETY: the pointers are into buffers that the value owns, which do not move with it.
unsafe impl Send for Nbd {}

/// Result of parsing the receive buffer.
enum Progress {
    /// This request has completed.
    Completed(Slot, Outcome),
    /// Something was used.
    Used,
    /// More bytes are needed.
    Needs,
}

impl Nbd {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let EnginePlan::Nbd(plan) = &config.engine else { return Err(EngineError::other_engine()) };
        let slots = config.slots as usize;
        let none = Transfer { turn: 0, data: std::ptr::null_mut(), got: 0, errno: None };
        Ok(Nbd {
            plan: (**plan).clone(),
            link: None,
            file: None,
            read_only: false,
            durable: config.durable,
            largest: config.buffer_bytes,
            buffers: Buffers::new(config)?,
            clock: config.clock,
            end: config.end.clone(),
            requests: Requests::new(config),
            transfers: vec![none; slots].into_boxed_slice(),
            outgoing: RequestQueue::new(slots),
            incoming: Incoming::new(),
            arriving: None,
            lost: Vec::with_capacity(slots),
            unflushed: 0,
            now: 0,
            looked: 0,
        })
    }

    /// How messages begin.
    fn address(&self) -> String {
        self.plan.endpoint.address.as_deref().unwrap_or(Path::new("")).display().to_string()
    }

    /// The errno and the reason if the export has no such command, or permits none.
    fn refusal(&self, kind: OpKind) -> Option<(Errno, &'static str)> {
        let flags = self.link.as_ref()?.export.flags;
        let lacks = |flag| !flags.has(flag);
        match kind {
            OpKind::Write | OpKind::Trim if self.read_only => Some((Errno::EBADF, "")),
            OpKind::Write | OpKind::Trim if flags.has(ExportFlags::READ_ONLY) => {
                Some((Errno::EPERM, "the server forbids writes and trims"))
            }
            OpKind::Trim if lacks(ExportFlags::SEND_TRIM) => Some((
                Errno::EOPNOTSUPP,
                "the server has no trim (NBD_CMD_TRIM). To fix: leave out trims",
            )),
            OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_)
                if lacks(ExportFlags::SEND_FLUSH) =>
            {
                let what = "the server has no flush (NBD_CMD_FLUSH). To fix: leave out `fsync` and similar options";
                Some((Errno::EOPNOTSUPP, what))
            }
            _ => None,
        }
    }

    /// Appends the request of an op to those that are to be sent.
    fn enqueue(&mut self, slot: Slot, op: &Op, data: *mut u8) {
        let transfer = &mut self.transfers[slot as usize];
        *transfer = Transfer { turn: transfer.turn.wrapping_add(1), data, got: 0, errno: None };
        let (command, sent) = match op.kind {
            OpKind::Read => (NbdCommand::Read, None),
            OpKind::Write => (NbdCommand::Write, Some((data, op.len as usize))),
            OpKind::Trim => (NbdCommand::Trim, None),
            OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => {
                (NbdCommand::Flush, None)
            }
        };
        let durable = self.durable && op.kind == OpKind::Write;
        let (offset, len) = match command {
            NbdCommand::Flush => (0, 0),
            _ => (op.offset, op.len),
        };
        let request = NbdRequest {
            command,
            flags: if durable { FUA } else { 0 },
            cookie: u64::from(transfer.turn) << 32 | u64::from(slot),
            offset,
            len,
        };
        self.outgoing.push(slot, &request, sent);
        if self.unflushed == 0 {
            self.now = self.clock.now();
        }
        self.unflushed += 1;
        self.requests.begin(slot, op, self.now);
    }

    /// Whether bytes wait until the socket takes them.
    fn has_unsent(&self) -> bool {
        !self.outgoing.is_empty()
            || self.link.as_ref().is_some_and(|link| link.transport.wants_write())
    }

    /// Sends what the socket takes.
    fn send(&mut self) {
        if !self.has_unsent() {
            return;
        }
        let Some(link) = &mut self.link else { return };
        // SAFETY: the data are those of slots with a request in flight, whose buffers this value owns.
        match unsafe { self.outgoing.send(&mut link.transport) } {
            Ok(_) => {}
            Err(Moved::Failed(errno)) => self.lose(errno, "the connection to the server failed"),
            Err(Moved::Tls(why)) => self.lose_tls(&why),
            Err(_) => self.lose(Errno::ECONNRESET, "the server closed the connection"),
        }
    }

    /// Gives up a connection whose TLS failed.
    fn lose_tls(&mut self, why: &FailureCause) {
        self.lose(Errno::EPROTO, &format!("{}. This happened", why.what));
    }

    /// Gives up the connection, and all requests in flight.
    fn lose(&mut self, errno: Errno, why: &str) {
        self.link = None;
        self.outgoing.clear();
        self.incoming.clear();
        self.arriving = None;
        let slots: Vec<Slot> = self.requests.slots().collect();
        for slot in slots {
            let request = self.requests.name(slot);
            let text = format!(
                "{why} before the server answered {request}. To fix: check the log of the server and the network"
            );
            self.requests.fail(slot, text);
            self.requests.end(slot);
            self.lost.push((slot, Outcome::err(errno)));
        }
    }

    /// Connects again after the connection was lost.
    fn restore(&mut self) -> Result<(), EngineError> {
        if self.link.is_some() || self.file.is_none() || self.outgoing.is_empty() {
            return Ok(());
        }
        self.link = Some(NbdLink::open(&self.plan, Goal::Use, &self.end)?);
        Ok(())
    }

    /// Fails the request that has waited too long and those that share its connection, or all of them if the user has
    /// ended the run.
    fn give_up(&mut self) {
        let now = self.clock.now();
        if self.requests.must_give_up(self.end.is_interrupted(), now) {
            self.lose(Errno::ECANCELED, "the job was stopped");
            self.lost.iter_mut().for_each(|(_, outcome)| *outcome = Outcome::ENDED);
        } else if let Some(slot) = self.requests.overdue(now) {
            let outcome = self.requests.time_out(slot);
            self.requests.end(slot);
            self.lost.push((slot, outcome));
            self.lose(Errno::ETIMEDOUT, "fiord closed the connection after a timeout");
        }
    }

    /// Uses the bytes in the buffer up to the next completion.
    fn advance(&mut self) -> Result<Progress, NbdError> {
        if let Some(arriving) = &mut self.arriving {
            let bytes = self.incoming.bytes();
            let part = bytes.len().min(arriving.left);
            // SAFETY: the rest of the data fits after `at` in the buffer of a slot whose request is in flight.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), arriving.at, part) };
            self.incoming.consume(part);
            return self.arrived(part);
        }
        let Some((header, len)) = header(self.incoming.bytes())? else {
            return Ok(Progress::Needs);
        };
        self.incoming.consume(len);
        self.reply(header)
    }

    /// Counts data that were stored. Completes the request if they were the last ones.
    fn arrived(&mut self, part: usize) -> Result<Progress, NbdError> {
        let Some(arriving) = &mut self.arriving else { return Ok(Progress::Used) };
        arriving.at = arriving.at.wrapping_add(part);
        arriving.left -= part;
        if arriving.left > 0 {
            return Ok(if part == 0 { Progress::Needs } else { Progress::Used });
        }
        let Arriving { slot, done, .. } = *arriving;
        self.arriving = None;
        if done { self.complete(slot) } else { Ok(Progress::Used) }
    }

    /// Handles a header.
    fn reply(&mut self, header: ReplyHeader) -> Result<Progress, NbdError> {
        let slot = header.cookie as u32;
        let unknown = NbdError::Broken("it answers a request that fiord did not make");
        let Some(op) = self.requests.op(slot).copied() else { return Err(unknown) };
        let transfer = &mut self.transfers[slot as usize];
        if (header.cookie >> 32) as u32 != transfer.turn {
            return Err(unknown);
        }
        let reads = op.kind == OpKind::Read;
        match header.content {
            ReplyContent::Simple(0) if reads => {
                return self.expect(slot, (op.offset, op.len), true);
            }
            ReplyContent::Simple(0) | ReplyContent::Nothing => {}
            ReplyContent::Simple(errno) => transfer.errno = Some(errno_of(errno)),
            ReplyContent::Data { offset, len } if reads => {
                let range = within(&op, offset, len)?;
                return self.expect(slot, range, header.done);
            }
            ReplyContent::Hole { offset, len } if reads => {
                let (offset, len) = within(&op, offset, len)?;
                let at = transfer.data.wrapping_add((offset - op.offset) as usize);
                transfer.got = transfer.got.saturating_add(len);
                // SAFETY: the range lies within that of the op, whose data fit the buffer of the slot.
                unsafe { std::ptr::write_bytes(at, 0, len as usize) };
            }
            ReplyContent::Data { .. } | ReplyContent::Hole { .. } => {
                return Err(NbdError::Broken("it sends data, although the request was not a read"));
            }
            ReplyContent::Error { errno, why } => {
                transfer.errno.get_or_insert(errno_of(errno));
                if !why.is_empty() {
                    self.requests.fail(slot, format!("the server says: {why}"));
                }
            }
        }
        if header.done { self.complete(slot) } else { Ok(Progress::Used) }
    }

    /// Data follow for a range of the export within that of the slot's op.
    fn expect(
        &mut self,
        slot: Slot,
        (offset, len): (u64, u32),
        done: bool,
    ) -> Result<Progress, NbdError> {
        let start = self.requests.op(slot).map_or(0, |op| op.offset);
        let transfer = &mut self.transfers[slot as usize];
        transfer.got = transfer.got.saturating_add(len);
        let at = transfer.data.wrapping_add((offset - start) as usize);
        self.arriving = Some(Arriving { slot, at, left: len as usize, done });
        Ok(Progress::Used)
    }

    /// The reply of a slot's request is complete.
    fn complete(&mut self, slot: Slot) -> Result<Progress, NbdError> {
        let Some(op) = self.requests.op(slot).copied() else { return Ok(Progress::Used) };
        let transfer = self.transfers[slot as usize];
        let outcome = match (transfer.errno, op.kind) {
            (Some(errno), _) => Outcome::err(errno),
            (None, OpKind::Read) if transfer.got != op.len => {
                return Err(NbdError::Broken("it answers a read with the wrong number of bytes"));
            }
            (None, OpKind::Read | OpKind::Write) => Outcome::ok(op.len),
            (None, _) => Outcome::ok(0),
        };
        self.requests.end(slot);
        Ok(Progress::Completed(slot, outcome))
    }

    /// Takes up to `max` completions from what has arrived. Returns how many.
    fn take(&mut self, max: u32, done: &mut Completions) -> u32 {
        let mut taken = 0;
        while taken < max {
            if let Some((slot, outcome)) = self.lost_one() {
                // SAFETY: the request of the slot was given up with its connection, and no system call is under way.
                done.push(unsafe { self.buffers.end(slot) }, outcome);
                taken += 1;
                continue;
            }
            match self.advance() {
                Ok(Progress::Completed(slot, outcome)) => {
                    // SAFETY: the request of the slot has completed, which happens once, and no system call is under way.
                    done.push(unsafe { self.buffers.end(slot) }, outcome);
                    taken += 1;
                }
                Ok(Progress::Used) => {}
                Ok(Progress::Needs) => break,
                Err(error) => self.lose(Errno::EPROTO, &format!("{error}. This happened")),
            }
        }
        taken
    }

    /// The first completion that was not taken after the connection was lost.
    fn lost_one(&mut self) -> Option<(Slot, Outcome)> {
        (!self.lost.is_empty()).then(|| self.lost.remove(0))
    }

    /// Receives what has arrived, waiting for it for at most `patience`. Returns whether something has.
    fn receive(&mut self, patience: Option<Duration>) -> bool {
        let data = match &self.arriving {
            Some(arriving) => (arriving.at, arriving.left),
            None => (std::ptr::null_mut(), 0),
        };
        let unsent = self.has_unsent();
        let Some(link) = &mut self.link else { return false };
        // SAFETY: the data belong to the buffer of a slot whose request is in flight, and fit it.
        let received =
            unsafe { self.incoming.receive(&mut link.transport, data, (patience, unsent)) };
        match received {
            Ok(Received::Bytes(0)) => true,
            Ok(Received::Bytes(direct)) => {
                self.store(direct);
                true
            }
            Ok(Received::Nothing) => false,
            Ok(Received::Tls(why)) => {
                self.lose_tls(&why);
                true
            }
            Ok(Received::End) => {
                self.lose(Errno::ECONNRESET, "the server closed the connection");
                true
            }
            Err(errno) => {
                self.lose(errno, "the connection to the server failed");
                true
            }
        }
    }

    /// Counts data that the kernel stored in the buffer of their slot. A request that completes with them does so in
    /// the next [`Nbd::take`].
    fn store(&mut self, direct: usize) {
        let Some(arriving) = &mut self.arriving else { return };
        arriving.at = arriving.at.wrapping_add(direct);
        arriving.left -= direct;
    }

    /// Ends the connection, and gives up the requests in flight.
    fn leave(&mut self) {
        if let Some(mut link) = self.link.take().filter(|_| self.outgoing.is_empty()) {
            let request = NbdRequest {
                command: NbdCommand::Disconnect,
                flags: 0,
                cookie: 0,
                offset: 0,
                len: 0,
            };
            // The server need not receive it.
            let _ = link.transport.send(&request.encode(), &[], false);
        }
        self.lose(Errno::ECANCELED, "the job ended");
        self.lost.clear();
    }
}

impl Engine for Nbd {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        if self.file.is_some() {
            let what = format!("{}: a job with `ioengine=nbd` has one target", self.address());
            return Err(EngineError::plain(what));
        }
        let link = NbdLink::open(&self.plan, Goal::Use, &self.end)?;
        let export = link.export;
        let end = target.offset.saturating_add(target.len).0;
        let refused = |what: String, help: &str| {
            Err(EngineError::plain(format!("{}: {what}", self.address())).help(help))
        };
        if end > export.size {
            let what = format!(
                "the export has {} bytes, but the job uses it up to byte {end}",
                export.size
            );
            return refused(what, "To fix: use a smaller `size` or `offset`");
        }
        if self.largest.0 > export.largest_block.into() {
            let (largest, most) = (self.largest, export.largest_block);
            let what = format!(
                "the server accepts blocks of at most {most} bytes, but the job uses {largest}"
            );
            return refused(what, "To fix: use a smaller `bs`");
        }
        if self.durable && !target.read_only && !export.flags.has(ExportFlags::SEND_FUA) {
            let what = "`sync` needs writes with FUA, which the server does not have";
            return refused(what.to_owned(), "To fix: leave out `sync`, and use `fsync=1`");
        }
        self.link = Some(link);
        self.file = Some(file);
        self.read_only = target.read_only;
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        if self.file == Some(file) {
            self.leave();
            self.file = None;
        }
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.requests.explain(slot)
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if self.file != Some(op.file) {
            return Queued::Done(slot, Outcome::err(Errno::EBADF));
        }
        if let Some((errno, why)) = self.refusal(op.kind) {
            if !why.is_empty() {
                self.requests.refuse(slot.index(), op, why);
            }
            return Queued::Done(slot, Outcome::err(errno));
        }
        let Some(data) = self.buffers.data_of(&slot, op) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let slot = self.buffers.begin(slot);
        self.enqueue(slot, op, data);
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.restore()?;
        self.send();
        Ok(std::mem::take(&mut self.unflushed))
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        if self.unflushed > 0 || self.has_unsent() {
            self.flush()?;
        }
        let pending = self.requests.in_flight() + self.lost.len() as u32;
        let max = want.max.min(pending);
        let min = want.min.min(max);
        let until = want.timeout.map(|ns| self.clock.now().saturating_add(ns));
        let mut taken = self.take(max, done);
        // Without a wait, the engine looks once at what has arrived.
        if min == 0 && taken < max && self.receive(None) {
            taken += self.take(max - taken, done);
        }
        while taken < min {
            self.send();
            let left = until.map_or(LOOK, |until| {
                Duration::from_nanos(until.saturating_sub(self.clock.now())).min(LOOK)
            });
            if left.is_zero() {
                break;
            }
            let something = self.receive(Some(left));
            if !something {
                self.give_up();
            }
            taken += self.take(max - taken, done);
            if !something {
                break;
            }
        }
        // A server that answers some requests may forget others.
        if self.now.saturating_sub(self.looked) > LOOK.as_nanos() as u64 {
            self.looked = self.now;
            self.give_up();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.leave();
        Ok(())
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        self.leave();
    }
}

impl std::fmt::Debug for Nbd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nbd").field("plan", &self.plan).finish_non_exhaustive()
    }
}
