//! What happens when a host is lost or hangs, and when the user interrupts the run.

use fiord_types::{HostIndex, Nanos};

use super::HostsConductor;
use super::host::HostState;
use super::order::{HostsAction, HostsEvent, OnLost};
use crate::limits::{CHECK_LIMIT, DOOMED_LIMIT, HANG_LIMIT, HANG_NOTICE, LOST_AFTER, STOP_LIMIT};
use crate::message::ToHost;
use crate::outcome::{HostFailure, HostStage};

impl HostsConductor {
    /// The user interrupts the run. The first signal ends the jobs and collects their results, the second one does not wait
    /// for them.
    pub fn interrupt(&mut self, signal: i32, now: Nanos) {
        self.now = self.now.max(now);
        if self.signal.is_none() {
            self.signal = Some(signal);
            if self.stage < HostStage::CompareAgain {
                self.stop(format!("the coordinator received signal {signal}"), Some(signal));
                return;
            }
        }
        for host in self.indexes() {
            self.abandon(host);
            if self.hosts[host].greeted && self.hosts[host].outcome.ended.is_none() {
                self.fail(host, "the user did not wait for its results".to_owned());
            }
        }
        self.over = true;
    }

    /// Tells all hosts whose jobs run to end them as if they had done their work, if the user wants that.
    pub(super) fn finish(&mut self) {
        if !self.finishing || self.stopping || self.stage != HostStage::Run {
            return;
        }
        for host in self.indexes() {
            if self.hosts[host].runs() && self.hosts[host].stopped.is_none() {
                self.hosts[host].stopped = Some(self.now);
                self.send(host, &ToHost::Finish);
            }
        }
    }

    /// Tells all hosts to end their jobs. Hosts that have not answered yet are not waited for.
    fn stop(&mut self, why: String, signal: Option<i32>) {
        if self.stopping || self.stage >= HostStage::CompareAgain {
            return;
        }
        self.stopping = true;
        self.event(HostsEvent::Stopping { why: why.clone(), signal });
        for host in self.indexes() {
            let state = &self.hosts[host];
            if !state.greeted {
                self.disconnect(host);
            } else if state.open && state.outcome.ended.is_none() && self.stage > HostStage::Greet {
                self.stop_host(host, why.clone(), signal);
            }
        }
        match self.stage {
            HostStage::Greet => self.say_goodbye(),
            HostStage::Check | HostStage::LayOut | HostStage::CompareClocks => self.await_ends(),
            _ => {}
        }
    }

    /// Waits for the ends of hosts that have not started.
    fn await_ends(&mut self) {
        self.forget_probes();
        self.stage = HostStage::Collect;
        self.awaited = 0;
        for host in &mut self.hosts {
            host.passed = host.outcome.ended.is_some();
            self.awaited += usize::from(host.is_awaited());
        }
        self.event(HostsEvent::Stage(HostStage::Collect));
    }

    fn stop_host(&mut self, host: HostIndex, why: String, signal: Option<i32>) {
        self.hosts[host].stopped.get_or_insert(self.now);
        self.hosts[host].ordered.get_or_insert(self.now);
        self.send(host, &ToHost::Stop { why, signal });
    }

    /// Ends the connection to a host.
    pub(super) fn disconnect(&mut self, host: HostIndex) {
        if self.hosts[host].open {
            self.actions.push_back(HostsAction::Close { host });
            self.disconnected(host);
        }
    }

    /// Ends the connection to a host without waiting for its process.
    fn abandon(&mut self, host: HostIndex) {
        if self.hosts[host].open {
            self.actions.push_back(HostsAction::Abandon { host });
            self.disconnected(host);
        }
    }

    /// The connection to a host has ended.
    pub(super) fn disconnected(&mut self, host: HostIndex) {
        self.pass(host);
        self.hosts[host].open = false;
        self.forget_probe(host);
    }

    /// A host is lost. If all its results have arrived, this does not matter.
    pub(super) fn lost(&mut self, host: HostIndex, why: String) {
        if self.hosts[host].outcome.ended.is_none() && self.stage < HostStage::CompareAgain {
            self.fail(host, why);
            self.stop_after_failure(host, self.on_lost == OnLost::Abort);
        }
    }

    /// Notes why a host has no complete result. The first reason counts.
    pub(super) fn fail(&mut self, host: HostIndex, why: String) {
        self.note_failure(host, why, false);
    }

    /// Notes why a host cannot run its jobs. The first reason counts.
    pub(super) fn reject(&mut self, host: HostIndex, why: String) {
        self.note_failure(host, why, true);
    }

    fn note_failure(&mut self, host: HostIndex, why: String, refused: bool) {
        let (stage, at) = (self.hosts[host].stage, self.now);
        let failure = &mut self.hosts[host].outcome.failure;
        if failure.is_none() {
            let failed = failure.insert(HostFailure { stage, why, at, refused });
            let failure = failed.clone();
            self.event(HostsEvent::Failed { host, failure });
        }
    }

    /// Ends the run because of a host, if the failure is a reason for it. While hosts are greeted and jobs are checked, the
    /// other hosts get some time, so that the user learns about all hosts that fail for such a reason.
    pub(super) fn stop_after_failure(&mut self, host: HostIndex, is_reason: bool) {
        if !is_reason || self.doomed.is_some() {
            return;
        }
        self.doomed = Some((self.now, host));
        if self.stage >= HostStage::LayOut {
            self.stop_doomed();
        }
    }

    /// Ends the run that cannot succeed. Returns whether there is a reason.
    pub(super) fn stop_doomed(&mut self) -> bool {
        if let Some((_, host)) = self.doomed {
            self.stop(format!("host {} failed", self.hosts[host].outcome.name), None);
        }
        self.doomed.is_some()
    }

    /// Looks for hosts that are silent, hang, or did not stop.
    pub(super) fn look_at_hosts(&mut self) {
        if self.doomed.is_some_and(|(since, _)| self.lasts(since, DOOMED_LIMIT)) {
            self.stop_doomed();
        }
        for host in self.indexes() {
            if self.hosts[host].open {
                self.look_at(host);
            }
        }
        self.look_for_hangs();
        self.look_for_overdue();
        self.look_for_hung_preparations();
    }

    fn lasts(&self, since: Nanos, limit: Nanos) -> bool {
        self.now.saturating_sub(since) > limit
    }

    fn look_at(&mut self, host: HostIndex) {
        let state = &self.hosts[host];
        let (limit, since, silent) = match state.greeted {
            true => (LOST_AFTER, state.heard, "no message has arrived from it"),
            false => (self.greet_limit(), self.stage_began, "its agent has not answered"),
        };
        if self.lasts(since, limit) {
            let why = format!(
                "{silent} for {} s. To fix: check that the host and its network work",
                limit.as_secs()
            );
            self.disconnect(host);
            return self.lost(host, why);
        }
        if state.probed.is_some_and(|since| self.lasts(since, LOST_AFTER)) {
            return self.skip_probe(host);
        }
        if state.outcome.ended.is_some() {
            return;
        }
        if self.is_mute(state) {
            let limit = state.silence_limit().as_secs();
            self.abandon(host);
            let why = format!(
                "its agent has sent nothing but heartbeats for {limit} s. To fix: check whether the program hangs on \
                 that host"
            );
            return self.lost(host, why);
        }
        // A host that has failed has a limited time for its results.
        let failed = state.outcome.failure.is_some();
        if failed && state.ordered.is_some_and(|since| self.lasts(since, HANG_LIMIT)) {
            return self.abandon(host);
        }
        let late = state.stopped.is_some_and(|since| self.lasts(since, STOP_LIMIT));
        if late && !state.waits_for_disk() {
            let limit = STOP_LIMIT.as_secs();
            // It may hang in the kernel, so its process is not waited for, either.
            self.abandon(host);
            self.lost(host, format!("it did not end within {limit} s of the order to stop"));
        }
    }

    /// Whether the agent of a host whose jobs run, or which sends its results, has reported nothing for too long.
    fn is_mute(&self, state: &HostState) -> bool {
        let runs = self.stage == HostStage::Run && state.is_awaited() && state.stopped.is_none();
        let since = state.reported.max(self.stage_began);
        runs && !state.waits_for_disk() && self.lasts(since, state.silence_limit())
    }

    /// A host does not answer a probe. Before the run, it cannot take part; after the run, it does without.
    fn skip_probe(&mut self, host: HostIndex) {
        let before = self.stage == HostStage::CompareClocks;
        self.pass(host);
        self.forget_probe(host);
        if before {
            let limit = LOST_AFTER.as_secs();
            self.disconnect(host);
            self.lost(host, format!("it did not answer a clock probe for {limit} s"));
        }
    }

    /// Stops hosts that do nothing after all other hosts have ended. A host that has no other hosts is as patient as a local
    /// run.
    fn look_for_hangs(&mut self) {
        let Some(latest_end) = self.latest_end.filter(|_| self.stage == HostStage::Run) else {
            return;
        };
        self.tell_idle(latest_end);
        let idle = |progressed: Nanos| self.lasts(progressed.max(latest_end), HANG_LIMIT);
        let is_hung = |host: &HostState| host.stopped.is_some() || idle(host.progressed);
        if !self.hosts.iter().filter(|host| host.is_awaited()).all(is_hung) {
            return;
        }
        let limit = HANG_LIMIT.as_secs();
        for host in self.indexes() {
            let state = &self.hosts[host];
            if state.is_awaited() && state.stopped.is_none() {
                let why =
                    format!("its jobs did no I/O for {limit} s after all other hosts had ended");
                self.fail(host, why.clone());
                self.stop_host(host, why, None);
            }
        }
    }

    /// Tells the user which hosts have jobs that continue after their run time, and stops a host long after it. That
    /// such jobs make progress is known only from the host itself, which may be wrong.
    fn look_for_overdue(&mut self) {
        if self.stage != HostStage::Run {
            return;
        }
        let ran = self.now.saturating_sub(self.stage_began);
        for host in self.indexes() {
            let state = &mut self.hosts[host];
            let Some(longest) = state.longest.filter(|_| state.is_awaited()) else { continue };
            let limit = longest.saturating_mul(2).saturating_add(HANG_LIMIT);
            if state.stopped.is_some() || ran <= longest.saturating_add(HANG_NOTICE) {
                continue;
            }
            if !std::mem::replace(&mut state.is_overdue_known, true) {
                self.event(HostsEvent::Overdue { host, longest, limit });
            } else if ran > limit {
                let (limit, longest) = (limit.as_secs(), longest.as_secs());
                let why = format!(
                    "its jobs had not ended after {limit} s, and their run time is {longest} s at most"
                );
                self.fail(host, why.clone());
                self.stop_host(host, why, None);
            }
        }
    }

    /// Tells the user which hosts do nothing although another host has ended, once for each host.
    fn tell_idle(&mut self, latest_end: Nanos) {
        for host in self.indexes() {
            let state = &mut self.hosts[host];
            let idle = self.now.saturating_sub(state.progressed.max(latest_end));
            let is_new = !state.is_idle_known && state.stopped.is_none();
            if state.is_awaited() && is_new && idle > HANG_NOTICE {
                state.is_idle_known = true;
                let (idle, limit) = (HANG_NOTICE, HANG_LIMIT);
                self.event(HostsEvent::Idle { host, stage: HostStage::Run, idle, limit });
            }
        }
    }

    /// Gives up hosts that hang while they check their jobs or lay out their files: a file system that does not answer, or a
    /// pipe that nothing writes to. Their heartbeats continue, because these have their own thread.
    fn look_for_hung_preparations(&mut self) {
        if self.stopping || ![HostStage::Check, HostStage::LayOut].contains(&self.stage) {
            return;
        }
        let passed = self.hosts.iter().filter(|host| host.open).filter_map(|host| host.passed_at);
        let latest = passed.max();
        for host in self.indexes() {
            let state = &mut self.hosts[host];
            if !state.is_awaited() {
                continue;
            }
            let limit = match (self.stage, latest) {
                (HostStage::Check, Some(_)) => CHECK_LIMIT,
                _ => HANG_LIMIT,
            };
            let since = state.progressed.max(self.stage_began).max(latest.unwrap_or(Nanos::ZERO));
            let idle = self.now.saturating_sub(since);
            if idle > HANG_NOTICE && !state.is_idle_known {
                state.is_idle_known = true;
                let stage = self.stage;
                self.event(HostsEvent::Idle { host, stage, idle: HANG_NOTICE, limit });
            } else if idle > limit && !state.runs_command {
                let limit = limit.as_secs();
                let why = match self.stage {
                    HostStage::Check => format!(
                        "it did not finish for {limit} s. To fix: check whether a file that the jobs read is a pipe \
                         that nothing writes to, or is on a file system that does not respond"
                    ),
                    _ => format!(
                        "it made no progress for {limit} s. To fix: check whether its file system or device responds"
                    ),
                };
                self.abandon(host);
                self.lost(host, why);
            }
        }
    }
}
