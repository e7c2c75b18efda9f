//! `net`: each write sends a block over a socket, each read receives one.
//!
//! | question | module |
//! |---|---|
//! | how does a job find and reach its peers | `peers` |
//! | what did the kernel know about a connection that was closed | `connections` |
//! | why can a peer not be met | `failures` |
//! | how do the ends announce that they begin and end | `message` |
//! | how do the ends of one run know each other | `greeting` |
//! | how does `netsplice` move blocks | `pipe` |
//!
//! A block may travel in pieces. The engine moves all of them before the op completes, because the
//! pieces are the kernel's choice and not the job's. A wait ends after a moment to see whether the
//! job must stop.

mod connections;
mod failures;
mod greeting;
mod message;
mod peers;
mod pipe;

use std::os::fd::RawFd;
use std::time::Duration;

use fiord_plan::model::{NetPlan, Protocol};
use fiord_stat::engine::EngineReport;
use fiord_sys::net::RawAddress;
use fiord_types::{Errno, FileIndex};

use self::peers::{Peers, datagrams};
use self::pipe::Pipe;
use crate::sync::{File, Span, SyncEngine, Transfer};
use crate::{
    Attachment, EndSignal, EngineConfig, EngineError, FileKind, Op, Outcome, dataless, syscall,
};

/// How long a call waits before it checks whether the job must stop.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// `ioengine=net`.
pub type Net = SyncEngine<NetCalls>;
/// `ioengine=netsplice`.
pub type Netsplice = Net;

/// The system calls `sendto(2)` and `recvfrom(2)`.
#[derive(Debug)]
pub struct NetCalls {
    plan: NetPlan,
    peers: Peers,
    end: EndSignal,
    /// Each op is one call on a stream, unless the kernel moves a part of the block.
    one_call: bool,
    /// The flags of `sendto(2)`.
    send_flags: i32,
    /// Blocks pass through this pipe (`netsplice`).
    pipe: Option<Pipe>,
    /// Why the last op failed.
    said: Option<String>,
}

/// The part of an op that has been carried out, and how it continues.
enum Step {
    /// Number of bytes that were moved; 0: the peer has ended the stream.
    Moved(usize),
    /// The op ends with this result.
    End(i64),
}

impl NetCalls {
    /// Receives a whole block. `first`: the result of the first call, if it was made.
    fn receive(&mut self, file: FileIndex, fd: RawFd, span: Span, mut first: Option<i64>) -> i64 {
        let mut done = 0;
        loop {
            let step = match datagrams(self.plan.protocol) {
                true => self.receive_datagram(file, fd, (span, done)),
                false => {
                    let ret = first.take().unwrap_or_else(|| self.receive_part(fd, span, done));
                    self.received_part(file, span, done, ret)
                }
            };
            match step {
                Step::Moved(bytes) => done += bytes,
                Step::End(result) => return result,
            }
            if done == span.len {
                return done as i64;
            }
        }
    }

    /// Receives the rest of a block from a stream. Returns the number of bytes, or a negative errno.
    fn receive_part(&mut self, fd: RawFd, span: Span, done: usize) -> i64 {
        match &mut self.pipe {
            // SAFETY: the caller of `read` vouches for the memory, and `done` is less than its length.
            Some(pipe) => unsafe { pipe.receive(fd, span, done) },
            // SAFETY: the caller of `read` vouches for the memory, and `done` is less than its length.
            None => unsafe { receive(fd, span, done, libc::MSG_WAITALL) },
        }
    }

    /// What follows from the result of a call that receives a part of a block from a stream.
    fn received_part(&mut self, file: FileIndex, span: Span, done: usize, ret: i64) -> Step {
        match ret {
            // SAFETY: these bytes have been received.
            0 => self.stream_ended(file, unsafe { bytes_of(span, 0, done) }),
            ret if ret > 0 => Step::Moved(ret as usize),
            ret => self.interrupted(file, ret),
        }
    }

    fn receive_datagram(
        &mut self,
        file: FileIndex,
        fd: RawFd,
        (span, done): (Span, usize),
    ) -> Step {
        let room = span.len - done;
        let ret = if self.plan.pingpong {
            // The answer goes to the sender of this datagram.
            let mut from = RawAddress::room();
            // SAFETY: the caller of `read` vouches for the memory, and `done` is less than its length.
            let ret = unsafe { receive_from(fd, span, done, libc::MSG_TRUNC, &mut from) };
            // SAFETY: the call has received these bytes, as many as there is room for.
            let is_end = ret == message::LEN as i64
                && room >= message::LEN
                && unsafe { bytes_of(span, done, message::LEN) } == message::CLOSE;
            if is_end && self.peers.member_leaves(file) {
                return Step::Moved(0);
            }
            if ret >= 0 {
                self.peers.answer_to(file, from);
            }
            ret
        } else {
            // SAFETY: the caller of `read` vouches for the memory, and `done` is less than its length.
            unsafe { receive(fd, span, done, libc::MSG_TRUNC) }
        };
        if ret < 0 {
            return self.interrupted(file, ret);
        }
        let bytes = ret as usize;
        if bytes == message::LEN && room >= bytes {
            // SAFETY: these bytes have been received.
            match unsafe { bytes_of(span, done, bytes) } {
                data if data == message::CLOSE => return self.ended(file),
                // Another sender has begun.
                data if data == message::OPEN => return Step::Moved(0),
                _ => {}
            }
        }
        if bytes > room {
            self.said = Some(format!(
                "a datagram of {bytes} bytes is larger than the rest of the block ({room} bytes). To \
                 fix: use the `bs` of the sender"
            ));
            return Step::End(Errno::EMSGSIZE.as_result());
        }
        Step::Moved(bytes)
    }

    /// Sends a whole block. `first`: the result of the first call, if it was made.
    fn send(&mut self, file: FileIndex, fd: RawFd, span: Span, mut first: Option<i64>) -> i64 {
        let mut done = 0;
        loop {
            let ret = first.take().unwrap_or_else(|| self.send_part(file, fd, span, done));
            if ret > 0 {
                done += ret as usize;
                if done >= span.len {
                    return span.len as i64;
                }
                continue;
            }
            match self.interrupted(file, ret) {
                Step::Moved(_) => {}
                Step::End(result) => return result,
            }
        }
    }

    /// Sends the rest of a block. Returns the number of bytes, or a negative errno.
    fn send_part(&mut self, file: FileIndex, fd: RawFd, span: Span, done: usize) -> i64 {
        let flags = self.send_flags;
        match &mut self.pipe {
            // SAFETY: the caller of `write` vouches for the memory, and `done` is less than its length.
            Some(pipe) => unsafe { pipe.send(fd, span, done, flags & libc::MSG_MORE != 0) },
            None => {
                let to = self.peers.address(file);
                // SAFETY: the caller of `write` vouches for the memory, and `done` is less than its length.
                unsafe { send(fd, span, done, flags, to) }
            }
        }
    }

    /// Reads a block, which may take several calls. `first`: the result of the first call, if it was made.
    #[inline(never)]
    fn read_on(&mut self, file: File, span: Span, mut first: Option<i64>) -> i64 {
        self.on_any(file, |engine, file, fd| {
            let received = engine.receive(file, fd, span, first.take());
            match engine.plan.pingpong && received > 0 {
                true => engine.send(file, fd, span, None),
                false => received,
            }
        })
    }

    /// Writes a block, which may take several calls. `first`: the result of the first call, if it was made.
    #[inline(never)]
    fn write_on(&mut self, file: File, span: Span, mut first: Option<i64>) -> i64 {
        self.on_any(file, |engine, file, fd| {
            let sent = engine.send(file, fd, span, first.take());
            match engine.plan.pingpong && sent > 0 {
                true => engine.receive(file, fd, span, None),
                false => sent,
            }
        })
    }

    /// A call failed or waited long enough.
    #[cold]
    fn interrupted(&mut self, file: FileIndex, ret: i64) -> Step {
        let errno = Errno::from_raw(-ret as i32);
        match errno {
            _ if self.end.is_stopped() => Step::End(Outcome::ENDED.raw()),
            Errno::EAGAIN if self.peers.group_is_silent(file) => self.ended(file),
            Errno::EAGAIN | Errno::EINTR => Step::Moved(0),
            // An earlier op has ended the stream of this file.
            Errno::EBADF if self.peers.has_others() => Step::End(Errno::EAGAIN.as_result()),
            Errno::EPIPE | Errno::ECONNRESET | Errno::ECONNREFUSED => {
                if self.peers.said_goodbye(file) {
                    return self.ended(file);
                }
                self.said = Some(
                    match errno {
                        Errno::ECONNREFUSED => {
                            "nothing receives datagrams at this address. To fix: start the receiver \
                             first"
                        }
                        _ => {
                            "the peer closed the connection without announcing its end. To fix: check whether its \
                             program failed or was killed"
                        }
                    }
                    .into(),
                );
                Step::End(ret)
            }
            Errno::EINVAL | Errno::EOPNOTSUPP if self.pipe.is_some() => {
                self.said = Some(
                    "this kind of socket does not support splice(2). To fix: use `ioengine=net`"
                        .into(),
                );
                Step::End(ret)
            }
            Errno::EMSGSIZE => {
                self.said = Some(
                    "the network carries no datagram of this size. To fix: use a smaller `bs`"
                        .into(),
                );
                Step::End(ret)
            }
            _ => Step::End(ret),
        }
    }

    /// The peer has closed the connection after these bytes of a block.
    #[cold]
    fn stream_ended(&mut self, file: FileIndex, bytes: &[u8]) -> Step {
        // fio sends no message over a Unix socket.
        let announced = bytes.ends_with(&message::CLOSE) || self.plan.protocol == Protocol::Unix;
        if announced {
            return self.ended(file);
        }
        self.said = Some(
            "the sender closed the connection without announcing its end. To fix: check whether its \
             program failed or was killed"
                .into(),
        );
        Step::End(Errno::ECONNRESET.as_result())
    }

    /// A stream is over. Later ops on it use another one, and the job ends when all are over.
    #[cold]
    fn ended(&mut self, file: FileIndex) -> Step {
        self.peers.end(file);
        match self.peers.has_others() {
            // The op begins again on another connection: a part of a block does not count.
            true => Step::End(Errno::EAGAIN.as_result()),
            false => Step::End(Outcome::ENDED.raw()),
        }
    }

    /// Carries out an op on the connection of its file, or on another one if that has ended.
    fn on_any(
        &mut self,
        file: File,
        mut op: impl FnMut(&mut Self, FileIndex, RawFd) -> i64,
    ) -> i64 {
        let mut index = file.index;
        loop {
            let ret = op(self, index, self.peers.descriptor(index));
            if ret != Errno::EAGAIN.as_result() {
                return ret;
            }
            index = self.peers.living(index);
            if let Some(pipe) = &mut self.pipe {
                pipe.clear();
            }
        }
    }
}

impl Transfer for NetCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let Some(plan) = config.engine.network().copied() else {
            return Err(EngineError::plain("the engine has no plan of its connections"));
        };
        let mut peers = Peers::new(plan, config);
        if !config.held {
            // The job attaches its files one after the other, and the peers may come before.
            peers.listen_to_all()?;
        }
        let pipe = if plan.spliced { Some(Pipe::new(config)?) } else { None };
        let stream = !datagrams(plan.protocol);
        let more = if plan.continuous && stream { libc::MSG_MORE } else { 0 };
        Ok(NetCalls {
            one_call: stream && !plan.spliced && !plan.pingpong,
            send_flags: libc::MSG_NOSIGNAL | more,
            plan,
            peers,
            end: config.end.clone(),
            pipe,
            said: None,
        })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        match target {
            Some(_) => self.peers.open(file),
            None => {
                self.peers.close(file);
                Ok(())
            }
        }
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        self.peers.meet_all()
    }

    fn explain(&mut self) -> Option<String> {
        self.said.take()
    }

    fn report(&self) -> EngineReport {
        EngineReport { network: connections::report(self.peers.facts()), ..EngineReport::default() }
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        if !self.one_call {
            return self.read_on(file, span, None);
        }
        // SAFETY: the caller vouches for the memory.
        let ret = unsafe { receive(self.peers.descriptor(file.index), span, 0, libc::MSG_WAITALL) };
        if ret == span.len as i64 { ret } else { self.read_on(file, span, Some(ret)) }
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        if !self.one_call {
            return self.write_on(file, span, None);
        }
        // SAFETY: the caller vouches for the memory.
        let ret =
            unsafe { send(self.peers.descriptor(file.index), span, 0, self.send_flags, None) };
        if ret == span.len as i64 { ret } else { self.write_on(file, span, Some(ret)) }
    }

    fn dataless(&mut self, _file: File, kind: FileKind, op: &Op) -> Outcome {
        dataless::carry_out(-1, kind, op)
    }
}

/// The `len` bytes of a block from `at` on.
///
/// # Safety
///
/// The bytes must be readable memory that nothing changes while the slice is in use.
unsafe fn bytes_of<'a>(span: Span, at: usize, len: usize) -> &'a [u8] {
    // SAFETY: the caller vouches for the memory.
    unsafe { std::slice::from_raw_parts(span.data.add(at), len) }
}

/// `recvfrom(2)` into the memory from `done` on, without an address.
///
/// # Safety
///
/// The span must be writable memory longer than `done`.
#[inline(always)]
unsafe fn receive(fd: RawFd, span: Span, done: usize, flags: i32) -> i64 {
    let at = span.data.expose_provenance() + done;
    let args = [fd as usize, at, span.len - done, flags as usize, 0, 0];
    // SAFETY: the caller vouches for the memory.
    unsafe { syscall::call6(libc::SYS_recvfrom, args) }
}

/// `recvfrom(2)` into the memory from `done` on.
///
/// # Safety
///
/// The span must be writable memory longer than `done`.
unsafe fn receive_from(
    fd: RawFd,
    span: Span,
    done: usize,
    flags: i32,
    from: &mut RawAddress,
) -> i64 {
    let at = span.data.expose_provenance() + done;
    let address = (&raw mut from.storage).expose_provenance();
    let len = (&raw mut from.len).expose_provenance();
    let args = [fd as usize, at, span.len - done, flags as usize, address, len];
    // SAFETY: the caller vouches for the memory; the address is writable memory of this length.
    unsafe { syscall::call6(libc::SYS_recvfrom, args) }
}

/// `sendto(2)` from the memory from `done` on.
///
/// # Safety
///
/// The span must be readable memory longer than `done`.
#[inline(always)]
unsafe fn send(fd: RawFd, span: Span, done: usize, flags: i32, to: Option<&RawAddress>) -> i64 {
    let at = span.data.expose_provenance() + done;
    let (address, len) = match to {
        Some(to) => ((&raw const to.storage).expose_provenance(), to.len as usize),
        None => (0, 0),
    };
    let args = [fd as usize, at, span.len - done, flags as usize, address, len];
    // SAFETY: the caller vouches for the memory; the address is readable memory of this length.
    unsafe { syscall::call6(libc::SYS_sendto, args) }
}
