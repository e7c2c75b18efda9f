//! A fabric of virtual hosts behind a virtual network. Time passes only when the coordinator waits.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use fiord_types::{HostIndex, Nanos};

use super::agent::VirtualAgent;
use crate::contract::{Arrival, Fabric, Happening, Loss};

/// Time that the coordinator needs for each message, ns.
const WORK: u64 = 2000;

/// When the virtual time begins.
pub(super) const BEGIN: u64 = 1_000_000_000_000;

/// Pseudo-random numbers (xorshift64*).
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % end.max(1)
    }
}

/// Something that happens at a time. Later fields only keep the order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Delivery {
    at: u64,
    number: u64,
    host: u32,
    what: Content,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    ToHost(Vec<u8>),
    FromHost(Vec<u8>),
    HostLeft,
    /// The agent wants to do something at this time.
    Wake,
}

/// What an agent can do with the network.
pub(super) struct Wire<'a> {
    pub(super) now: u64,
    host: u32,
    network: &'a mut Network,
}

impl Wire<'_> {
    pub(super) fn send(&mut self, message: Vec<u8>) {
        let at = self.network.arrival_time(self.host, 1, self.now);
        self.network.push(at, self.host, Content::FromHost(message));
    }
    pub(super) fn leave(&mut self) {
        let at = self.network.arrival_time(self.host, 1, self.now);
        self.network.push(at, self.host, Content::HostLeft);
    }
    pub(super) fn wake_at(&mut self, at: u64) {
        self.network.push(at.max(self.now), self.host, Content::Wake);
    }
}

#[derive(Debug, Default)]
struct Network {
    deliveries: BinaryHeap<Reverse<Delivery>>,
    number: u64,
    /// When the latest message to and from each host arrives: messages do not overtake each other.
    latest: Vec<[u64; 2]>,
    random: Option<Random>,
    /// Smallest delay, and the most that is added at random, ns.
    delay: (u64, u64),
}

impl Network {
    fn push(&mut self, at: u64, host: u32, what: Content) {
        self.number += 1;
        self.deliveries.push(Reverse(Delivery { at, number: self.number, host, what }));
    }

    fn arrival_time(&mut self, host: u32, direction: usize, now: u64) -> u64 {
        let (least, more) = self.delay;
        let random = self.random.as_mut().map_or(0, |random| random.below(more));
        let latest = &mut self.latest[host as usize][direction];
        *latest = (*latest + 1).max(now + least + random);
        *latest
    }
}

/// The fabric of the coordinator.
pub(super) struct VirtualFabric {
    now: Rc<Cell<u64>>,
    network: Network,
    pub(super) agents: Vec<VirtualAgent>,
    gone: Vec<bool>,
    /// Number of messages in both directions.
    pub(super) messages: u64,
    /// Lines with which the coordinator refused hosts.
    pub(super) refusals: Vec<(HostIndex, String)>,
}

impl VirtualFabric {
    pub(super) fn new(agents: Vec<VirtualAgent>, seed: u64, delay: (u64, u64)) -> Self {
        let count = agents.len();
        let latest = vec![[0; 2]; count];
        let random = Some(Random(seed | 1));
        VirtualFabric {
            now: Rc::new(Cell::new(BEGIN)),
            network: Network { latest, random, delay, ..Network::default() },
            agents,
            gone: vec![false; count],
            messages: 0,
            refusals: Vec::new(),
        }
    }

    pub(super) fn clock(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.now)
    }

    /// All connections have ended.
    pub(super) fn are_all_gone(&self) -> bool {
        self.gone.iter().all(|gone| *gone)
    }

    fn wire(&mut self, host: u32, act: impl FnOnce(&mut VirtualAgent, &mut Wire<'_>)) {
        let (now, network) = (self.now.get(), &mut self.network);
        act(&mut self.agents[host as usize], &mut Wire { now, host, network });
    }
}

impl Fabric for VirtualFabric {
    fn size(&self) -> u32 {
        self.agents.len() as u32
    }

    fn send(&mut self, to: HostIndex, message: Vec<u8>) {
        self.messages += 1;
        self.now.set(self.now.get() + WORK);
        if !self.gone[to.get()] {
            let at = self.network.arrival_time(to.0, 0, self.now.get());
            self.network.push(at, to.0, Content::ToHost(message));
        }
    }

    fn receive(&mut self, until: Nanos) -> Option<Arrival> {
        loop {
            let next = self.network.deliveries.peek().map(|Reverse(delivery)| delivery.at);
            if next.is_none_or(|at| at > until.0) {
                self.now.set(self.now.get().max(until.0));
                return None;
            }
            let Reverse(Delivery { at, host, what, .. }) = self.network.deliveries.pop()?;
            let from = HostIndex(host);
            let before = self.now.get();
            // Hosts act at their own times, even if the coordinator is late.
            self.now.set(at);
            let happening = match what {
                Content::ToHost(message) => {
                    self.wire(host, |agent, wire| agent.message(&message, wire));
                    None
                }
                Content::Wake => {
                    self.wire(host, VirtualAgent::wake);
                    None
                }
                Content::FromHost(message) => Some(Happening::Message(message)),
                Content::HostLeft => Some(Happening::Lost(Loss::Closed { said: String::new() })),
            };
            self.now.set(at.max(before));
            if let Some(what) = happening.filter(|_| !self.gone[from.get()]) {
                self.messages += 1;
                self.now.set(self.now.get() + WORK);
                self.gone[from.get()] = matches!(what, Happening::Lost(_));
                return Some(Arrival { from, at: Nanos(self.now.get()), what });
            }
        }
    }

    fn trust(&mut self, _peer: HostIndex) {}

    fn refuse(&mut self, peer: HostIndex, why: &str) {
        self.refusals.push((peer, why.to_owned()));
        self.close(peer);
    }

    fn close(&mut self, peer: HostIndex) {
        if !std::mem::replace(&mut self.gone[peer.get()], true) {
            self.wire(peer.0, VirtualAgent::closed);
        }
    }
}
