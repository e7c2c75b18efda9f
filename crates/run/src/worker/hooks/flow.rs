//! Shares of the I/O among jobs (`flow`). [`fiord_load::pace::flow`] counts; this hook waits.

use std::time::Duration;

use fiord_load::pace::FlowTicket;
use fiord_plan::JobPlan;
use fiord_types::Nanos;

use crate::hook::{Delay, Events, Hook, IssuedIo};

/// How long a job that is ahead of its flow sleeps before the next check if it has no `flow_sleep`, ns.
const FLOW_NAP: u64 = 50_000;

/// The share of one job in its flow.
pub(super) struct FlowHook {
    ticket: FlowTicket,
    /// Time between two checks, ns.
    nap: u64,
    /// The job is ahead of its share.
    ahead: bool,
}

impl FlowHook {
    /// The share of a job, which joins its flow; `None` without a flow.
    pub(super) fn of(job: &JobPlan, ticket: Option<FlowTicket>) -> Option<Self> {
        let mut ticket = ticket?;
        ticket.join();
        let nap = job
            .pace
            .flow
            .map_or(0, |flow| if flow.sleep > Nanos::ZERO { flow.sleep.0 } else { FLOW_NAP });
        Some(FlowHook { ticket, nap, ahead: false })
    }
}

impl Hook for FlowHook {
    fn events(&self) -> Events {
        Events::READY | Events::ISSUED
    }

    fn ready(&mut self, now: u64, _in_flight: u32) -> Delay {
        self.ahead = !self.ticket.may_go();
        if !self.ahead {
            return Delay::None;
        }
        self.ticket.waits(now);
        Delay::Event(now.saturating_add(self.nap))
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        if !io.extra {
            self.ticket.issued();
        }
    }

    fn wait(&mut self) {
        if std::mem::take(&mut self.ahead) {
            // The other jobs of the flow run in real time, whichever clock this engine has.
            std::thread::sleep(Duration::from_nanos(self.nap));
        }
    }
}
