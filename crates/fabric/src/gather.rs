//! Rank 0 of a parallel job waits for the other ranks, which connect to it in any order.
//!
//! Each of the other ranks connects, sends one message with its rank, and waits until all are there ([`join`]).
//! [`RankFabric`] gives each rank the peer with its number, as the coordinator expects. Peer 0 is the agent of rank 0 itself,
//! which is started when all others are there, because an agent does not wait long for its coordinator.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;

use fiord_sys::clock;
use fiord_types::{Bytes, HostIndex, Nanos};
use serde::{Deserialize, Serialize};

use crate::contract::{Arrival, Fabric, Happening, Loss};
use crate::frame::printable;
use crate::hostlist::MAX_NAME;
use crate::message::{decode, encode};

/// The first message of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoiningRank {
    /// Number of the rank, from 1.
    pub rank: HostIndex,
    /// How many ranks the job has.
    pub ranks: NonZeroU32,
    /// The name of its machine.
    pub host: String,
}

/// The answer of rank 0, when it waits for no more ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct GatheredRanks {
    ranks: NonZeroU32,
}

/// Why a rank did not join.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The connection to rank 0 was not made, or ended.
    #[error("rank 0: {0}")]
    Lost(#[from] Loss),
    /// Rank 0 is another program.
    #[error("rank 0 sent an unexpected answer. To fix: run one version of fiord on all ranks")]
    OtherAnswer,
    /// Rank 0 did not answer.
    #[error("rank 0 did not begin the run. To fix: check that its process runs")]
    NoAnswer,
    /// The caller interrupted it.
    #[error("interrupted while rank 0 waited for other ranks")]
    Interrupted,
}

/// Joins the run as a rank other than 0: says which rank this process is and on which machine, and waits until rank 0 has
/// all ranks, until a time on [`fiord_sys::clock::monotonic`], or until `interrupted`. Rank 0 is peer 0.
///
/// # Errors
/// Rank 0 is not reached, refuses this process, or does not answer in time.
pub fn join(
    fabric: &mut dyn Fabric,
    own: &JoiningRank,
    until: Nanos,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<(), JoinError> {
    fabric.send(HostIndex(0), encode(own, &[]));
    loop {
        if interrupted() {
            return Err(JoinError::Interrupted);
        }
        match fabric.receive(until).map(|arrival| arrival.what) {
            Some(Happening::Lost(loss)) => return Err(loss.into()),
            Some(Happening::Message(bytes)) => {
                let answer = decode::<GatheredRanks>(&bytes);
                return answer.map(|_| ()).map_err(|_| JoinError::OtherAnswer);
            }
            Some(Happening::Joined { .. }) => {}
            None if Nanos(clock::monotonic()) >= until => return Err(JoinError::NoAnswer),
            None => {}
        }
    }
}

/// A fabric whose peers are the ranks of a parallel job.
#[derive(Debug)]
pub struct RankFabric<F> {
    inner: F,
    /// The peer that each rank is. `None`: the rank has not joined.
    peers: Vec<Option<HostIndex>>,
    /// The name of each rank's machine. Empty: the rank has not joined.
    hosts: Vec<String>,
    /// The rank of each peer that joined.
    ranks: HashMap<HostIndex, HostIndex>,
    /// What arrived before it was asked for.
    early: VecDeque<Arrival>,
}

impl<F: Fabric> RankFabric<F> {
    /// `inner` has no peer, and listens for the other ranks. `host` is the name of this machine.
    #[must_use]
    pub fn new(inner: F, ranks: NonZeroU32, host: &str) -> RankFabric<F> {
        let peers = vec![None; ranks.get() as usize];
        let mut hosts = vec![String::new(); peers.len()];
        hosts[0] = host.into();
        RankFabric { inner, peers, hosts, ranks: HashMap::new(), early: VecDeque::new() }
    }

    /// Waits until all other ranks have joined, until a time on [`fiord_sys::clock::monotonic`], or until `interrupted`.
    /// Ranks that have not joined by then are lost with [`Loss::NotReached`], and cannot join any more. `waited` is the
    /// text for the time that they had.
    pub fn gather(&mut self, until: Nanos, waited: &str, interrupted: &mut dyn FnMut() -> bool) {
        let mut now = Nanos::ZERO;
        while self.peers[1..].contains(&None) && now < until && !interrupted() {
            if let Some(arrival) = self.inner.receive(until) {
                now = arrival.at;
                self.take(arrival);
            } else {
                now = Nanos(clock::monotonic());
            }
        }
        let ranks = NonZeroU32::new(self.size()).unwrap_or(NonZeroU32::MIN);
        for rank in HostIndex(1).to(HostIndex::at(self.peers.len())) {
            if let Some(peer) = self.peers[rank] {
                self.inner.send(peer, encode(&GatheredRanks { ranks }, &[]));
                continue;
            }
            let why = format!(
                "rank {rank} did not connect within {waited}. To fix: check that its process runs, that it has the same \
                 FIORD_RENDEZVOUS, and that no firewall is between the machines"
            );
            let what = Happening::Lost(Loss::NotReached { why });
            self.early.push_back(Arrival { from: rank, at: now, what });
        }
    }

    /// Waits for the other ranks until a time on [`fiord_sys::clock::monotonic`], and refuses each: there will be no run.
    /// `why` is one line.
    pub fn dismiss(&mut self, until: Nanos, why: &str) {
        while self.peers[1..].contains(&None) && Nanos(clock::monotonic()) < until {
            let Some(arrival) = self.inner.receive(until) else { continue };
            let from = arrival.from;
            self.take(arrival);
            if self.ranks.contains_key(&from) {
                self.inner.refuse(from, why);
            }
        }
    }

    /// Makes a peer of the inner fabric rank 0: the agent of this process.
    pub fn add_own(&mut self, peer: HostIndex) {
        self.peers[0] = Some(peer);
        self.ranks.insert(peer, HostIndex(0));
    }

    /// The name of each rank's machine, in the order of the ranks. Empty for ranks that have not joined.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The fabric that has the connections.
    pub fn inner(&mut self) -> &mut F {
        &mut self.inner
    }

    /// Handles an arrival while ranks are joining.
    fn take(&mut self, arrival: Arrival) {
        let Arrival { from, at, what } = arrival;
        match (self.ranks.get(&from), what) {
            (Some(rank), what) => self.early.push_back(Arrival { from: *rank, at, what }),
            (None, Happening::Message(bytes)) => match self.accept(&bytes) {
                Ok(JoiningRank { rank, host, .. }) => {
                    self.hosts[rank.get()] = printable(host.as_bytes(), MAX_NAME);
                    self.peers[rank] = Some(from);
                    self.ranks.insert(from, rank);
                }
                Err(why) => self.inner.refuse(from, &why.to_string()),
            },
            (None, Happening::Joined { .. } | Happening::Lost(_)) => {}
        }
    }

    fn accept(&self, bytes: &[u8]) -> Result<JoiningRank, NotJoined> {
        let (joining, _) = decode::<JoiningRank>(bytes).map_err(|_| NotJoined::NoRank)?;
        let (rank, ranks) = (joining.rank, joining.ranks);
        let expected = self.peers.len();
        if ranks.get() as usize != expected {
            return Err(NotJoined::OtherJob { rank, ranks, expected });
        }
        match self.peers.get(rank.get()) {
            Some(None) => Ok(joining),
            Some(Some(_)) => Err(NotJoined::Twice(rank)),
            None => Err(NotJoined::OtherJob { rank, ranks, expected }),
        }
    }

    fn peer(&self, rank: HostIndex) -> Option<HostIndex> {
        *self.peers.get(rank.get())?
    }
}

/// Why a peer is not one of the ranks.
#[derive(Debug, thiserror::Error)]
enum NotJoined {
    #[error("this is rank 0 of a parallel job, which waits for its other ranks only")]
    NoRank,
    #[error(
        "rank {rank} of {ranks} does not belong to this job, which has {expected} ranks. To fix: give jobs that run at \
         the same time different ports in FIORD_RENDEZVOUS"
    )]
    OtherJob { rank: HostIndex, ranks: NonZeroU32, expected: usize },
    #[error(
        "rank {0} has joined already. To fix: give jobs that run at the same time different ports in FIORD_RENDEZVOUS"
    )]
    Twice(HostIndex),
    #[error("the run has begun without this rank")]
    Late,
}

impl<F: Fabric> Fabric for RankFabric<F> {
    fn size(&self) -> u32 {
        HostIndex::at(self.peers.len()).0
    }

    fn send(&mut self, to: HostIndex, message: Vec<u8>) {
        if let Some(peer) = self.peer(to) {
            self.inner.send(peer, message);
        }
    }

    fn queued(&self, to: HostIndex) -> Bytes {
        self.peer(to).map_or(Bytes::ZERO, |peer| self.inner.queued(peer))
    }

    fn receive(&mut self, until: Nanos) -> Option<Arrival> {
        if let Some(early) = self.early.pop_front() {
            return Some(early);
        }
        loop {
            let Arrival { from, at, what } = self.inner.receive(until)?;
            if let Some(rank) = self.ranks.get(&from) {
                return Some(Arrival { from: *rank, at, what });
            }
            if matches!(what, Happening::Joined { .. }) {
                self.inner.refuse(from, &NotJoined::Late.to_string());
            }
        }
    }

    fn trust(&mut self, peer: HostIndex) {
        if let Some(peer) = self.peer(peer) {
            self.inner.trust(peer);
        }
    }

    fn refuse(&mut self, peer: HostIndex, why: &str) {
        if let Some(peer) = self.peer(peer) {
            self.inner.refuse(peer, why);
        }
    }

    fn close(&mut self, peer: HostIndex) {
        if let Some(peer) = self.peer(peer) {
            self.inner.close(peer);
        }
    }

    fn abandon(&mut self, peer: HostIndex) {
        if let Some(peer) = self.peer(peer) {
            self.inner.abandon(peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fabric with a script of arrivals. It remembers what it was asked to do.
    #[derive(Debug, Default)]
    struct ScriptFabric {
        arrivals: VecDeque<Arrival>,
        sent: Vec<(HostIndex, Vec<u8>)>,
        refused: Vec<(HostIndex, String)>,
    }

    impl Fabric for ScriptFabric {
        fn size(&self) -> u32 {
            1
        }
        fn send(&mut self, to: HostIndex, message: Vec<u8>) {
            self.sent.push((to, message));
        }
        fn receive(&mut self, _until: Nanos) -> Option<Arrival> {
            self.arrivals.pop_front()
        }
        fn trust(&mut self, _peer: HostIndex) {}
        fn refuse(&mut self, peer: HostIndex, why: &str) {
            self.refused.push((peer, why.into()));
        }
        fn close(&mut self, _peer: HostIndex) {}
    }

    impl ScriptFabric {
        fn arrive(&mut self, from: u32, what: Happening) {
            self.arrivals.push_back(Arrival { from: HostIndex(from), at: Nanos(1), what });
        }
        fn joins(&mut self, from: u32, rank: u32, ranks: u32) {
            self.arrive(from, Happening::Joined { peer: "10.0.0.1:5".into() });
            let ranks = NonZeroU32::new(ranks).unwrap();
            let host = format!("n{rank}\n");
            let message = encode(&JoiningRank { rank: HostIndex(rank), ranks, host }, &[]);
            self.arrive(from, Happening::Message(message));
        }
    }

    fn gathered(script: ScriptFabric, ranks: u32) -> RankFabric<ScriptFabric> {
        let mut fabric = RankFabric::new(script, NonZeroU32::new(ranks).unwrap(), "n0");
        let mut looks = 0;
        let mut interrupted = || {
            looks += 1;
            looks > 50
        };
        fabric.gather(Nanos(u64::MAX), "60 s", &mut interrupted);
        fabric.inner().sent.clear();
        fabric.add_own(HostIndex(9));
        fabric
    }

    #[test]
    fn ranks_are_peers_in_their_order() {
        let mut script = ScriptFabric::default();
        script.joins(1, 2, 3);
        script.arrive(1, Happening::Message(b"two".to_vec()));
        script.joins(2, 1, 3);
        script.arrive(9, Happening::Message(b"own".to_vec()));
        let mut fabric = gathered(script, 3);
        assert_eq!((fabric.size(), fabric.hosts()), (3, &["n0", "n1", "n2"].map(String::from)[..]));
        let mut next = || fabric.receive(Nanos(0)).map(|arrival| (arrival.from.0, arrival.what));
        assert_eq!(next(), Some((2, Happening::Message(b"two".to_vec()))));
        assert_eq!(next(), Some((0, Happening::Message(b"own".to_vec()))));
        assert_eq!(next(), None);
        fabric.broadcast(b"x");
        let to: Vec<u32> = fabric.inner().sent.iter().map(|(to, _)| to.0).collect();
        assert_eq!(to, [9, 2, 1]);
    }

    #[test]
    fn strangers_and_late_ranks_are_refused() {
        let mut script = ScriptFabric::default();
        script.joins(1, 1, 2);
        script.arrive(2, Happening::Lost(Loss::Closed { said: String::new() }));
        script.arrive(3, Happening::Message(b"what".to_vec()));
        let mut fabric = gathered(script, 2);
        // All ranks are there, so the rest arrives later.
        assert_eq!(fabric.receive(Nanos(0)), None);
        fabric.inner().arrive(4, Happening::Joined { peer: "10.0.0.9:1".into() });
        assert_eq!(fabric.receive(Nanos(0)), None);
        assert_eq!(fabric.inner().refused, [(HostIndex(4), NotJoined::Late.to_string())]);

        let mut script = ScriptFabric::default();
        script.arrive(1, Happening::Message(b"what".to_vec()));
        script.joins(2, 1, 4);
        script.joins(3, 2, 3);
        script.joins(4, 2, 3);
        script.joins(5, 1, 3);
        let mut fabric = gathered(script, 3);
        let refused: Vec<u32> = fabric.inner().refused.iter().map(|(peer, _)| peer.0).collect();
        assert_eq!(refused, [1, 2, 4]);
    }

    #[test]
    fn missing_ranks_are_lost() {
        let mut script = ScriptFabric::default();
        script.joins(1, 2, 3);
        let mut fabric = gathered(script, 3);
        let lost = fabric.receive(Nanos(0)).unwrap();
        assert_eq!(lost.from, HostIndex(1));
        let Happening::Lost(loss) = lost.what else { panic!("{lost:?}") };
        assert!(loss.to_string().starts_with("rank 1 did not connect within 60 s. To fix: "));
        fabric.send(HostIndex(1), b"x".to_vec());
        assert!(fabric.inner().sent.is_empty());
    }

    #[test]
    fn ranks_without_a_run_are_told_why() {
        let mut script = ScriptFabric::default();
        script.joins(1, 2, 3);
        script.arrive(2, Happening::Message(b"what".to_vec()));
        script.joins(3, 1, 3);
        let mut fabric = RankFabric::new(script, NonZeroU32::new(3).unwrap(), "n0");
        fabric.dismiss(Nanos(u64::MAX), "no jobs");
        let refused: Vec<(u32, &str)> =
            fabric.inner().refused.iter().map(|(peer, why)| (peer.0, why.as_str())).collect();
        assert_eq!((refused[0], refused[1].0, refused[2]), ((1, "no jobs"), 2, (3, "no jobs")));
        // No rank comes, and the time is over.
        RankFabric::new(ScriptFabric::default(), NonZeroU32::new(2).unwrap(), "n0")
            .dismiss(Nanos(1), "no jobs");
    }

    #[test]
    fn a_rank_waits_for_the_others() {
        let ranks = NonZeroU32::new(2).unwrap();
        let own = JoiningRank { rank: HostIndex(1), ranks, host: "n1".into() };
        let mut rank_1 = ScriptFabric::default();
        let join = |fabric: &mut ScriptFabric| join(fabric, &own, Nanos(0), &mut || false);
        assert_eq!(join(&mut rank_1), Err(JoinError::NoAnswer));

        // What rank 1 sent goes to rank 0, whose answer goes back.
        let mut rank_0 = RankFabric::new(ScriptFabric::default(), ranks, "n0");
        let (_, first) = rank_1.sent.remove(0);
        rank_0.inner().arrive(4, Happening::Message(first));
        rank_0.gather(Nanos(u64::MAX), "60 s", &mut || false);
        let (to, answer) = rank_0.inner().sent.remove(0);
        assert_eq!(to, HostIndex(4));
        rank_1.arrive(0, Happening::Message(answer));
        assert_eq!(join(&mut rank_1), Ok(()));

        rank_1.arrive(0, Happening::Message(b"hello".to_vec()));
        assert_eq!(join(&mut rank_1), Err(JoinError::OtherAnswer));
        let refused = Loss::Refused { why: "the run has begun without this rank".into() };
        rank_1.arrive(0, Happening::Lost(refused));
        let error = join(&mut rank_1).unwrap_err().to_string();
        assert_eq!(error, "rank 0: the run has begun without this rank");
    }
}
