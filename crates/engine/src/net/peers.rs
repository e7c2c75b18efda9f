//! The peers of a job: resolves their addresses, connects to them or waits for them.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fiord_plan::model::{NetPlan, Protocol};
use fiord_sys::file::FileGuard;
use fiord_sys::net::{
    self, ConnectionFacts, RawAddress, Readiness, SocketAddress, SocketOption, set_option,
};
use fiord_types::{Bytes, Errno, FileIndex};

use super::failures::{cannot_connect, cannot_listen};
use super::{PATIENCE, greeting, message};
use crate::address::{host_and_port, resolve};
use crate::{EndSignal, EngineConfig, EngineError};

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 128;

#[inline(always)]
pub(super) const fn datagrams(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Udp | Protocol::Udpv6)
}

#[derive(Debug, Default)]
struct Peer {
    socket: Option<OwnedFd>,
    /// The descriptor of `socket`; -1 if there is none, so that the kernel answers `EBADF`.
    fd: RawFd,
    /// Where datagrams go, if the socket is not connected.
    to: Option<RawAddress>,
    /// `to` is a multicast group, whose members answer from their own addresses.
    is_group: bool,
    /// When a member of the group left. Others may still answer.
    member_left: Option<Instant>,
    /// The address of the other end. The kernel forgets it when that end closes the connection.
    address: Option<SocketAddress>,
    /// The peer has ended its stream.
    ended: bool,
    /// The file is attached.
    attached: bool,
}

impl Peer {
    /// Sends a message to the peer.
    fn say(&self, message: [u8; message::LEN]) -> Result<(), Errno> {
        let (to, len) = match &self.to {
            Some(to) => ((&raw const to.storage).cast(), to.len),
            None => (std::ptr::null(), 0),
        };
        let (at, flags) = (message.as_ptr().cast(), libc::MSG_NOSIGNAL);
        // SAFETY: the message and the address are readable memory of these lengths.
        match unsafe { libc::sendto(self.fd, at, message.len(), flags, to, len) } {
            -1 => Err(Errno::last()),
            _ => Ok(()),
        }
    }

    /// Whether the peer has announced that it closes the connection.
    fn said_goodbye(&self) -> bool {
        let mut data = [0u8; message::LEN];
        let at = data.as_mut_ptr().cast();
        // SAFETY: `data` is writable memory of this length.
        let ret = unsafe { libc::recv(self.fd, at, data.len(), libc::MSG_DONTWAIT) };
        ret == data.len() as isize && data == message::CLOSE
    }

    /// Repeats the last message of a sender of datagrams until the receiver answers it or is gone: the
    /// message is lost if the receiver's buffer is full, and then the receiver would wait without end.
    fn leave(&self, stop: &EndSignal) {
        let Some(socket) = &self.socket else { return };
        for _ in 0..FAREWELLS {
            let answered = net::wait_for(socket, Readiness::Readable, PATIENCE).unwrap_or(true);
            if answered || stop.is_stopped() || self.say(message::CLOSE).is_err() {
                return;
            }
        }
    }
}

/// A socket that accepts connections.
#[derive(Debug)]
struct Listener {
    address: SocketAddress,
    socket: OwnedFd,
}

/// All peers of a job, by the index of their file.
#[derive(Debug)]
pub(super) struct Peers {
    plan: NetPlan,
    /// The addresses, as the plan writes them.
    addresses: Vec<PathBuf>,
    list: Vec<Peer>,
    listeners: Vec<Listener>,
    /// The peers meet from now on as soon as they are opened.
    met: bool,
    stop: EndSignal,
    facts: Vec<ConnectionFacts>,
    /// Sockets of senders of datagrams, whose last message may have been lost.
    leaving: Vec<Peer>,
}

impl Peers {
    pub(super) fn new(plan: NetPlan, config: &EngineConfig) -> Self {
        let peer = || Peer { fd: -1, ..Peer::default() };
        Peers {
            plan,
            addresses: config.addresses.clone(),
            list: (0..config.files).map(|_| peer()).collect(),
            listeners: Vec::new(),
            met: false,
            stop: config.end.clone(),
            facts: Vec::new(),
            leaving: Vec::new(),
        }
    }

    /// The descriptor for an op on a file.
    #[inline(always)]
    pub(super) fn descriptor(&self, file: FileIndex) -> RawFd {
        self.list.get(file.get()).map_or(-1, |peer| peer.fd)
    }

    /// Where datagrams of a file go; `None`: the socket is connected.
    #[inline(always)]
    pub(super) fn address(&self, file: FileIndex) -> Option<&RawAddress> {
        self.list.get(file.get()).and_then(|peer| peer.to.as_ref())
    }

    /// A file whose stream has not ended: `file`, or another one if its stream has.
    pub(super) fn living(&self, file: FileIndex) -> FileIndex {
        match self.list.get(file.get()) {
            Some(peer) if peer.ended => {
                let other = self.list.iter().position(|peer| !peer.ended && peer.fd >= 0);
                other.map_or(file, FileIndex::at)
            }
            _ => file,
        }
    }

    /// Sets where the next datagram of a file goes. Those to a group continue to go there.
    pub(super) fn answer_to(&mut self, file: FileIndex, address: RawAddress) {
        match self.list.get_mut(file.get()) {
            Some(peer) if peer.is_group => peer.member_left = None,
            Some(peer) => peer.to = Some(address),
            None => {}
        }
    }

    /// Whether a message of a peer that it ends is only that of one member of a group.
    pub(super) fn member_leaves(&mut self, file: FileIndex) -> bool {
        let Some(peer) = self.list.get_mut(file.get()).filter(|peer| peer.is_group) else {
            return false;
        };
        peer.member_left.get_or_insert_with(Instant::now);
        true
    }

    /// Whether no member of a group has answered for a while after one of them left.
    pub(super) fn group_is_silent(&self, file: FileIndex) -> bool {
        let left = self.list.get(file.get()).and_then(|peer| peer.member_left);
        left.is_some_and(|left| left.elapsed() > SILENCE)
    }

    /// Records that a peer has ended its stream.
    pub(super) fn end(&mut self, file: FileIndex) {
        if let Some(peer) = self.list.get_mut(file.get()) {
            peer.ended = true;
        }
    }

    /// Whether any stream has not ended.
    pub(super) fn has_others(&self) -> bool {
        self.list.iter().any(|peer| !peer.ended && peer.fd >= 0)
    }

    /// What the kernel knew about the connections that have been closed.
    pub(super) fn facts(&self) -> &[ConnectionFacts] {
        &self.facts
    }

    /// Whether a peer that closed the connection announced that.
    pub(super) fn said_goodbye(&self, file: FileIndex) -> bool {
        self.list.get(file.get()).is_some_and(Peer::said_goodbye)
    }

    /// Prepares a peer: resolves its address and, if this end waits, listens for it.
    pub(super) fn open(&mut self, file: FileIndex) -> Result<(), EngineError> {
        let address = self.resolve(file)?;
        if self.plan.waits && datagrams(self.plan.protocol) {
            let socket = self.receiving_socket(&address)?;
            self.keep(file, socket, None);
        }
        self.listen(address)?;
        if let Some(peer) = self.list.get_mut(file.get()) {
            peer.attached = true;
        }
        if self.met { self.meet(file) } else { Ok(()) }
    }

    /// Listens for connections to all files, before any of them is attached.
    pub(super) fn listen_to_all(&mut self) -> Result<(), EngineError> {
        for file in 0..self.addresses.len() {
            self.listen(self.resolve(FileIndex::at(file))?)?;
        }
        Ok(())
    }

    /// Listens at an address, if this end waits for connections.
    fn listen(&mut self, address: SocketAddress) -> Result<(), EngineError> {
        let accepts = self.plan.waits && !datagrams(self.plan.protocol);
        if accepts && !self.listeners.iter().any(|listener| listener.address == address) {
            let socket = self.listening_socket(&address)?;
            self.listeners.push(Listener { address, socket });
        }
        Ok(())
    }

    /// Connects to all peers, or waits for them.
    pub(super) fn meet_all(&mut self) -> Result<(), EngineError> {
        self.met = true;
        for file in 0..self.list.len() {
            if self.list[file].attached {
                self.meet(FileIndex::at(file))?;
            }
        }
        Ok(())
    }

    /// Connects to a peer, or waits for it. Returns without a connection if the job must stop.
    fn meet(&mut self, file: FileIndex) -> Result<(), EngineError> {
        let address = self.resolve(file)?;
        match (self.plan.waits, datagrams(self.plan.protocol)) {
            (true, true) => self.await_sender(file),
            (true, false) => self.await_connection(file, &address),
            (false, true) => self.announce(file, &address),
            (false, false) => self.connect(file, &address),
        }
    }

    /// Closes a connection, and announces that.
    pub(super) fn close(&mut self, file: FileIndex) {
        let Some(peer) = self.list.get_mut(file.get()) else { return };
        let none = Peer { fd: -1, ended: true, ..Peer::default() };
        let peer = std::mem::replace(peer, none);
        let Some(socket) = &peer.socket else { return };
        let facts = ConnectionFacts::of(socket);
        let address = peer.address.clone();
        self.facts.push(ConnectionFacts { peer: facts.peer.or(address), ..facts });
        while peer.say(message::CLOSE) == Err(Errno::EAGAIN) && !self.stop.is_stopped() {}
        if datagrams(self.plan.protocol) && !self.plan.waits && !peer.ended {
            self.leaving.push(peer);
        }
    }

    fn keep(&mut self, file: FileIndex, socket: OwnedFd, to: Option<RawAddress>) {
        if let Some(peer) = self.list.get_mut(file.get()) {
            peer.address = net::peer_address(&socket).ok().flatten();
            (peer.fd, peer.to, peer.ended) = (socket.as_raw_fd(), to, false);
            peer.socket = Some(socket);
        }
    }

    /// The address of a file's peer.
    fn resolve(&self, file: FileIndex) -> Result<SocketAddress, EngineError> {
        let path = self.addresses.get(file.get()).map_or(Path::new(""), PathBuf::as_path);
        if self.plan.protocol == Protocol::Unix {
            return SocketAddress::unix(path).map_err(|e| EngineError::from_sys("filename", &e));
        }
        let text = path.to_string_lossy();
        let (host, port) = host_and_port(&text);
        if self.plan.protocol == Protocol::Vsock
            && let (Ok(cid), Ok(port)) = (host.parse(), port.parse())
        {
            return Ok(SocketAddress::Vsock { cid, port });
        }
        let found = match self.plan.protocol {
            Protocol::Tcpv6 | Protocol::Udpv6 => {
                resolve(host, port, SocketAddr::is_ipv6, "IPv6 address")
            }
            _ => {
                let lacking = "IPv4 address; `protocol=tcpv6` and `udpv6` use IPv6";
                resolve(host, port, SocketAddr::is_ipv4, lacking)
            }
        };
        found.and_then(|address| self.scoped(address)).map(SocketAddress::from)
    }

    /// Adds the interface to the address of an IPv6 group, because most groups are local to a network.
    fn scoped(&self, mut address: SocketAddr) -> Result<SocketAddr, EngineError> {
        if let SocketAddr::V6(v6) = &mut address
            && v6.ip().is_multicast()
            && v6.scope_id() == 0
        {
            v6.set_scope_id(self.interface_index()?);
        }
        Ok(address)
    }

    /// A new socket with the options of the job.
    fn new_socket(&self, address: &SocketAddress) -> Result<OwnedFd, EngineError> {
        let is_stream = !datagrams(self.plan.protocol);
        let socket = net::new_socket(address.family(), is_stream)
            .map_err(|e| EngineError::from_sys("protocol", &e))?;
        let set = |option, value, name| {
            set_option(&socket, option, value).map_err(|e| EngineError::from_sys(name, &e))
        };
        if self.plan.nodelay && self.is_tcp() && !self.plan.waits {
            set(SocketOption::NoDelay, 1, "nodelay")?;
        }
        if let Some(Bytes(size)) = self.plan.window {
            let buffer = match self.plan.receives {
                true => SocketOption::ReceiveBuffer,
                false => SocketOption::SendBuffer,
            };
            set(buffer, size as i32, "window_size")?;
        }
        if let Some(Bytes(size)) = self.plan.segment.filter(|_| self.is_tcp()) {
            set(SocketOption::MaxSegment, size as i32, "mss")?;
        }
        net::set_patience(&socket, PATIENCE).map_err(|e| EngineError::from_sys("socket", &e))?;
        Ok(socket)
    }

    const fn is_tcp(&self) -> bool {
        matches!(self.plan.protocol, Protocol::Tcp | Protocol::Tcpv6)
    }

    fn listening_socket(&self, address: &SocketAddress) -> Result<OwnedFd, EngineError> {
        if let SocketAddress::Unix(path) = address {
            remove_unused(path, address)?;
        }
        let socket = self.new_socket(address)?;
        let at = |e: fiord_sys::Error| cannot_listen(address, &e);
        if matches!(address, SocketAddress::Ip(_)) {
            set_option(&socket, SocketOption::ReuseAddress, 1).map_err(at)?;
        }
        if address.family() == libc::AF_INET6 {
            set_option(&socket, SocketOption::OnlyV6, 1).map_err(at)?;
        }
        net::bind(&socket, address).map_err(at)?;
        net::listen(&socket, BACKLOG).map_err(at)?;
        Ok(socket)
    }

    fn receiving_socket(&self, address: &SocketAddress) -> Result<OwnedFd, EngineError> {
        let socket = self.new_socket(address)?;
        let at = |e: fiord_sys::Error| cannot_listen(address, &e);
        if address.family() == libc::AF_INET6 {
            set_option(&socket, SocketOption::OnlyV6, 1).map_err(at)?;
        }
        if let Some(group) = address.ip().filter(IpAddr::is_multicast) {
            // Several receivers on this machine may join the group.
            set_option(&socket, SocketOption::ReuseAddress, 1).map_err(at)?;
            set_option(&socket, SocketOption::ReusePort, 1).map_err(at)?;
            let interface = (self.plan.interface, self.interface_index()?);
            net::join_group(&socket, group, interface).map_err(|e| {
                EngineError::from_sys(&format!("joining the group {group}"), &e)
                    .help("To fix: write `interface=ADDRESS` of an interface with multicast")
            })?;
        }
        net::bind(&socket, address).map_err(|e| match e.errno {
            Errno::EINVAL if address.family() == libc::AF_INET6 => cannot_listen(address, &e)
                .help("To fix: write `interface=ADDRESS`: this address is local to a network"),
            _ => cannot_listen(address, &e),
        })?;
        Ok(socket)
    }

    /// The index of the interface for IPv6 multicast; 0: the kernel chooses.
    fn interface_index(&self) -> Result<u32, EngineError> {
        match self.plan.interface {
            Some(own) => net::index_of(own).map_err(|e| EngineError::from_sys("interface", &e)),
            None => Ok(0),
        }
    }

    /// Waits for the first datagram, which announces the sender.
    fn await_sender(&mut self, file: FileIndex) -> Result<(), EngineError> {
        let Some(peer) = self.list.get_mut(file.get()) else { return Ok(()) };
        let Some(socket) = &peer.socket else { return Ok(()) };
        let failed = |e: fiord_sys::Error| EngineError::from_sys("waiting for a sender", &e);
        let since = Instant::now();
        while !net::wait_for(socket, Readiness::Readable, PATIENCE).map_err(failed)? {
            if self.stop.is_stopped() {
                return Ok(());
            }
            absent(self.plan, since)?;
        }
        let mut data = [0u8; message::LEN];
        let mut from = RawAddress::room();
        let mut take = |flags| {
            let (at, to) = (data.as_mut_ptr().cast(), (&raw mut from.storage).cast());
            // SAFETY: the data and the address are writable memory of these lengths.
            unsafe { libc::recvfrom(peer.fd, at, message::LEN, flags, to, &raw mut from.len) }
        };
        // The announcement may have been lost. Then this is the first block.
        let len = take(libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT);
        if len == message::LEN as isize && data == message::OPEN {
            let mut rest = [0u8; message::LEN];
            // SAFETY: `rest` is writable memory of this length.
            unsafe {
                libc::recv(peer.fd, rest.as_mut_ptr().cast(), rest.len(), libc::MSG_DONTWAIT)
            };
        }
        peer.to = (len >= 0).then_some(from);
        Ok(())
    }

    /// Waits for a connection.
    fn await_connection(
        &mut self,
        file: FileIndex,
        address: &SocketAddress,
    ) -> Result<(), EngineError> {
        let found = self.listeners.iter().find(|listener| listener.address == *address);
        let Some(listener) = found else { return Ok(()) };
        let failed = |e: fiord_sys::Error| EngineError::from_sys("waiting for a connection", &e);
        let since = Instant::now();
        let goes_on = || !self.stop.is_stopped();
        let socket = loop {
            if !goes_on() {
                return Ok(());
            }
            absent(self.plan, since)?;
            if net::wait_for(&listener.socket, Readiness::Readable, PATIENCE).map_err(failed)? {
                match net::accept(&listener.socket) {
                    // The peer has gone again.
                    Err(e) if e.errno == Errno::ECONNABORTED || e.errno == Errno::EAGAIN => {}
                    other => {
                        let socket = other.map_err(failed)?;
                        if self
                            .plan
                            .run
                            .is_none_or(|run| greeting::is_known(&socket, run, &goes_on))
                        {
                            break socket;
                        }
                    }
                }
            }
        };
        if self.plan.nodelay && self.is_tcp() {
            set_option(&socket, SocketOption::NoDelay, 1)
                .map_err(|e| EngineError::from_sys("nodelay", &e))?;
        }
        net::set_patience(&socket, PATIENCE).map_err(|e| EngineError::from_sys("socket", &e))?;
        self.keep(file, socket, None);
        Ok(())
    }

    /// Connects to a peer that waits.
    fn connect(&mut self, file: FileIndex, address: &SocketAddress) -> Result<(), EngineError> {
        let goes_on = || !self.stop.is_stopped();
        let since = Instant::now();
        loop {
            let socket = self.new_socket(address)?;
            let waits = || goes_on() && since.elapsed() < LATE_PEER;
            match net::connect(&socket, address, &goes_on) {
                Ok(true)
                    if self
                        .plan
                        .run
                        .is_none_or(|run| greeting::is_answered(&socket, run, &waits)) =>
                {
                    self.keep(file, socket, None);
                    return Ok(());
                }
                // A job of another run listens at this port.
                Ok(true) => absent(self.plan, since)?,
                Ok(false) => return Ok(()),
                Err(e) if e.errno == Errno::ECONNREFUSED && self.plan.patient => {
                    if since.elapsed() > LATE_PEER {
                        return Err(cannot_connect(address, &e));
                    }
                }
                Err(e) => return Err(cannot_connect(address, &e)),
            }
            if !goes_on() {
                return Ok(());
            }
            std::thread::sleep(PATIENCE);
        }
    }

    /// Tells a receiver of datagrams that blocks follow.
    fn announce(&mut self, file: FileIndex, address: &SocketAddress) -> Result<(), EngineError> {
        let socket = self.new_socket(address)?;
        let failed = |e: fiord_sys::Error| cannot_connect(address, &e);
        let mut to = Some(address.to_raw());
        match address.ip().filter(IpAddr::is_multicast) {
            Some(group) => self.send_to_group(&socket, group)?,
            // A connected socket is faster and learns that nothing receives its datagrams. Answers may
            // come from another address of the peer.
            None if !self.plan.pingpong => {
                net::connect(&socket, address, &|| !self.stop.is_stopped()).map_err(failed)?;
                to = None;
            }
            None => {}
        }
        self.keep(file, socket, to);
        if let Some(peer) = self.list.get_mut(file.get()) {
            peer.is_group = address.ip().is_some_and(|ip| ip.is_multicast());
        }
        let said = self.list.get(file.get()).map_or(Ok(()), |peer| peer.say(message::OPEN));
        said.map_err(|errno| cannot_connect(address, &fiord_sys::Error::new("sendto", errno)))
    }

    /// Sets how multicast packets leave this machine.
    fn send_to_group(&self, socket: &OwnedFd, group: IpAddr) -> Result<(), EngineError> {
        let hops = match group {
            IpAddr::V4(_) => SocketOption::MulticastTtl4,
            IpAddr::V6(_) => SocketOption::MulticastTtl6,
        };
        set_option(socket, hops, self.plan.ttl.hops().into())
            .map_err(|e| EngineError::from_sys("ttl", &e))?;
        match (group, self.plan.interface) {
            (_, None) => Ok(()),
            (IpAddr::V6(_), Some(_)) => {
                let index = self.interface_index()? as i32;
                set_option(socket, SocketOption::MulticastInterface6, index)
                    .map_err(|e| EngineError::from_sys("interface", &e))
            }
            (IpAddr::V4(_), Some(own)) => {
                net::send_from(socket, own).map_err(|e| EngineError::from_sys("interface", &e))
            }
        }
    }
}

/// How long an end waits for the other one on another host of the run, which may be behind, or whose job may have failed.
const LATE_PEER: Duration = Duration::from_secs(60);

/// How long a sender waits for the other members of a group after one of them left.
const SILENCE: Duration = Duration::from_secs(1);

/// How often a sender of datagrams repeats its last message until the receiver answers it.
const FAREWELLS: u32 = 5;

impl Drop for Peers {
    fn drop(&mut self) {
        for peer in self.leaving.drain(..) {
            peer.leave(&self.stop);
        }
        for listener in self.listeners.drain(..) {
            if let SocketAddress::Unix(path) = listener.address {
                // The socket is this job's. A name that is left over does no harm.
                let _ = FileGuard::typed().remove(&path);
            }
        }
    }
}

/// Removes the name of a Unix socket that no program listens on.
fn remove_unused(path: &Path, address: &SocketAddress) -> Result<(), EngineError> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    if !is_socket {
        return Ok(());
    }
    let failed = |e: fiord_sys::Error| EngineError::from_sys("filename", &e);
    let probe = net::new_socket(address.family(), true).map_err(failed)?;
    match net::connect(&probe, address, &|| false) {
        Err(e) if e.errno == Errno::ECONNREFUSED => {
            FileGuard::typed().remove(path).map(drop).map_err(failed)
        }
        _ => Ok(()),
    }
}

/// Fails if a peer on another host of the run does not come.
fn absent(plan: NetPlan, since: Instant) -> Result<(), EngineError> {
    if !plan.patient || since.elapsed() < LATE_PEER {
        return Ok(());
    }
    let what = format!("the peer has not come within {} s", LATE_PEER.as_secs());
    Err(EngineError::plain(&what).help("To fix: check the errors of its host"))
}
