//! What happens between two stages.

use fiord_types::HostIndex;

use super::HostsConductor;
use super::host::HostState;
use super::order::{HostsAction, HostsEvent};
use super::shared::conflicts;
use crate::clock::HostClock;
use crate::limits::{START_EACH, START_MARGIN};
use crate::message::{HostsData, ToHost, encode};
use crate::outcome::HostStage;

impl HostsConductor {
    /// A host has done its part of the stage.
    pub(super) fn pass(&mut self, host: HostIndex) {
        if self.hosts[host].is_awaited() {
            self.awaited -= 1;
        }
        self.hosts[host].passed = true;
        self.hosts[host].passed_at = Some(self.now);
    }

    /// Continues as long as all hosts have done their part.
    pub(super) fn proceed(&mut self) {
        while self.awaited == 0 && !self.over {
            if self.hosts.iter().all(|host| !host.open) {
                self.over = true;
                return;
            }
            // A stopped run continues to the end of the stages that it still has.
            if self.stage < HostStage::LayOut && self.stop_doomed() {
                continue;
            }
            match self.stage {
                HostStage::Greet => self.check(),
                HostStage::Check => self.lay_out(),
                HostStage::LayOut if !self.hosts.iter().any(HostState::waits_for_start) => {
                    self.say_goodbye();
                }
                HostStage::LayOut => {
                    self.enter(HostStage::CompareClocks);
                    self.compare_clocks();
                }
                HostStage::CompareClocks => self.start_jobs(),
                HostStage::Run | HostStage::Collect if self.start.is_some() => {
                    self.enter(HostStage::CompareAgain);
                    self.compare_clocks();
                }
                HostStage::Run | HostStage::Collect | HostStage::CompareAgain | HostStage::Done => {
                    self.say_goodbye()
                }
            }
        }
    }

    /// Takes all hosts to a stage. Before the results are there, a host whose run has ended has no part in it.
    pub(super) fn enter(&mut self, stage: HostStage) {
        self.stage = stage;
        self.stage_began = self.now;
        self.awaited = 0;
        for host in &mut self.hosts {
            host.passed = host.outcome.ended.is_some() && stage <= HostStage::Collect;
            host.passed_at = None;
            host.is_idle_known = false;
            if host.is_awaited() {
                host.stage = stage;
                self.awaited += 1;
            }
        }
        self.event(HostsEvent::Stage(stage));
    }

    fn send_to_awaited(&mut self, message: &ToHost) {
        for host in self.indexes() {
            if self.hosts[host].is_awaited() {
                self.send(host, message);
            }
        }
    }

    fn check(&mut self) {
        self.enter(HostStage::Check);
        for host in self.indexes() {
            if self.hosts[host].is_awaited()
                && let Some(job) = self.hosts[host].job.take()
            {
                for (name, state) in std::mem::take(&mut self.hosts[host].states) {
                    let message = encode(&ToHost::State { name }, &state);
                    self.actions.push_back(HostsAction::Send { to: host, message });
                }
                self.send(host, &ToHost::Job(Box::new(job)));
            }
        }
    }

    fn lay_out(&mut self) {
        if self.data == HostsData::Private {
            let found = conflicts(self.hosts.iter().map(|host| &host.outcome));
            for (host, why) in &found {
                self.reject(*host, why.clone());
            }
            if let Some((host, _)) = found.first() {
                return self.stop_after_failure(*host, true);
            }
        }
        self.enter(HostStage::LayOut);
        self.send_to_awaited(&ToHost::LayOut);
    }

    /// Decides when the jobs start, and tells each host the time on its own clock.
    fn start_jobs(&mut self) {
        let margin = START_MARGIN
            .saturating_add(self.slowest_round_trip().saturating_mul(2))
            .saturating_add(START_EACH.saturating_mul(self.hosts.len() as u64));
        let start = self.now.saturating_add(margin);
        self.start = Some(start);
        self.enter(HostStage::Run);
        self.event(HostsEvent::Starting { at: start });
        for host in self.indexes() {
            let state = &mut self.hosts[host];
            if !state.is_awaited() {
                continue;
            }
            state.progressed = start;
            if let Some(reading) = state.before.reading() {
                let at = HostClock::new(reading, None).to_host(start);
                self.send(host, &ToHost::Start { at });
            }
        }
        self.finish();
    }

    /// Says goodbye to all hosts: everything has arrived. The fabric ends the connections without help.
    pub(super) fn say_goodbye(&mut self) {
        self.enter(HostStage::Done);
        self.send_to_awaited(&ToHost::Bye);
        for host in self.indexes() {
            self.disconnect(host);
        }
        self.over = true;
    }
}
