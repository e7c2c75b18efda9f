//! A lane: a connection, and the request that is in flight on it.

use std::os::fd::OwnedFd;

use fiord_formats::http::{HttpEvent, HttpReader, ListScan};
use fiord_plan::{HttpMode, HttpVerbosity};
use fiord_sys::poll::{PollEntry, Readiness};
use fiord_types::{Errno, Nanos};

use super::failure::RequestFailure;
use super::request::ObjectCall;
use super::server::Server;
use crate::error::FailureCause;
use crate::tls::TlsClient;
use crate::transport::{Moved, Transport};
use crate::{MachineClock, Time};

/// Bytes of an answer that are received at once where they do not go to the buffer of the op.
const SPILL: usize = 16 << 10;

/// How much of the body of a refusal is kept.
const KEPT_REFUSAL: usize = 64 << 10;

/// Maximum length in bytes of a list of 1000 names: each has at most 1024 bytes, which may be encoded, and attributes.
const MAX_LIST: u64 = 16 << 20;

/// Maximum length of the body of an answer to another request, in bytes.
const MAX_REPLY: u64 = 1 << 20;

/// What a lane does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaneStage {
    /// There is no connection.
    Closed,
    /// The connection is being made, to the address with this number.
    Connecting(usize),
    Handshake,
    /// The connection is ready for a request.
    Ready,
    Sending,
    Receiving,
}

/// The body of a request, or room for the body of the answer: the buffer of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneData {
    at: *mut u8,
    len: usize,
}

// SAFETY: the pointer is into a buffer of the engine that owns this value, which does not move with it.
unsafe impl Send for LaneData {}

impl LaneData {
    /// No bytes.
    pub(super) const NONE: LaneData = LaneData::new(std::ptr::null_mut(), 0);

    pub(super) const fn new(at: *mut u8, len: usize) -> LaneData {
        LaneData { at, len }
    }

    /// The number of bytes.
    pub(super) const fn len(self) -> usize {
        self.len
    }

    /// At most `len` bytes from the offset `from`, which must not be beyond the end.
    pub(super) const fn part(self, from: usize, len: usize) -> LaneData {
        let left = self.len - from;
        LaneData::new(self.at.wrapping_add(from), if len < left { len } else { left })
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// Nothing writes to the memory while the result is used.
    pub(super) const unsafe fn bytes<'a>(self) -> &'a [u8] {
        match self.len {
            0 => &[],
            // SAFETY: the caller vouches for the memory.
            _ => unsafe { std::slice::from_raw_parts(self.at, self.len) },
        }
    }
}

/// What the lane needs from its job.
pub(super) struct LaneContext<'a> {
    pub(super) server: &'a Server,
    pub(super) tls: Option<&'a TlsClient>,
    pub(super) mode: HttpMode,
    /// Wait for the connection, for a moment.
    pub(super) wait: bool,
    /// Which parts of requests and answers to print.
    pub(super) verbose: HttpVerbosity,
    pub(super) clock: MachineClock,
}

/// A connection of a slot, and the request on it.
pub(super) struct RequestLane {
    stage: LaneStage,
    socket: Option<OwnedFd>,
    transport: Option<Transport>,
    pub(super) head: Vec<u8>,
    call: ObjectCall,
    data: LaneData,
    /// First and last byte of the range that the request asks for.
    range: Option<(u64, u64)>,
    sent: usize,
    /// The server answers before it has the whole request.
    early: bool,
    reader: HttpReader,
    filled: usize,
    /// The body of an answer that is not data.
    refusal: Vec<u8>,
    mode: HttpMode,
    list: ListScan,
    spill: Box<[u8]>,
    /// The connection has carried an answer.
    used: bool,
    /// When the first byte of the answer arrived, ns.
    pub(super) begun: Option<u64>,
    /// When the TLS handshake began, ns.
    greeted: Option<u64>,
    /// How long the last TLS handshake took, until the owner takes it.
    pub(super) handshake: Option<Nanos>,
}

impl RequestLane {
    pub(super) fn new() -> RequestLane {
        RequestLane {
            stage: LaneStage::Closed,
            socket: None,
            transport: None,
            head: Vec::new(),
            call: ObjectCall::Get,
            data: LaneData::NONE,
            range: None,
            sent: 0,
            early: false,
            reader: HttpReader::new(),
            filled: 0,
            refusal: Vec::new(),
            mode: HttpMode::Webdav,
            list: ListScan::default(),
            spill: Box::default(),
            used: false,
            begun: None,
            greeted: None,
            handshake: None,
        }
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) {
        (self.socket, self.transport) = (None, None);
        self.stage = LaneStage::Closed;
        self.used = false;
    }

    /// The body of an answer that is not data.
    pub(super) fn text(&self) -> &[u8] {
        &self.refusal
    }

    /// The server's name for the content of an object or of a part.
    pub(super) fn tag(&self) -> Option<&str> {
        self.reader.header("etag").filter(|tag| !tag.is_empty())
    }

    /// Why the server refused the request.
    pub(super) fn refused(&self) -> RequestFailure {
        RequestFailure::of_refusal(&self.reader, &self.refusal, self.mode)
    }

    /// Whether the lane can take a request at once.
    pub(super) fn is_ready(&self) -> bool {
        self.stage == LaneStage::Ready
    }

    /// Whether the connection is being made, which a call that sends or receives cannot wait for.
    pub(super) const fn is_connecting(&self) -> bool {
        matches!(self.stage, LaneStage::Closed | LaneStage::Connecting(_))
    }

    /// Whether a connection exists.
    pub(super) const fn has_connection(&self) -> bool {
        self.transport.is_some()
    }

    /// Begins the request whose head was written to [`RequestLane::head`].
    ///
    /// # Safety
    ///
    /// `data` is memory that only this request uses until it has ended or the lane is closed.
    pub(super) unsafe fn begin(
        &mut self,
        call: ObjectCall,
        data: LaneData,
        range: Option<(u64, u64)>,
    ) {
        (self.call, self.data, self.range) = (call, data, range);
        self.restart();
    }

    /// Prepares the request to be sent from its beginning.
    pub(super) fn restart(&mut self) {
        (self.sent, self.filled, self.early, self.begun) = (0, 0, false, None);
        self.refusal.clear();
        self.list = ListScan::default();
        let limit = match self.call {
            ObjectCall::Get => self.data.len as u64,
            ObjectCall::List => MAX_LIST,
            _ => MAX_REPLY,
        };
        self.reader.begin(self.call.method(), limit);
        if self.stage == LaneStage::Ready {
            self.stage = LaneStage::Sending;
        }
    }

    /// What to wait for.
    pub(super) fn entry(&self) -> Option<PollEntry> {
        use std::os::fd::AsRawFd;
        let fd = match (&self.socket, &self.transport) {
            (Some(socket), _) => socket.as_raw_fd(),
            (None, Some(transport)) => transport.fd(),
            (None, None) => return None,
        };
        let writes = self.transport.as_ref().is_some_and(Transport::wants_write);
        let readiness = match self.stage {
            LaneStage::Connecting(_) => Readiness::Writable,
            LaneStage::Sending => Readiness::Both,
            _ if writes => Readiness::Both,
            _ => Readiness::Readable,
        };
        Some(PollEntry::new(fd, readiness))
    }

    /// Continues as far as possible without waiting, or with one wait. Returns how many names a list has when the
    /// request has succeeded.
    pub(super) fn advance(&mut self, context: &LaneContext) -> Result<Option<u64>, RequestFailure> {
        loop {
            let goes_on = match self.stage {
                LaneStage::Closed | LaneStage::Connecting(_) | LaneStage::Handshake => {
                    self.establish(context)?
                }
                LaneStage::Ready => {
                    self.stage = LaneStage::Sending;
                    true
                }
                LaneStage::Sending => self.send(context)?,
                LaneStage::Receiving => {
                    let (goes_on, done) = self.receive(context)?;
                    if done {
                        return self.complete(context).map(Some);
                    }
                    goes_on
                }
            };
            if !goes_on {
                return Ok(None);
            }
        }
    }

    /// Continues with the connection. Returns whether it is ready or another step is possible.
    pub(super) fn establish(&mut self, context: &LaneContext) -> Result<bool, RequestFailure> {
        match self.stage {
            LaneStage::Closed => self.connect_to(0, context),
            LaneStage::Connecting(candidate) => {
                let Some(socket) = &self.socket else { return self.connect_to(candidate, context) };
                match context.server.finish(socket, candidate) {
                    Ok(false) => Ok(false),
                    Ok(true) => self.connected(context).map(|()| true),
                    Err(_) if candidate + 1 < context.server.candidates() => {
                        self.connect_to(candidate + 1, context)
                    }
                    Err(failure) => Err(failure),
                }
            }
            LaneStage::Handshake => {
                let Some(transport) = &mut self.transport else {
                    return self.connect_to(0, context);
                };
                match transport.shake_hands(context.wait) {
                    Moved::Bytes(_) => {
                        self.stage = LaneStage::Ready;
                        let began = self.greeted.take();
                        self.handshake =
                            began.map(|at| Nanos(context.clock.now().saturating_sub(at)));
                        Ok(true)
                    }
                    other => self.stopped(other),
                }
            }
            LaneStage::Ready | LaneStage::Sending | LaneStage::Receiving => Ok(true),
        }
    }

    fn connect_to(
        &mut self,
        candidate: usize,
        context: &LaneContext,
    ) -> Result<bool, RequestFailure> {
        self.close();
        self.stage = LaneStage::Connecting(candidate);
        match context.server.start(candidate) {
            Ok(socket) => {
                self.socket = Some(socket);
                Ok(true)
            }
            Err(_) if candidate + 1 < context.server.candidates() => {
                self.connect_to(candidate + 1, context)
            }
            Err(failure) => {
                self.close();
                Err(failure)
            }
        }
    }

    fn connected(&mut self, context: &LaneContext) -> Result<(), RequestFailure> {
        let Some(socket) = self.socket.take() else { return Ok(()) };
        let name = &context.server.named.name;
        self.stage = if context.tls.is_some() { LaneStage::Handshake } else { LaneStage::Ready };
        self.greeted = context.tls.map(|_| context.clock.now());
        self.transport = Some(match context.tls {
            None => Transport::Plain(socket),
            Some(tls) => {
                let wrapped = tls.wrap(socket, name);
                Transport::Tls(
                    wrapped.map_err(|why| RequestFailure::new(Errno::EPROTO, why.to_string()))?,
                )
            }
        });
        Ok(())
    }

    /// The result of a step that moved no bytes.
    fn stopped(&self, moved: Moved) -> Result<bool, RequestFailure> {
        match moved {
            Moved::Bytes(_) | Moved::Wait | Moved::Interrupted => Ok(false),
            Moved::End => {
                let error = self.reader.clone().end().err();
                let error = error.unwrap_or(fiord_formats::http::HttpError::NoAnswer);
                Err(RequestFailure::of_answer(&error, self.used))
            }
            Moved::Failed(errno) => {
                Err(RequestFailure::of_connection(errno, &self.reader, self.used))
            }
            Moved::Tls(why) => Err(RequestFailure::new(Errno::EPROTO, why)),
        }
    }

    /// Sends what is left of the request. Returns whether to continue.
    fn send(&mut self, context: &LaneContext) -> Result<bool, RequestFailure> {
        let body: &[u8] = match self.call {
            // SAFETY: the caller of `begin` vouches for the memory while the request is in flight.
            ObjectCall::Put | ObjectCall::PutPart => unsafe { self.data.bytes() },
            _ => &[],
        };
        if context.verbose > HttpVerbosity::Quiet && self.sent == 0 {
            super::verbose::sent(&self.head, body.len(), context.verbose);
        }
        let total = self.head.len() + body.len();
        while self.sent < total {
            let head = &self.head[self.sent.min(self.head.len())..];
            let rest = &body[self.sent.saturating_sub(self.head.len())..];
            let Some(transport) = &mut self.transport else { return Ok(true) };
            match transport.send(head, rest, context.wait) {
                Moved::Bytes(bytes) => self.sent += bytes,
                Moved::Wait => return self.listen_early(context),
                // The server may have said why it does not want the rest.
                Moved::Failed(errno @ (Errno::EPIPE | Errno::ECONNRESET)) => {
                    return match self.listen_early(context) {
                        Ok(true) => Ok(true),
                        _ => self.stopped(Moved::Failed(errno)),
                    };
                }
                other => return self.stopped(other),
            }
        }
        self.stage = LaneStage::Receiving;
        Ok(true)
    }

    /// Checks whether the server answers although it does not have the whole request.
    fn listen_early(&mut self, context: &LaneContext) -> Result<bool, RequestFailure> {
        let (_, done) = self.take_answer(false, context)?;
        if done || self.reader.has_begun() {
            self.early = true;
            self.stage = LaneStage::Receiving;
            return Ok(true);
        }
        Ok(false)
    }

    /// Receives. Returns whether to continue, and whether the answer is complete.
    fn receive(&mut self, context: &LaneContext) -> Result<(bool, bool), RequestFailure> {
        // Empty if the answer was complete before.
        let mut nothing = &[][..];
        let complete = matches!(self.reader.next(&mut nothing), Ok(HttpEvent::Complete));
        if complete {
            return Ok((true, true));
        }
        self.take_answer(context.wait, context)
    }

    /// Receives once and reads what arrived.
    fn take_answer(
        &mut self,
        wait: bool,
        context: &LaneContext,
    ) -> Result<(bool, bool), RequestFailure> {
        let direct = self.reader.plain_bytes().min((self.data.len - self.filled) as u64) as usize;
        let is_data = self.call == ObjectCall::Get && self.reader.is_success();
        let Some(transport) = &mut self.transport else { return Ok((true, false)) };
        if direct > 0 && is_data {
            // SAFETY: the caller of `begin` vouches for the memory while the request is in flight, and the range lies
            // in it.
            let to = unsafe {
                std::slice::from_raw_parts_mut(self.data.at.wrapping_add(self.filled), direct)
            };
            return match transport.receive(to, wait) {
                Moved::Bytes(bytes) => {
                    self.reader.took(bytes as u64);
                    self.filled += bytes;
                    Ok((true, self.reader.plain_bytes() == 0))
                }
                other => self.stopped(other).map(|_| (false, false)),
            };
        }
        if self.spill.is_empty() {
            self.spill = vec![0; SPILL].into_boxed_slice();
        }
        let mut spill = std::mem::take(&mut self.spill);
        let moved = transport.receive(&mut spill, wait);
        let read = match moved {
            Moved::Bytes(bytes) => {
                self.begun.get_or_insert_with(|| context.clock.now());
                self.read(&spill[..bytes], context).map(|done| (true, done))
            }
            Moved::End if self.reader.end().is_ok() => Ok((true, true)),
            other => self.stopped(other).map(|_| (false, false)),
        };
        self.spill = spill;
        read
    }

    /// Reads bytes of the answer. Returns whether it is complete.
    fn read(&mut self, mut input: &[u8], context: &LaneContext) -> Result<bool, RequestFailure> {
        loop {
            let event = self.reader.next(&mut input);
            let event = event.map_err(|error| RequestFailure::of_answer(&error, self.used))?;
            match event {
                HttpEvent::More => return Ok(false),
                HttpEvent::Head => {
                    if context.verbose > HttpVerbosity::Quiet {
                        super::verbose::received(&self.reader);
                    }
                    self.check_head()?;
                }
                HttpEvent::Body(data) => {
                    let is_data = self.call == ObjectCall::Get && self.reader.is_success();
                    if self.call == ObjectCall::List && self.reader.is_success() {
                        self.list.read(data);
                        continue;
                    }
                    if !is_data {
                        let room = KEPT_REFUSAL.saturating_sub(self.refusal.len());
                        self.refusal.extend_from_slice(&data[..data.len().min(room)]);
                        continue;
                    }
                    let room = (self.data.len - self.filled).min(data.len());
                    // SAFETY: the caller of `begin` vouches for the memory while the request is in flight, and the
                    // range lies in it.
                    let to = unsafe {
                        std::slice::from_raw_parts_mut(self.data.at.wrapping_add(self.filled), room)
                    };
                    to.copy_from_slice(&data[..room]);
                    self.filled += room;
                }
                HttpEvent::Complete => {
                    // Bytes after the answer belong to nothing.
                    self.early |= !input.is_empty();
                    return Ok(true);
                }
            }
        }
    }

    /// Checks that the server returns the range that was asked for.
    fn check_head(&self) -> Result<(), RequestFailure> {
        let Some((first, last)) = self.range else { return Ok(()) };
        if !self.reader.is_success() {
            return Ok(());
        }
        let why = match self.reader.range() {
            _ if self.reader.status() != 206 => FailureCause::from(format!(
                "the server answered {} with the whole object instead of bytes {first} to {last}",
                self.reader.status()
            ))
            .help("To fix: use a server that supports ranges, or `http_object_mode=block`"),
            Some((from, to)) if from != first || to > last => {
                format!("the server returned bytes {from} to {to} instead of {first} to {last}")
                    .into()
            }
            _ => return Ok(()),
        };
        Err(RequestFailure::new(Errno::EIO, why))
    }

    /// The answer is complete. Returns how many names it has, if it is a list.
    fn complete(&mut self, context: &LaneContext) -> Result<u64, RequestFailure> {
        let status = self.reader.status();
        if self.reader.closes() || self.early {
            self.close();
        } else {
            (self.used, self.stage) = (true, LaneStage::Ready);
        }
        // An object that does not exist is removed.
        let is_gone = self.call.removes() && status == 404;
        self.mode = context.mode;
        if !self.reader.is_success() && !is_gone {
            return Err(self.refused());
        }
        if self.call == ObjectCall::List && !self.list.is_list() {
            let help = "To fix: check that the first part of `filename` is the bucket, and that the server has \
                        ListObjectsV2";
            let what =
                format!("the server answered {status} with something other than a list of objects");
            let why = FailureCause::from(what).help(help);
            return Err(RequestFailure::new(Errno::EIO, why));
        }
        if self.call == ObjectCall::Get && self.filled < self.data.len {
            let help =
                "To fix: write the objects with the same `bs`, `size` and `http_object_mode` first";
            let why = FailureCause::from(format!(
                "the server answered {status} with {} bytes instead of {}: the object is shorter",
                self.filled, self.data.len
            ))
            .help(help);
            return Err(RequestFailure::new(Errno::EIO, why));
        }
        Ok(self.list.names())
    }
}
