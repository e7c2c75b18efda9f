//! A fabric of streams: processes such as ssh, TCP connections, Unix sockets, and standard input and output.
//!
//! | question | module |
//! |---|---|
//! | where does an agent listen | `endpoint` |
//! | which bytes does a stream take and give without blocking | `wire` |
//! | what waits for a peer, what has arrived, why is it lost | `link` |
//! | encryption | `seal` |
//! | the process that connects to an agent, and what it prints on standard error | `process` |
//! | connecting to an agent that listens | `connecting` |
//! | accepting coordinators | `listening` |
//! | when does a closed connection end | `closing` |
//! | waiting for all of them | `turn` |

mod closing;
mod connecting;
mod endpoint;
mod link;
mod listening;
mod process;
mod seal;
mod turn;
mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use fiord_sys::clock::monotonic;
use fiord_sys::poll::{ReadableSet, WakeEvent};
use fiord_sys::signal::Signals;
use fiord_types::{Bytes, Errno, HostIndex, Nanos};

pub use endpoint::{BadEndpoint, DEFAULT_PORT, Endpoint, IpVersion};
pub use listening::ListenError;

use crate::contract::{Arrival, Fabric, Happening, Loss};
use closing::{ClosingLink, GRACE};
use connecting::{Attempt, Attempted};
use link::HostLink;
use listening::Listener;
use process::AgentProcess;
use seal::{Seal, SealKeys};
use wire::Wire;

/// Maximum number of connections that are being made at once. The others wait. Many processes of ssh at once would need
/// much memory, and sshd refuses some connections if too many have not authenticated yet.
pub const MAX_CONNECTING: usize = 64;

/// Maximum number of peers that made a connection and have not spoken yet. If another one comes, one of them is lost that
/// had the time to speak.
pub const MAX_STRANGERS: usize = 1024;

/// How long a connection may take, and how long a peer that made one may take until its first message is complete.
const CONNECT_LIMIT: Nanos = Nanos::from_secs(10);

/// A process that has not spoken for this long no longer counts as connecting, so that the next one can start.
const PROCESS_TURN: Nanos = Nanos::from_secs(20);

/// A process has three pipes. While it starts, this process also has the other ends of them.
const FILES_OF_A_PEER: u64 = 3;

/// Open files that do not belong to a peer.
const SPARE_FILES: u64 = 256;

/// A fabric of streams. It does not start threads, except for name resolution; everything happens in
/// [`receive`](Fabric::receive). Dropping it closes all connections and gives each peer two seconds to read what was sent.
#[derive(Debug)]
pub struct Hub {
    links: BTreeMap<HostIndex, HostLink>,
    /// The index of the next peer.
    next: HostIndex,
    /// The inputs of all links. A number is the index of the peer, with a mark for the standard error of its process.
    inputs: ReadableSet,
    /// Links that may have a message or an end.
    ready: VecDeque<HostIndex>,
    /// Peers that joined or were lost.
    changes: VecDeque<Arrival>,
    /// Peers whose processes are about to end.
    ending: BTreeSet<HostIndex>,
    closing: Vec<ClosingLink>,
    /// Connections to make later.
    waiting: VecDeque<(HostIndex, Approach)>,
    /// Connections that are being made, and peers that have said nothing yet, with the time at which they end.
    fresh: BTreeMap<HostIndex, (Nanos, Freshness)>,
    attempted: (Sender<Attempted>, Receiver<Attempted>),
    listeners: Vec<Listener>,
    /// No connections are accepted until then, because accepting failed.
    accepts_from: Nanos,
    wakes: Arc<Wakes>,
    signals: Option<&'static Signals>,
    keys: Option<Box<dyn SealKeys>>,
    buffer: Vec<u8>,
}

/// How to reach a peer.
#[derive(Debug)]
enum Approach {
    Command(Vec<String>),
    Connect(Attempt),
}

/// Why a peer is in [`Hub::fresh`].
#[derive(Debug)]
enum Freshness {
    /// The connection to the peer is being made. After the time it is lost.
    Connecting(Attempt),
    /// The process of the peer was started. After the time other processes may start.
    Started,
    /// The peer made the connection and has not spoken. After the time it is lost.
    Accepted {
        /// The address of its machine.
        from: String,
    },
}

/// Wakes [`Hub::receive`](Fabric::receive) from any thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<Wakes>);

#[derive(Debug)]
struct Wakes {
    event: WakeEvent,
    /// A [`Waker`] was used, and `receive` has not returned since.
    asked: AtomicBool,
}

impl Waker {
    /// Makes the current or the next call of `receive` return `None`, unless something arrives.
    pub fn wake(&self) {
        self.0.asked.store(true, Ordering::Release);
        self.0.event.wake();
    }
}

fn now() -> Nanos {
    Nanos(monotonic())
}

impl Hub {
    /// A fabric without peers.
    ///
    /// # Errors
    /// Errors of `eventfd(2)` and `epoll_create1(2)`.
    pub fn new() -> fiord_sys::Result<Hub> {
        Ok(Hub {
            links: BTreeMap::new(),
            next: HostIndex(0),
            inputs: ReadableSet::new()?,
            ready: VecDeque::new(),
            changes: VecDeque::new(),
            ending: BTreeSet::new(),
            closing: Vec::new(),
            waiting: VecDeque::new(),
            fresh: BTreeMap::new(),
            attempted: channel(),
            listeners: Vec::new(),
            accepts_from: Nanos::ZERO,
            wakes: Arc::new(Wakes { event: WakeEvent::new()?, asked: AtomicBool::new(false) }),
            signals: None,
            keys: None,
            buffer: vec![0; 256 << 10],
        })
    }

    /// The end of an agent whose coordinator is peer 0, on standard input and output. What this process prints on standard
    /// output from now on appears on standard error.
    ///
    /// # Errors
    /// Standard input is a terminal, or a system call failed.
    pub fn stdio() -> fiord_sys::Result<Hub> {
        if std::io::stdin().is_terminal() {
            let error = fiord_sys::Error::new("read standard input", Errno::EINVAL);
            return Err(error.saying(
                "it is a terminal, but another fiord must be at the other end. To fix: use `fiord --hosts=HOST job.fio`, \
                 which runs this command",
            ));
        }
        let mut hub = Hub::new()?;
        let (input, output) = fiord_sys::standard_output::take_streams()?;
        let wire = Wire::pipes(input, output)?;
        let coordinator = hub.add(HostLink::default());
        hub.connected(coordinator, wire, None);
        Ok(hub)
    }

    /// Starts a program that connects to an agent: `ssh HOST fiord agent --stdio`. Its standard input and output carry the
    /// messages. The last line of its standard error becomes part of the [`Loss`].
    ///
    /// The peer is lost with [`Loss::NotReached`] if the program cannot be started, or ends before its first message. There
    /// is no other limit: the caller decides how long it waits for the first message.
    pub fn start(&mut self, command: &[String]) -> HostIndex {
        let peer = self.add(HostLink::default());
        self.waiting.push_back((peer, Approach::Command(command.to_vec())));
        peer
    }

    /// Connects to an agent that listens. The peer is lost with [`Loss::NotReached`] after 10 s.
    pub fn connect(&mut self, to: &Endpoint) -> HostIndex {
        self.approach(Attempt { endpoint: to.clone(), limit: CONNECT_LIMIT, retries: false })
    }

    /// Connects to an agent that may start to listen later. Tries again until `limit` has passed; then the peer is lost with
    /// [`Loss::NotReached`].
    pub fn connect_within(&mut self, to: &Endpoint, limit: Nanos) -> HostIndex {
        self.approach(Attempt { endpoint: to.clone(), limit, retries: true })
    }

    fn approach(&mut self, attempt: Attempt) -> HostIndex {
        let peer = self.add(HostLink::default());
        self.waiting.push_back((peer, Approach::Connect(attempt)));
        peer
    }

    /// From now on, connections of TCP are encrypted, and both ends prove that they have keys that the other one trusts.
    #[cfg(feature = "tls")]
    pub fn use_keys(&mut self, keys: crate::tls::TlsKeys) {
        self.keys = Some(Box::new(keys));
    }

    /// Accepts connections. Each is a new peer, whose first arrival is [`Happening::Joined`]. Returns the endpoint with the
    /// port that the kernel chose for port 0. A Unix socket is removed when the hub is dropped.
    ///
    /// A peer whose first message is not complete within 10 s is lost. If [`MAX_STRANGERS`] have not spoken, the oldest one
    /// of the machine that has most of them is lost after a second, so a peer that speaks waits at most so long for others
    /// that do not.
    ///
    /// # Errors
    /// The name has no address, the address is not one of this machine, or another program listens there.
    pub fn listen(&mut self, on: &Endpoint) -> Result<Endpoint, ListenError> {
        let (listeners, endpoint) = Listener::open(on)?;
        self.listeners.extend(listeners);
        Ok(endpoint)
    }

    /// Accepts no more connections. Peers stay.
    pub fn stop_listening(&mut self) {
        self.listeners.clear();
    }

    /// Returns a handle that wakes [`Hub::receive`](Fabric::receive) from any thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(self.wakes.clone())
    }

    /// From now on [`Hub::receive`](Fabric::receive) returns `None` when a signal arrives. No other thread may wait for
    /// these signals.
    pub fn watch_signals(&mut self, signals: &'static Signals) {
        self.signals = Some(signals);
    }

    fn add(&mut self, link: HostLink) -> HostIndex {
        let peer = self.next;
        self.next = HostIndex(peer.0 + 1);
        self.links.insert(peer, link);
        // If the hard limit is too low, what fails later names it.
        let files = SPARE_FILES + FILES_OF_A_PEER * self.links.len() as u64;
        let _ = fiord_sys::limits::raise_open_files(files);
        peer
    }

    fn connected(&mut self, peer: HostIndex, wire: Wire, process: Option<AgentProcess>) {
        let seal = match self.seal(&wire, false) {
            Ok(seal) => seal,
            Err(loss) => return self.lose(peer, loss),
        };
        match self.links.get_mut(&peer) {
            Some(link) => {
                link.connected(wire, process, seal, now());
                if link.is_usable()
                    && !matches!(self.fresh.get(&peer), Some((_, Freshness::Started)))
                {
                    self.fresh.remove(&peer);
                }
                self.watch(peer);
            }
            // The peer was closed meanwhile.
            None => {
                self.closing.push(ClosingLink::new(Some(wire), process, Default::default(), now()))
            }
        }
    }

    /// The encryption of a connection. Processes and Unix sockets have none: they are protected by other means.
    fn seal(&self, wire: &Wire, accepted: bool) -> Result<Option<Box<dyn Seal>>, Loss> {
        match (&self.keys, wire) {
            (Some(keys), Wire::Tcp(_)) => keys.seal(accepted).map(Some),
            _ => Ok(None),
        }
    }

    /// Takes a peer out of the lists of those that are connected or about to be.
    fn take(&mut self, peer: HostIndex) -> Option<HostLink> {
        self.fresh.remove(&peer);
        self.ending.remove(&peer);
        let link = self.links.remove(&peer)?;
        self.unwatch(&link);
        Some(link)
    }

    /// Reports that a peer is lost.
    fn lose(&mut self, peer: HostIndex, loss: Loss) {
        if let Some(link) = self.lose_from_lists(peer, loss.clone()) {
            self.closing.push(link.abandon(&loss, now()));
        }
    }

    /// Reports that a peer is lost. The caller ends its connection.
    fn lose_from_lists(&mut self, peer: HostIndex, loss: Loss) -> Option<HostLink> {
        let mut link = self.take(peer)?;
        let at = now();
        if let Some(peer_name) = link.joined() {
            let what = Happening::Joined { peer: peer_name };
            self.changes.push_back(Arrival { from: peer, at, what });
        }
        self.changes.push_back(Arrival { from: peer, at, what: Happening::Lost(loss) });
        Some(link)
    }
}

impl Fabric for Hub {
    fn size(&self) -> u32 {
        self.next.0
    }

    fn send(&mut self, to: HostIndex, message: Vec<u8>) {
        let Some(link) = self.links.get_mut(&to) else { return };
        if let Err(loss) = link.send(&message, now()) {
            self.lose(to, loss);
        }
    }

    fn queued(&self, to: HostIndex) -> Bytes {
        self.links.get(&to).map_or(Bytes::ZERO, HostLink::queued)
    }

    fn receive(&mut self, until: Nanos) -> Option<Arrival> {
        let mut is_last = false;
        loop {
            if let Some(arrival) = self.next_arrival() {
                return Some(arrival);
            }
            if is_last {
                return None;
            }
            is_last = self.turn(until);
        }
    }

    fn trust(&mut self, peer: HostIndex) {
        if let Some(link) = self.links.get_mut(&peer) {
            link.trust();
        }
    }

    fn refuse(&mut self, peer: HostIndex, why: &str) {
        if let Some(link) = self.take(peer) {
            self.closing.push(link.refuse(why, now()));
        }
    }

    fn close(&mut self, peer: HostIndex) {
        if let Some(link) = self.take(peer) {
            self.closing.push(link.close(now()));
        }
    }

    /// A process that connects to the peer notices the end of its input, but is not waited for.
    fn abandon(&mut self, peer: HostIndex) {
        drop(self.take(peer));
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop_listening();
        self.waiting.clear();
        for peer in self.links.keys().copied().collect::<Vec<_>>() {
            self.close(peer);
        }
        while !self.closing.is_empty() {
            // A turn does nothing before changes are taken.
            self.changes.clear();
            self.turn(now().saturating_add(GRACE));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;

    use super::*;

    const LIMIT: Nanos = Nanos::from_secs(60);

    fn next(hub: &mut Hub) -> Arrival {
        hub.receive(now().saturating_add(LIMIT)).expect("an arrival within a minute")
    }

    fn listen(hub: &mut Hub, text: &str) -> Endpoint {
        hub.listen(&Endpoint::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn a_hub_can_move_to_another_thread() {
        fn is_send<T: Send>(_: &T) {}
        let hub = Hub::new().unwrap();
        is_send(&hub);
        is_send(&hub.waker());
    }

    #[test]
    fn silent_peers_keep_no_other_from_speaking() {
        let mut hub = Hub::new().unwrap();
        let address = listen(&mut hub, "127.0.0.1,0").to_string();
        let mut streams = Vec::new();
        let age = |hub: &mut Hub, left: Nanos| {
            let until = now().saturating_add(left);
            hub.fresh.values_mut().for_each(|fresh| fresh.0 = until);
        };
        for _ in 0..MAX_STRANGERS {
            streams.push(TcpStream::connect(&address).unwrap());
            assert!(matches!(next(&mut hub).what, Happening::Joined { .. }));
            age(&mut hub, LIMIT);
        }
        // They may still speak, so the next one waits. Later they had their time.
        let mut early = TcpStream::connect(&address).unwrap();
        early.write_all(b"FIRD\x01\0\x01\0\0\0\0\0").unwrap();
        assert_eq!(hub.receive(now().saturating_add(Nanos::from_millis(50))), None);
        age(&mut hub, CONNECT_LIMIT.saturating_sub(Nanos::from_secs(2)));
        for _ in 0..2 {
            let mut client = TcpStream::connect(&address).unwrap();
            client.write_all(b"FIRD\x01\0\x01\0\0\0\0\0").unwrap();
            let mut arrivals = std::iter::from_fn(|| Some(next(&mut hub)));
            let spoke = arrivals.find(|one| one.what == Happening::Message(Vec::new()));
            assert!(spoke.is_some());
            streams.push(client);
        }
        assert!(hub.fresh.len() <= MAX_STRANGERS);
        assert!(!hub.links.contains_key(&HostIndex(0)));
        // The time of one is up.
        age(&mut hub, LIMIT);
        let (last, fresh) = hub.fresh.iter_mut().next_back().unwrap();
        let last = *last;
        fresh.0 = Nanos::ZERO;
        let Arrival { from, what: Happening::Lost(loss), .. } = next(&mut hub) else {
            panic!("not lost")
        };
        assert_eq!(from, last);
        let why = "the connection ended: its first message was not complete after 10 s";
        assert_eq!(loss.to_string(), why);
    }

    #[test]
    fn all_addresses_of_a_name_are_listened_on() {
        let mut hub = Hub::new().unwrap();
        let port = listen(&mut hub, ",0").port().unwrap();
        drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
        let Happening::Joined { peer } = next(&mut hub).what else { panic!("not joined") };
        assert!(peer.starts_with("127.0.0.1:"), "{peer}");
        let localhost = Endpoint::parse("localhost,0").unwrap();
        let addresses = localhost.addresses().unwrap();
        let bound = hub.listen(&localhost).unwrap().port().unwrap();
        for mut address in addresses {
            address.set_port(bound);
            // A machine without IPv6 can have the name.
            if TcpStream::connect(address).is_err() {
                assert!(address.is_ipv6());
            }
        }
    }

    #[test]
    fn changes_that_are_not_taken_do_not_prevent_the_end() {
        let mut hub = Hub::new().unwrap();
        hub.start(&["cat".into()]);
        hub.start(&["cat".into()]);
        assert_eq!(hub.receive(now()), None);
        for peer in [HostIndex(0), HostIndex(1)] {
            hub.lose(peer, Loss::Closed { said: String::new() });
        }
        drop(hub);
    }

    #[test]
    fn an_attempt_that_takes_too_long_ends() {
        let mut hub = Hub::new().unwrap();
        let endpoint = Endpoint::parse("n01,9").unwrap();
        let peer = hub.add(HostLink::default());
        let attempt = Attempt { endpoint, limit: CONNECT_LIMIT, retries: false };
        hub.fresh.insert(peer, (Nanos::ZERO, Freshness::Connecting(attempt)));
        let Happening::Lost(loss) = next(&mut hub).what else { panic!("not lost") };
        let text = loss.to_string();
        assert!(
            text.starts_with("cannot connect to n01:9: no answer within 10 s. To fix"),
            "{text}"
        );
    }
}
