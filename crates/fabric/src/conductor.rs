//! The conductor of a run on many hosts: a state machine that does no I/O. Arrivals and times go in, actions come out.
//!
//! All hosts go through the stages of [`HostStage`] together: a stage ends when every host that is still there has done
//! its part. The jobs' results are collected from each host when its jobs end. The work for a message does not depend on
//! the number of hosts; once in a [`TICK`], the conductor looks at each host.
//!
//! | question | module |
//! |---|---|
//! | what is a run given, and what does it say | [`order`] |
//! | what does the conductor know about a host | `host` |
//! | what do messages of hosts cause | `arrivals` |
//! | what happens between two stages | `stages` |
//! | when are the clocks compared | `probing` |
//! | what happens when a host is lost, hangs, or the user interrupts the run | `endings` |
//! | do two hosts write the same storage | [`shared`] |
//! | how are the texts of hosts made harmless | `taming` |

mod arrivals;
mod endings;
mod host;
pub mod order;
mod probing;
pub mod shared;
mod stages;
mod taming;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use fiord_types::{HostIndex, Nanos};
use serde::Serialize;

use crate::limits::{GREET_EACH, GREET_LIMIT, HEARTBEAT};
use crate::message::{Hello, HostsData, ToHost, encode};
use crate::outcome::{HostStage, HostsOutcome};

use host::HostState;
pub use order::{HostOrder, HostsAction, HostsEvent, HostsRequest, KeptPart, OnLost, RunOrder};
use probing::Probing;

/// Polling interval for the state of all hosts.
pub const TICK: Nanos = Nanos::from_millis(250);

/// See the [module](self).
#[derive(Debug)]
pub struct HostsConductor {
    hosts: Vec<HostState>,
    on_lost: OnLost,
    data: HostsData,
    /// The stage in which the run is.
    stage: HostStage,
    /// When it began.
    stage_began: Nanos,
    /// Number of hosts that have not done their part of the stage.
    awaited: usize,
    probing: Probing,
    /// When the jobs start.
    start: Option<Nanos>,
    /// The conductor has ordered the hosts to end their jobs.
    stopping: bool,
    /// The user wants the jobs to end as if they had done their work.
    finishing: bool,
    /// When a host failed so that the run cannot succeed, and which one.
    doomed: Option<(Nanos, HostIndex)>,
    signal: Option<i32>,
    /// When the latest host ended.
    latest_end: Option<Nanos>,
    over: bool,
    now: Nanos,
    /// When time passed last.
    advanced: Nanos,
    next_tick: Nanos,
    next_heartbeat: Nanos,
    actions: VecDeque<HostsAction>,
}

impl HostsConductor {
    /// Begins a run. The first actions greet all hosts.
    #[must_use]
    pub fn new(order: &RunOrder, now: Nanos) -> Self {
        let mut conductor = HostsConductor {
            hosts: order.hosts.iter().map(|host| HostState::new(host, now)).collect(),
            on_lost: order.on_lost,
            data: order.hosts.first().map_or(HostsData::default(), |host| host.job.data),
            stage: HostStage::Greet,
            stage_began: now,
            awaited: order.hosts.len(),
            probing: Probing::for_hosts(order.hosts.len()),
            start: None,
            stopping: false,
            finishing: false,
            doomed: None,
            signal: None,
            latest_end: None,
            over: false,
            now,
            advanced: now,
            next_tick: now.saturating_add(TICK),
            next_heartbeat: now.saturating_add(HEARTBEAT),
            actions: VecDeque::new(),
        };
        conductor.event(HostsEvent::Stage(HostStage::Greet));
        let ranks = NonZeroU32::new(HostIndex::at(order.hosts.len()).0);
        for (rank, host) in conductor.indexes().zip(&order.hosts) {
            let hello = Hello {
                version: order.version.clone(),
                holder: order.holder.clone(),
                host: host.name.clone(),
                rank,
                ranks: ranks.unwrap_or(NonZeroU32::MIN),
            };
            conductor.send(rank, &ToHost::Hello(hello));
        }
        conductor
    }

    fn indexes(&self) -> impl Iterator<Item = HostIndex> + use<> {
        HostIndex(0).to(HostIndex::at(self.hosts.len()))
    }

    /// The next action, in the order in which they must be done.
    pub fn next_action(&mut self) -> Option<HostsAction> {
        self.actions.pop_front()
    }

    /// When [`HostsConductor::advance`] must be called next if nothing arrives.
    #[must_use]
    pub fn deadline(&self) -> Nanos {
        self.next_tick
    }

    /// The run is over. The outcome is complete when all actions were done.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Lets time pass and continues with the next stage if possible. Call it after each arrival.
    pub fn advance(&mut self, now: Nanos) {
        let waited = now.saturating_sub(self.advanced);
        (self.now, self.advanced) = (now.max(self.now), now);
        // This process was stopped, or its machine slept: silence meanwhile is not the hosts' fault.
        if waited > HEARTBEAT.saturating_mul(2) {
            self.hosts.iter_mut().for_each(|host| host.excuse(waited));
        }
        self.proceed();
        if now < self.next_tick || self.over {
            return;
        }
        self.next_tick = now.saturating_add(TICK);
        if now >= self.next_heartbeat {
            self.next_heartbeat = now.saturating_add(HEARTBEAT);
            self.send_heartbeats();
        }
        self.look_at_hosts();
        self.proceed();
    }

    fn send_heartbeats(&mut self) {
        for host in self.indexes() {
            if self.hosts[host].open && self.hosts[host].greeted {
                self.send(host, &ToHost::Heartbeat);
            }
        }
    }

    /// How long hosts may need for their first message.
    fn greet_limit(&self) -> Nanos {
        GREET_LIMIT.saturating_add(GREET_EACH.saturating_mul(self.hosts.len() as u64))
    }

    /// Passes a request on to all hosts whose jobs run, or an answer to the host that waits for it.
    pub fn request(&mut self, request: HostsRequest) {
        let message = match request {
            HostsRequest::Status => ToHost::Status,
            HostsRequest::Trigger => ToHost::Trigger,
            HostsRequest::Finish => {
                self.finishing = true;
                return self.finish();
            }
            HostsRequest::Kept { host, number, failed } => {
                if let Some(state) = self.hosts.get_mut(host.get()).filter(|state| state.open) {
                    state.written(self.now);
                    self.send(host, &ToHost::Kept { number, failed });
                }
                return;
            }
        };
        for host in self.indexes() {
            if self.hosts[host].runs() {
                self.send(host, &message);
            }
        }
    }

    /// What the hosts have sent.
    #[must_use]
    pub fn outcome(self) -> HostsOutcome {
        let now = self.now;
        HostsOutcome {
            hosts: self.hosts.into_iter().map(|host| host.into_outcome(now)).collect(),
            start: self.start,
            signal: self.signal,
        }
    }

    fn send(&mut self, to: HostIndex, message: &impl Serialize) {
        self.actions.push_back(HostsAction::Send { to, message: encode(message, &[]) });
    }

    fn event(&mut self, event: HostsEvent) {
        self.actions.push_back(HostsAction::Event(event));
    }
}
