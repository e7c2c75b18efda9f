//! Virtual agents: they follow the protocol, and fail as their script says.

use fiord_stat::job::JobData;
use fiord_types::{Bytes, JobIndex, Nanos};
use serde_json::json;

use super::network::{BEGIN, Wire};
use crate::message::{
    Ended, FromHost, HostJobs, HostTarget, JobOrder, KeepNumber, KeptName, ToHost, decode, encode,
};

const SECOND: u64 = 1_000_000_000;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The process is killed, and the connection ends.
    Killed,
    /// The process is stopped, or the network is gone: nothing arrives any more.
    Silent,
    /// The link continues, but nothing else does: the host hangs.
    Hangs,
    /// Only heartbeats arrive: the program hangs, or wants to hold the coordinator.
    Mute,
    /// A message that does not belong here.
    Disorder,
    /// Bytes that are not a message.
    Garbage,
}

/// When it goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Hello,
    Job,
    LayOut,
    Probe,
    Running,
    Results,
    ProbeAfter,
    Bye,
}

pub(super) const ALL_TIMES: [When; 8] = [
    When::Hello,
    When::Job,
    When::LayOut,
    When::Probe,
    When::Running,
    When::Results,
    When::ProbeAfter,
    When::Bye,
];

/// A host, and what happens on it.
#[derive(Debug, Clone, Default)]
pub(super) struct VirtualAgent {
    /// Clock of the host minus the coordinator's at the beginning, ns.
    pub(super) ahead: i64,
    /// Parts per million by which its clock is too fast.
    pub(super) ppm: i64,
    /// How long the layout takes, ns.
    pub(super) layout: u64,
    /// How long the jobs run, ns.
    pub(super) run: u64,
    pub(super) fault: Option<(When, Fault)>,
    /// The host refuses its jobs with this text.
    pub(super) refuses: Option<&'static str>,
    /// Another coordinator holds the agent.
    pub(super) is_held: bool,
    /// The layout fails with this error.
    pub(super) layout_error: Option<&'static str>,
    pub(super) targets: Vec<HostTarget>,
    /// The jobs never end, and always report progress. After the order to stop, the host sends results without end.
    pub(super) is_endless: bool,
    /// The jobs do nothing after this time, ns.
    pub(super) stalls_after: Option<u64>,
    /// When the jobs began and ended, by the coordinator's clock.
    pub(super) began: Option<u64>,
    pub(super) finished: Option<u64>,
    /// When the coordinator ordered the host to stop, and why.
    pub(super) told_to_stop: Option<(u64, String)>,
    /// The coordinator said goodbye, or ended the connection.
    pub(super) is_released: bool,
    pub(super) order: Option<JobOrder>,
    /// The verify states and the answers about kept files that arrived.
    pub(super) kept: Vec<String>,
    /// The rest is the agent's own state.
    pub(super) state: State,
    pub(super) laid_out_at: Option<u64>,
    pub(super) lays_out_since: Option<u64>,
    pub(super) ends_at: Option<u64>,
    pub(super) next_heartbeat: u64,
    pub(super) has_ended: bool,
    pub(super) next_progress: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Alive,
    Hanging,
    Mute,
    Gone,
}

impl VirtualAgent {
    pub(super) fn running_for(run: u64) -> Self {
        VirtualAgent { run, ..VirtualAgent::default() }
    }

    /// The host's clock at a time of the coordinator.
    pub(super) fn clock(&self, time: u64) -> Nanos {
        let drift = i128::from(time - BEGIN) * i128::from(self.ppm) / 1_000_000;
        Nanos((i128::from(time) + i128::from(self.ahead) + drift) as u64)
    }

    /// The coordinator's time at a time of the host.
    fn time(&self, host: Nanos) -> u64 {
        let passed = i128::from(host.0) - i128::from(self.ahead) - i128::from(BEGIN);
        (i128::from(BEGIN) + passed * 1_000_000 / (1_000_000 + i128::from(self.ppm))) as u64
    }

    /// Whether the fault happens now. The agent does nothing of its own after it.
    fn fails(&mut self, when: When, wire: &mut Wire<'_>) -> bool {
        let Some((_, fault)) = self.fault.filter(|(at, _)| *at == when) else { return false };
        self.fault = None;
        match fault {
            Fault::Killed => {
                self.state = State::Gone;
                wire.leave();
            }
            Fault::Silent => self.state = State::Gone,
            Fault::Hangs => {
                self.state = State::Hanging;
                self.stalls_after = self.began.map(|began| wire.now.saturating_sub(began));
            }
            Fault::Mute => self.state = State::Mute,
            Fault::Disorder => send(&FromHost::Ready, wire),
            Fault::Garbage => wire.send(b"\x05\0\0\0trash".to_vec()),
        }
        // A message too much does not keep the agent from its work.
        !matches!(fault, Fault::Disorder | Fault::Garbage)
    }

    pub(super) fn closed(&mut self, _wire: &mut Wire<'_>) {
        self.is_released = true;
        self.state = State::Gone;
    }

    pub(super) fn message(&mut self, bytes: &[u8], wire: &mut Wire<'_>) {
        if self.state != State::Alive {
            return;
        }
        let (message, _) = decode::<ToHost>(bytes).expect("the coordinator sends messages");
        match message {
            ToHost::Hello(hello) => {
                assert!(hello.rank.0 < hello.ranks.get());
                self.next_heartbeat = wire.now + SECOND;
                wire.wake_at(self.next_heartbeat);
                if self.is_held {
                    send(&FromHost::Busy { holder: "eve@admin\u{1b}[2J".to_owned() }, wire);
                } else if !self.fails(When::Hello, wire) {
                    send(&FromHost::Welcome(Box::default()), wire);
                }
            }
            ToHost::Probe { sent } => self.answer(sent, wire),
            ToHost::Job(order) => {
                self.order = Some(*order);
                let targets = self.targets.clone();
                if self.fails(When::Job, wire) {
                } else if let Some(text) = self.refuses {
                    send(&FromHost::Refused { text: text.to_owned() }, wire);
                } else {
                    let jobs = HostJobs { targets, ..HostJobs::default() };
                    send(&FromHost::Checked(Box::new(jobs)), wire);
                }
            }
            ToHost::LayOut => {
                self.laid_out_at = Some(wire.now + self.layout);
                self.lays_out_since = Some(wire.now);
                self.next_progress = wire.now;
                wire.wake_at(wire.now);
                wire.wake_at(wire.now + self.layout);
            }
            ToHost::Start { at } => {
                let begins = self.time(at).max(wire.now);
                self.began = Some(begins);
                self.ends_at = Some(begins + self.run);
                self.next_progress = begins;
                wire.wake_at(begins);
                wire.wake_at(begins + self.run / 2);
                wire.wake_at(begins + self.run);
            }
            ToHost::Stop { why, .. } => {
                self.told_to_stop = Some((wire.now, why));
                self.ends_at = Some(wire.now + SECOND * 2 / 5);
                self.stalls_after = None;
                wire.wake_at(wire.now + SECOND * 2 / 5);
            }
            ToHost::Bye => {
                self.is_released = true;
                if !self.fails(When::Bye, wire) {
                    self.state = State::Gone;
                    wire.leave();
                }
            }
            ToHost::Trigger => {
                let file = KeptName::State("local-a-0-verify.state".to_owned());
                let keep = FromHost::Keep { file, offset: Bytes::ZERO, number: KeepNumber(7) };
                wire.send(encode(&keep, b"state"));
            }
            ToHost::State { name } => self.kept.push(name),
            ToHost::Kept { number, failed } => {
                self.kept.push(format!("{} {failed:?}", number.0));
                self.ends_at = Some(wire.now + SECOND / 10);
                wire.wake_at(wire.now + SECOND / 10);
            }
            ToHost::Finish => {
                self.ends_at = Some(wire.now + SECOND / 10);
                wire.wake_at(wire.now + SECOND / 10);
            }
            ToHost::Heartbeat | ToHost::Status => {}
        }
    }

    fn answer(&mut self, sent: Nanos, wire: &mut Wire<'_>) {
        let when = if self.has_ended { When::ProbeAfter } else { When::Probe };
        if !self.fails(when, wire) {
            let (received, answered) = (self.clock(wire.now), self.clock(wire.now));
            send(&FromHost::Answer { sent, received, answered }, wire);
        }
    }

    pub(super) fn wake(&mut self, wire: &mut Wire<'_>) {
        if self.state == State::Gone {
            return;
        }
        if wire.now >= self.next_heartbeat {
            self.next_heartbeat += SECOND;
            wire.wake_at(self.next_heartbeat);
            send(&FromHost::Heartbeat, wire);
        }
        if self.state == State::Mute {
            return;
        }
        self.report_layout(wire);
        self.report_progress(wire);
        if self.state == State::Hanging {
            return;
        }
        if self.laid_out_at.is_some_and(|at| wire.now >= at) {
            self.laid_out_at = None;
            if !self.fails(When::LayOut, wire) {
                match self.layout_error {
                    Some(error) => self.end(vec![error.to_owned()], wire),
                    None => send(&FromHost::Ready, wire),
                }
            }
        }
        if self.began.is_some_and(|began| wire.now >= began + self.run / 2)
            && self.fails(When::Running, wire)
        {
            return;
        }
        if self.is_endless {
            if self.told_to_stop.is_some() {
                let data = Box::new(JobData { members: 1, ..JobData::default() });
                send(&FromHost::Result { job: JobIndex(0), data }, wire);
            }
            return;
        }
        let stalls = self.stalls_after.is_some();
        if self.ends_at.is_some_and(|at| wire.now >= at) && !self.has_ended && !stalls {
            self.end(Vec::new(), wire);
        }
    }

    /// Tells how far the layout is. That of a host that hangs stands still.
    fn report_layout(&mut self, wire: &mut Wire<'_>) {
        let hangs = self.state == State::Hanging;
        let Some(since) = self.lays_out_since.filter(|_| hangs || self.laid_out_at.is_some())
        else {
            return;
        };
        let order = self.order.as_ref().and_then(|order| order.progress);
        let Some(interval) = order.filter(|_| wire.now >= self.next_progress) else { return };
        self.next_progress = wire.now + interval.0;
        wire.wake_at(self.next_progress);
        let done = if hangs { 1 } else { wire.now - since };
        let kind = json!({ "layout_progress": { "job": "a", "done": done, "total": u64::MAX } });
        send(&FromHost::Event(json!({ "kind": kind })), wire);
    }

    /// Tells how many bytes the jobs have read.
    fn report_progress(&mut self, wire: &mut Wire<'_>) {
        let Some(began) = self.began.filter(|_| !self.has_ended) else { return };
        let order = self.order.as_ref().and_then(|order| order.progress);
        let Some(interval) = order.filter(|_| wire.now >= self.next_progress) else { return };
        self.next_progress = wire.now + interval.0;
        wire.wake_at(self.next_progress);
        let done = (wire.now - began).min(self.stalls_after.unwrap_or(u64::MAX));
        let job = json!({ "phase": { "running": "read" }, "totals": done });
        let kind = json!({ "progress": { "jobs": [job] } });
        send(&FromHost::Event(json!({ "kind": kind })), wire);
    }

    fn end(&mut self, errors: Vec<String>, wire: &mut Wire<'_>) {
        if self.fails(When::Results, wire) {
            return;
        }
        self.has_ended = true;
        if self.began.is_some() {
            self.finished = Some(wire.now);
            let data = Box::new(JobData { members: 1, ..JobData::default() });
            send(&FromHost::Result { job: JobIndex(0), data }, wire);
            send(&FromHost::Report(Box::default()), wire);
            let (name, number) = ("x_bw.log".into(), KeepNumber(1));
            let log = FromHost::Log { name, number, offset: Bytes(0), last: true };
            wire.send(encode(&log, b"1, 2\n"));
        }
        let ended = Ended {
            status: Some(u8::from(!errors.is_empty())),
            errors,
            signal: None,
            started: vec![self.began.map(|time| self.clock(time)), None],
            finished: self.finished.map(|time| self.clock(time)),
        };
        send(&FromHost::Ended(Box::new(ended)), wire);
    }
}

fn send(message: &FromHost, wire: &mut Wire<'_>) {
    wire.send(encode(message, &[]));
}
