//! The connection manager: resolves addresses, waits for connections, and reports what happens to them.

use std::ffi::{c_int, c_uint};
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fiord_sys::net::SocketAddress;
use fiord_sys::poll::{self, PollEntry, Readiness, Waited};
use fiord_types::Errno;

use super::abi::{CONNECTIONS, CmEvent, CmId, EventChannel, RdmaFunctions, event};
use super::message::GREETING;
use crate::address::{self, host_and_port};
use crate::{EndSignal, EngineError};

/// How long a call waits before it checks whether the job must stop.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// Maximum time of all steps of a connection to a peer together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit of one step in ms.
const STEP_MS: i32 = 5000;

/// What happened to a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionEvent {
    pub id: *mut CmId,
    pub kind: c_uint,
    pub status: c_int,
    /// The peer is a fiord.
    pub from_fiord: bool,
}

/// The events about the connections of a job, and the identifier that waits for a connection.
#[derive(Debug)]
pub(super) struct Manager {
    functions: Rc<RdmaFunctions>,
    channel: *mut EventChannel,
    listener: *mut CmId,
    stop: EndSignal,
}

impl Manager {
    pub(super) fn new(functions: Rc<RdmaFunctions>, stop: EndSignal) -> Result<Self, EngineError> {
        // SAFETY: the call takes nothing.
        let channel = unsafe { (functions.rdma_create_event_channel)() };
        if channel.is_null() {
            return Err(no_device("rdma_create_event_channel", Errno::last()));
        }
        let manager = Manager { functions, channel, listener: std::ptr::null_mut(), stop };
        // SAFETY: the descriptor is that of the channel, which is open.
        if unsafe { libc::fcntl(manager.fd(), libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
            return Err(EngineError::call("ioengine=rdma", "fcntl", Errno::last()));
        }
        Ok(manager)
    }

    /// The descriptor that is readable when something happened.
    pub(super) fn fd(&self) -> RawFd {
        // SAFETY: the channel is open.
        unsafe { (*self.channel).fd }
    }

    fn new_id(&self) -> Result<*mut CmId, EngineError> {
        let mut id = std::ptr::null_mut();
        // SAFETY: the channel is open, and `id` is writable.
        let ret = unsafe {
            (self.functions.rdma_create_id)(
                self.channel,
                &raw mut id,
                std::ptr::null_mut(),
                CONNECTIONS,
            )
        };
        if ret == 0 { Ok(id) } else { Err(no_device("rdma_create_id", Errno::last())) }
    }

    /// Waits for connections at an address from now on.
    pub(super) fn listen(&mut self, address: &str) -> Result<(), EngineError> {
        let resolved = SocketAddress::from(resolve(address)?);
        self.listener = self.new_id()?;
        let raw = resolved.to_raw();
        let at = (&raw const raw.storage).cast();
        // SAFETY: the identifier is valid, and the address is readable during the call.
        if unsafe { (self.functions.rdma_bind_addr)(self.listener, at) } != 0 {
            return Err(cannot_listen(&resolved, "rdma_bind_addr", Errno::last()));
        }
        // SAFETY: the identifier has an address.
        if unsafe { (self.functions.rdma_listen)(self.listener, 1) } != 0 {
            return Err(cannot_listen(&resolved, "rdma_listen", Errno::last()));
        }
        Ok(())
    }

    /// Waits for a connection request; `None`: the job must stop. Further requests are refused.
    pub(super) fn await_request(&mut self) -> Result<Option<ConnectionEvent>, EngineError> {
        while !self.stop.is_stopped() {
            self.wait(PATIENCE)?;
            if let Some(event) = self.next_event()
                && event.kind == event::CONNECT_REQUEST
            {
                self.stop_listening();
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Finds a peer. Returns the identifier of the connection; `None`: the job must stop.
    pub(super) fn find(
        &mut self,
        address: &str,
        own: Option<&str>,
    ) -> Result<Option<*mut CmId>, EngineError> {
        let to = SocketAddress::from(resolve(address)?);
        let from = own.map(|own| resolve_host(own, "0")).transpose()?;
        let from = from.map(|own| SocketAddress::from(own).to_raw());
        let id = self.new_id()?;
        let found = self.resolve_peer(id, &to, from.as_ref());
        if !matches!(found, Ok(true)) {
            // SAFETY: no event of the identifier is unacknowledged, and this is its last use.
            unsafe { (self.functions.rdma_destroy_id)(id) };
        }
        Ok(found?.then_some(id))
    }

    fn resolve_peer(
        &self,
        id: *mut CmId,
        to: &SocketAddress,
        from: Option<&fiord_sys::net::RawAddress>,
    ) -> Result<bool, EngineError> {
        let raw = to.to_raw();
        let at = (&raw const raw.storage).cast();
        let own = from.map_or(std::ptr::null(), |raw| (&raw const raw.storage).cast());
        // SAFETY: the identifier is valid, and the addresses are readable during the call.
        if unsafe { (self.functions.rdma_resolve_addr)(id, own, at, STEP_MS) } != 0 {
            return Err(cannot_connect(to, "rdma_resolve_addr", Errno::last()));
        }
        if self.expect(event::ADDRESS_RESOLVED, to)?.is_none() {
            return Ok(false);
        }
        // SAFETY: the identifier is bound to a device.
        if unsafe { (self.functions.rdma_resolve_route)(id, STEP_MS) } != 0 {
            return Err(cannot_connect(to, "rdma_resolve_route", Errno::last()));
        }
        Ok(self.expect(event::ROUTE_RESOLVED, to)?.is_some())
    }

    /// Waits for an event of a connection to `peer`; `None`: the job must stop.
    ///
    /// # Errors
    ///
    /// Something else happened, or nothing for a long time.
    pub(super) fn expect(
        &self,
        wanted: u32,
        peer: &dyn fmt::Display,
    ) -> Result<Option<ConnectionEvent>, EngineError> {
        let began = Instant::now();
        while !self.stop.is_stopped() {
            self.wait(PATIENCE)?;
            match self.next_event() {
                Some(event) if event.kind == wanted => return Ok(Some(event)),
                Some(event) => return Err(failed(peer, event)),
                None if began.elapsed() > CONNECT_TIMEOUT => {
                    return Err(cannot_connect(peer, "rdma_get_cm_event", Errno::ETIMEDOUT));
                }
                None => {}
            }
        }
        Ok(None)
    }

    /// Waits until something happened, but not longer than `time`.
    fn wait(&self, time: Duration) -> Result<(), EngineError> {
        wait_for(&[self.fd()], time).map(drop)
    }

    /// The next event, if there is one.
    pub(super) fn next_event(&self) -> Option<ConnectionEvent> {
        let mut raw: *mut CmEvent = std::ptr::null_mut();
        // SAFETY: the channel is open, does not block, and `raw` is writable.
        if unsafe { (self.functions.rdma_get_cm_event)(self.channel, &raw mut raw) } != 0 {
            return None;
        }
        // SAFETY: the event is valid until it is acknowledged, and its data have this length.
        unsafe {
            let data = match (*raw).private_data.is_null() {
                true => &[][..],
                false => std::slice::from_raw_parts(
                    (*raw).private_data,
                    (*raw).private_data_len as usize,
                ),
            };
            let event = ConnectionEvent {
                id: (*raw).id,
                kind: (*raw).event,
                status: (*raw).status,
                from_fiord: data.starts_with(&GREETING),
            };
            (self.functions.rdma_ack_cm_event)(raw);
            Some(event)
        }
    }

    fn stop_listening(&mut self) {
        let id = std::mem::replace(&mut self.listener, std::ptr::null_mut());
        if !id.is_null() {
            // SAFETY: no event of the identifier is unacknowledged, and this is its last use.
            unsafe { (self.functions.rdma_destroy_id)(id) };
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.stop_listening();
        // SAFETY: all identifiers of the channel are gone, and this is its last use.
        unsafe { (self.functions.rdma_destroy_event_channel)(self.channel) };
    }
}

/// Waits until one of the descriptors is readable, the time has passed or a signal arrives.
pub(super) fn wait_for(fds: &[RawFd], time: Duration) -> Result<bool, EngineError> {
    // The kernel ignores a descriptor of -1.
    let mut list = [PollEntry::new(-1, Readiness::Readable); 2];
    for (entry, fd) in list.iter_mut().zip(fds) {
        *entry = PollEntry::new(*fd, Readiness::Readable);
    }
    let waited = poll::wait(&mut list, Some(time));
    let failed = |error| EngineError::from_sys("ioengine=rdma", &error);
    Ok(waited.map_err(failed)? == Waited::Ready)
}

/// The address behind `HOST:PORT`.
pub(super) fn resolve(text: &str) -> Result<SocketAddr, EngineError> {
    let (host, port) = host_and_port(text);
    resolve_host(host, port)
}

fn resolve_host(host: &str, port: &str) -> Result<SocketAddr, EngineError> {
    address::resolve(host, port, |_| true, "address")
}

fn no_device(call: &str, errno: Errno) -> EngineError {
    EngineError::call("ioengine=rdma: no RDMA device can be used", call, errno).help(
        "To fix: load the driver of the adapter and the module rdma_ucm, and check `rdma link`. `rdma link add \
         rxe0 type rxe netdev eth0` makes a device in software",
    )
}

fn cannot_listen(address: &SocketAddress, call: &str, errno: Errno) -> EngineError {
    let failed = EngineError::call(&format!("listening on {address}"), call, errno);
    match errno {
        // The kernel reports a port that another program listens on in this way, too.
        Errno::EADDRNOTAVAIL | Errno::EADDRINUSE => failed.help(
            "To fix: use another `port`, or end the program that listens on it; `bindname` must be an address of \
             an RDMA device",
        ),
        Errno::ENODEV => failed.help("To fix: `bindname` must be an address of an RDMA device"),
        _ => failed,
    }
}

fn cannot_connect(address: &dyn fmt::Display, call: &str, errno: Errno) -> EngineError {
    let failed = EngineError::call(&format!("connecting to {address}"), call, errno);
    match errno {
        Errno::ECONNREFUSED => {
            failed.help("To fix: start the job that waits for the connection first")
        }
        Errno::ENODEV | Errno::EADDRNOTAVAIL => failed.help(
            "To fix: use an address that an RDMA device of this machine can reach; `rdma link` lists the devices",
        ),
        _ => failed.help("To fix: check the address, the route and the firewall"),
    }
}

/// The error for an event other than the expected one.
fn failed(peer: &dyn fmt::Display, event: ConnectionEvent) -> EngineError {
    let (call, errno) = match event.kind {
        event::REJECTED => ("rdma_connect", Errno::ECONNREFUSED),
        event::DISCONNECTED => ("rdma_connect", Errno::ECONNRESET),
        event::DEVICE_REMOVAL => ("rdma_connect", Errno::ENODEV),
        event::UNREACHABLE if event.status == 0 => ("rdma_connect", Errno::EHOSTUNREACH),
        _ => ("rdma_get_cm_event", Errno::from_raw(event.status.abs())),
    };
    cannot_connect(peer, call, errno)
}
