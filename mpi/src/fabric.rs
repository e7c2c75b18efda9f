//! The fabric whose peers are the ranks of an MPI job.
//!
//! At rank 0, peer 0 is an agent in a process of its own, which talks over standard input and output, and the other peers
//! are the other ranks. At the other ranks, peer 0 is rank 0. MPI has no connections, so a frame begins with a byte that
//! says what it is. All ranks belong to one job of one user, so that each is trusted.

use std::collections::VecDeque;

use fiord_fabric::contract::{Arrival, Fabric, Happening, Loss, MAX_QUEUE};
use fiord_fabric::frame::{MAX_BODY, MAX_REFUSAL, printable};
use fiord_fabric::hub::Hub;
use fiord_sys::clock;
use fiord_types::{Bytes, HostIndex, Nanos};

use crate::world::{MpiArrival, MpiWorld};

/// Frame types.
const MESSAGE: u8 = 1;
const REFUSAL: u8 = 2;
const CLOSED: u8 = 3;

/// How long rank 0 waits at the end for the other ranks.
const END_LIMIT: Nanos = Nanos::from_secs(5);

/// Polling interval while the other ranks end.
const LOOK: Nanos = Nanos::from_millis(20);

/// The exit status of a run that lost a host.
const LOST_STATUS: u8 = 249;

/// The rank that coordinates.
const FIRST: HostIndex = HostIndex(0);

#[derive(Debug)]
pub(crate) struct MpiFabric {
    /// Has the agent of rank 0, waits, and watches signals.
    hub: Hub,
    /// `None` after the end.
    world: Option<MpiWorld>,
    rank: HostIndex,
    ranks: HostIndex,
    /// Ranks from which nothing more arrives.
    gone: Vec<bool>,
    /// Ranks that have said that they end.
    ended: Vec<bool>,
    /// Arrivals that this end causes itself.
    early: VecDeque<Arrival>,
}

impl MpiFabric {
    /// `hub` is the one whose waker the world has. At rank 0 its only peer is the agent of this rank.
    pub(crate) fn new(hub: Hub, world: MpiWorld) -> MpiFabric {
        let (rank, ranks) = (world.rank, world.ranks);
        let gone = vec![false; ranks.get()];
        MpiFabric {
            hub,
            world: Some(world),
            rank,
            ranks,
            ended: gone.clone(),
            gone,
            early: VecDeque::new(),
        }
    }

    /// Whether the peer is in the hub.
    fn is_local(&self, peer: HostIndex) -> bool {
        self.rank == FIRST && peer == FIRST
    }

    fn frame(&mut self, to: HostIndex, kind: u8, body: &[u8]) {
        let mut frame = Vec::with_capacity(1 + body.len());
        frame.push(kind);
        frame.extend_from_slice(body);
        if let Some(world) = &self.world {
            world.send(to, frame);
        }
    }

    fn lose(&mut self, peer: HostIndex, loss: Loss) {
        self.gone[peer.get()] = true;
        let at = Nanos(clock::monotonic());
        self.early.push_back(Arrival { from: peer, at, what: Happening::Lost(loss) });
    }

    /// What a frame says. `None` if nothing is expected from its sender.
    fn read(&mut self, arrival: MpiArrival) -> Option<Arrival> {
        let MpiArrival { from, at, mut frame } = arrival;
        if frame.first() == Some(&CLOSED) {
            *self.ended.get_mut(from.get())? = true;
        }
        if *self.gone.get(from.get())? || frame.is_empty() {
            return None;
        }
        let what = match frame.remove(0) {
            MESSAGE => Happening::Message(frame),
            REFUSAL => Happening::Lost(Loss::Refused { why: printable(&frame, MAX_REFUSAL) }),
            _ => Happening::Lost(Loss::Closed { said: String::new() }),
        };
        self.gone[from.get()] = matches!(what, Happening::Lost(_));
        Some(Arrival { from, at, what })
    }

    /// Waits until all other ranks say that they end. False if one of them does not.
    fn all_end(&mut self) -> bool {
        let until = Nanos(clock::monotonic()).saturating_add(END_LIMIT);
        while self.ended[1..].contains(&false) {
            let now = Nanos(clock::monotonic());
            if now >= until {
                return false;
            }
            self.receive(until.min(now.saturating_add(LOOK)));
        }
        true
    }

    fn waiting(&mut self) -> Option<Arrival> {
        if let Some(early) = self.early.pop_front() {
            return Some(early);
        }
        while let Some(arrival) = self.world.as_ref().and_then(MpiWorld::arrival) {
            if let Some(arrival) = self.read(arrival) {
                return Some(arrival);
            }
        }
        None
    }
}

impl Drop for MpiFabric {
    /// Ends MPI, which waits for all ranks. If one of them does not end, rank 0 ends the processes of all ranks instead.
    fn drop(&mut self) {
        if self.rank != FIRST {
            self.frame(FIRST, CLOSED, &[]);
        }
        let all = self.rank != FIRST || self.all_end();
        let Some(world) = self.world.take() else { return };
        if all { world.end() } else { world.abort(LOST_STATUS) }
    }
}

impl Fabric for MpiFabric {
    fn size(&self) -> u32 {
        if self.rank == FIRST { self.ranks.0 } else { 1 }
    }

    fn send(&mut self, to: HostIndex, message: Vec<u8>) {
        if self.is_local(to) {
            return self.hub.send(to, message);
        }
        let queued = self.queued(to);
        if self.gone[to.get()] {
            return;
        }
        if message.len() > MAX_BODY {
            self.lose(to, Loss::TooLong { length: Bytes(message.len() as u64) });
        } else if queued > Bytes(MAX_QUEUE as u64) {
            self.lose(to, Loss::Stalled { queued });
        } else {
            self.frame(to, MESSAGE, &message);
        }
    }

    fn queued(&self, to: HostIndex) -> Bytes {
        if self.is_local(to) {
            return self.hub.queued(to);
        }
        self.world.as_ref().map_or(Bytes::ZERO, |world| Bytes(world.queued(to)))
    }

    fn receive(&mut self, until: Nanos) -> Option<Arrival> {
        // The hub waits, and each message of a rank wakes it.
        if let Some(arrival) = self.waiting() {
            return Some(arrival);
        }
        self.hub.receive(until).or_else(|| self.waiting())
    }

    fn trust(&mut self, peer: HostIndex) {
        if self.is_local(peer) {
            self.hub.trust(peer);
        }
    }

    fn refuse(&mut self, peer: HostIndex, why: &str) {
        if self.is_local(peer) {
            self.hub.refuse(peer, why);
        } else {
            let why = &why.as_bytes()[..why.len().min(MAX_REFUSAL)];
            self.frame(peer, REFUSAL, why);
            self.gone[peer.get()] = true;
        }
    }

    fn close(&mut self, peer: HostIndex) {
        if self.is_local(peer) {
            self.hub.close(peer);
        } else if !self.gone[peer.get()] {
            self.frame(peer, CLOSED, &[]);
            self.gone[peer.get()] = true;
        }
    }
}
