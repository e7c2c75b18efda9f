//! What messages of hosts cause.

use fiord_types::{HostIndex, Nanos};

use super::HostsConductor;
use super::order::{HostsAction, HostsEvent, KeptPart, OnLost};
use super::taming::tame;
use crate::clock::ProbeTimes;
use crate::contract::{Arrival, Happening, Loss};
use crate::frame::{FrameError, printable};
use crate::message::{Ended, FromHost, decode};
use crate::outcome::HostStage;

/// Maximum number of jobs of a host.
const MAX_JOBS: usize = 1 << 20;

impl HostsConductor {
    /// Something has arrived from a peer.
    pub fn arrive(&mut self, arrival: Arrival) {
        let Arrival { from: host, at, what } = arrival;
        self.now = self.now.max(at);
        if self.over || self.hosts.get(host.get()).is_none_or(|state| !state.open) {
            return;
        }
        match what {
            Happening::Joined { .. } => {}
            Happening::Lost(loss) => {
                self.disconnected(host);
                match &loss {
                    // Another program answers there: the host cannot run the jobs.
                    Loss::NotUnderstood(FrameError::OtherProtocol { .. })
                        if !self.hosts[host].greeted =>
                    {
                        self.reject(host, loss.to_string());
                        self.stop_after_failure(host, self.on_lost == OnLost::Abort);
                    }
                    _ => self.lost(host, loss.to_string()),
                }
            }
            Happening::Message(mut bytes) => {
                let heard = &mut self.hosts[host].heard;
                *heard = (*heard).max(at);
                tame(&mut bytes);
                match decode::<FromHost>(&bytes) {
                    Ok((message, attached)) => self.message(host, message, attached, at),
                    Err(error) => self.refuse(host, error.to_string()),
                }
            }
        }
    }

    fn message(&mut self, host: HostIndex, message: FromHost, attached: &[u8], at: Nanos) {
        let state = &mut self.hosts[host];
        if !matches!(message, FromHost::Heartbeat) {
            state.reported = at;
        }
        match message {
            FromHost::Heartbeat => {}
            FromHost::Welcome(facts) if !state.greeted => {
                state.greeted = true;
                state.outcome.facts = Some((*facts).clone());
                self.actions.push_back(HostsAction::Trust { host });
                self.event(HostsEvent::Welcomed { host, facts });
                self.pass(host);
            }
            FromHost::Busy { holder } if !state.greeted => {
                let holder = printable(holder.as_bytes(), 200);
                let why = format!(
                    "another coordinator is using its agent: {holder}. To fix: wait until that run ends, or end it"
                );
                self.disconnect(host);
                self.lost(host, why);
            }
            _ if !state.greeted => self.unexpected(host),
            FromHost::Answer { sent, received, answered } => {
                self.answered(host, ProbeTimes { sent, received, answered, arrived: at });
            }
            FromHost::Checked(jobs) if state.stage == HostStage::Check && !state.passed => {
                state.outcome.checked = Some((*jobs).clone());
                self.event(HostsEvent::Checked { host, jobs });
                self.pass_before_start(host);
            }
            FromHost::Refused { text } if state.stage == HostStage::Check => {
                self.disconnect(host);
                self.reject(host, text);
                self.stop_after_failure(host, true);
            }
            FromHost::Ready if state.stage == HostStage::LayOut && !state.passed => {
                self.event(HostsEvent::Ready { host });
                self.pass_before_start(host);
            }
            FromHost::Event(event) if state.stage >= HostStage::Check => {
                if state.observe(&event, at) {
                    self.event(HostsEvent::Run { host, event });
                }
            }
            FromHost::Keep { file, offset, number } if state.may_keep() => {
                state.progressed = at;
                let bytes = attached.to_vec();
                let part = KeptPart { host, file, offset, number, bytes };
                self.actions.push_back(HostsAction::Keep(part));
            }
            message => self.result(host, message, attached, at),
        }
    }

    /// A host has sent a part of its results.
    fn result(&mut self, host: HostIndex, message: FromHost, attached: &[u8], at: Nanos) {
        let state = &mut self.hosts[host];
        // After the end of its run, a host has no results any more.
        if state.outcome.ended.is_some() || state.stage < HostStage::Check {
            return self.unexpected(host);
        }
        state.collect(at);
        match message {
            FromHost::Result { job, data } if state.data.len() < MAX_JOBS => {
                state.data.insert(job, *data);
            }
            FromHost::Report(report) => state.outcome.report = Some(*report),
            FromHost::Log { name, number, offset, last } => {
                let bytes = attached.to_vec();
                if last {
                    state.log_arrived();
                }
                let log = HostsAction::Log { host, name, number, offset, bytes, last };
                self.actions.push_back(log);
            }
            FromHost::Ended(ended) => self.ended(host, ended, at),
            _ => self.unexpected(host),
        }
    }

    /// A host has done its part of a stage before the start. If the run is being stopped, it still has to end.
    fn pass_before_start(&mut self, host: HostIndex) {
        if !self.stopping {
            self.pass(host);
        }
    }

    fn ended(&mut self, host: HostIndex, ended: Box<Ended>, at: Nanos) {
        let started = self.start.is_some();
        // Jobs with `create_only` have done their work when their files exist.
        let is_done = ended.status == Some(0) && ended.errors.is_empty();
        let why = ended.errors.join("\n");
        let own_signal = ended.signal.filter(|_| self.hosts[host].stopped.is_none());
        self.hosts[host].outcome.ended = Some((*ended).clone());
        self.latest_end = Some(at);
        self.forget_probe(host);
        self.event(HostsEvent::Ended { host, ended });
        self.pass(host);
        if started || self.stopping {
            // The host was shut down, or a user of it ended the agent. The jobs have not done all of their work.
            if let (Some(signal), false) = (own_signal, self.stopping) {
                self.fail(host, format!("signal {signal} on this host ended its jobs"));
                self.stop_after_failure(host, self.on_lost == OnLost::Abort);
            }
            return;
        }
        if is_done {
            return;
        }
        let why = if why.is_empty() { "its jobs ended before the start".to_owned() } else { why };
        self.reject(host, why);
        self.stop_after_failure(host, self.on_lost == OnLost::Abort);
    }

    /// The host does not follow the protocol.
    fn unexpected(&mut self, host: HostIndex) {
        self.refuse(host, "a message of the agent does not fit the state of the run".to_owned());
    }

    fn refuse(&mut self, host: HostIndex, why: String) {
        self.actions.push_back(HostsAction::Refuse { host, why: why.clone() });
        self.disconnected(host);
        self.lost(host, why);
    }
}
