//! Compares the clocks. The exchanges of a host follow each other at once. Only some hosts are compared at the same time,
//! because answers that wait for each other look like a slow network. The number grows with the number of hosts, so that a
//! slow network does not make many hosts wait for hours.

use std::collections::VecDeque;

use fiord_types::{HostIndex, Nanos};

use super::HostsConductor;
use super::order::HostsAction;
use crate::clock::{ProbeTimes, ROUNDS};
use crate::outcome::HostStage;

/// How many hosts are compared at the same time at least.
const AT_ONCE: usize = 32;

/// Which part of the hosts are compared at the same time.
const SHARE: usize = 16;

/// The comparison in progress.
#[derive(Debug, Default)]
pub(super) struct Probing {
    /// The hosts that wait for their first probe.
    queue: VecDeque<HostIndex>,
    /// Number of hosts that are being compared.
    busy: usize,
    most: usize,
}

impl Probing {
    pub(super) fn for_hosts(hosts: usize) -> Self {
        Probing { most: (hosts / SHARE).max(AT_ONCE), ..Probing::default() }
    }
}

impl HostsConductor {
    /// Begins to compare the clocks of all hosts that have not passed the stage.
    pub(super) fn compare_clocks(&mut self) {
        self.probing.queue = self.indexes().filter(|host| self.hosts[*host].is_awaited()).collect();
        self.probing.busy = 0;
        self.probe_next();
    }

    fn probe_next(&mut self) {
        while self.probing.busy < self.probing.most
            && let Some(host) = self.probing.queue.pop_front()
        {
            if self.hosts[host].is_awaited() {
                self.probing.busy += 1;
                self.probe(host);
            }
        }
    }

    fn probe(&mut self, to: HostIndex) {
        self.hosts[to].probed = Some(self.now);
        self.actions.push_back(HostsAction::Probe { to });
    }

    /// An answer has arrived. One to a probe that is not waited for any more is ignored.
    pub(super) fn answered(&mut self, host: HostIndex, times: ProbeTimes) {
        let state = &mut self.hosts[host];
        if state.probed.take().is_none() {
            return;
        }
        let before = self.stage == HostStage::CompareClocks;
        let comparison = if before { &mut state.before } else { &mut state.after };
        comparison.add(times);
        if comparison.exchanges() < ROUNDS {
            return self.probe(host);
        }
        let known = comparison.reading().is_some();
        self.probing.busy -= 1;
        self.pass(host);
        self.probe_next();
        if before && !known {
            self.disconnect(host);
            self.lost(host, "the times in its answers to clock probes are impossible".to_owned());
        }
    }

    /// Stops to wait for the answers of a host.
    pub(super) fn forget_probe(&mut self, host: HostIndex) {
        if self.hosts[host].probed.take().is_some() {
            self.probing.busy -= 1;
            self.probe_next();
        }
    }

    /// Ends the comparison.
    pub(super) fn forget_probes(&mut self) {
        self.probing.queue.clear();
        self.probing.busy = 0;
        self.hosts.iter_mut().for_each(|host| host.probed = None);
    }

    /// The longest round trip so far.
    pub(super) fn slowest_round_trip(&self) -> Nanos {
        let open = self.hosts.iter().filter(|host| host.open);
        open.map(|host| host.before.slowest()).max().unwrap_or(Nanos::ZERO)
    }
}
