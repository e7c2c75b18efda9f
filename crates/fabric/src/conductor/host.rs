//! What the conductor knows about one host.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use fiord_stat::job::JobData;
use fiord_stat::live::Totals;
use fiord_types::{JobIndex, Nanos};
use serde::Deserialize;
use serde_json::Value;

use super::order::HostOrder;
use crate::clock::{ClockComparison, HostClock};
use crate::limits::{HANG_LIMIT, WATCH_INTERVAL};
use crate::message::JobOrder;
use crate::outcome::{HostOutcome, HostStage};

/// Phases of a job (`fiord_stat::progress::JobPhase`) in which it may do no measured I/O for a long time.
const QUIET_PHASES: [&str; 4] = ["waiting", "pre_reading", "ramping", "verifying"];

/// One host of the run.
#[derive(Debug)]
pub(super) struct HostState {
    pub(super) outcome: HostOutcome,
    /// The stage in which the host is.
    pub(super) stage: HostStage,
    /// The host has done its part of the run's stage.
    pub(super) passed: bool,
    /// When that was. `None` if it has not, or if it had none.
    pub(super) passed_at: Option<Nanos>,
    /// A command of its jobs may run (`exec_prerun`), which takes an unknown time.
    pub(super) runs_command: bool,
    /// There is a connection.
    pub(super) open: bool,
    /// The agent has sent its first message.
    pub(super) greeted: bool,
    /// When the latest message arrived.
    pub(super) heard: Nanos,
    /// When the latest message other than a heartbeat arrived.
    pub(super) reported: Nanos,
    /// The longest time that its jobs may run; `None`: unknown.
    pub(super) longest: Option<Nanos>,
    /// The conductor has reported that the jobs run for longer than that.
    pub(super) is_overdue_known: bool,
    /// When the conductor first told the host to stop.
    pub(super) ordered: Option<Nanos>,
    /// When the conductor told the host to stop, or the latest result since then.
    pub(super) stopped: Option<Nanos>,
    /// The jobs, until they are sent.
    pub(super) job: Option<JobOrder>,
    /// The verify states that are sent with the jobs.
    pub(super) states: Vec<(String, Vec<u8>)>,
    /// The user wants progress events of the host.
    wants_progress: bool,
    /// Time between two progress events.
    progress_interval: Nanos,
    pub(super) data: BTreeMap<JobIndex, JobData>,
    pub(super) before: ClockComparison,
    pub(super) after: ClockComparison,
    /// When the probe was sent whose answer has not arrived.
    pub(super) probed: Option<Nanos>,
    /// How many logs have arrived that are not on the disk of the coordinator: the host waits for it.
    unwritten_logs: u32,
    /// The user knows that the run waits for this host, which does nothing.
    pub(super) is_idle_known: bool,
    /// When the jobs last did something.
    pub(super) progressed: Nanos,
    /// Hash of what the jobs had done then.
    done: u64,
}

impl HostState {
    pub(super) fn new(order: &HostOrder, now: Nanos) -> Self {
        let mut job = order.job.clone();
        let wants_progress = job.progress.is_some();
        let progress_interval = *job.progress.get_or_insert(WATCH_INTERVAL);
        HostState {
            outcome: HostOutcome {
                name: order.name.clone(),
                port: order.port,
                ..HostOutcome::default()
            },
            stage: HostStage::Greet,
            passed: false,
            passed_at: None,
            runs_command: false,
            open: true,
            greeted: false,
            heard: now,
            reported: now,
            longest: order.longest,
            is_overdue_known: false,
            ordered: None,
            stopped: None,
            job: Some(job),
            states: order.states.clone(),
            wants_progress,
            progress_interval,
            data: BTreeMap::new(),
            before: ClockComparison::default(),
            after: ClockComparison::default(),
            probed: None,
            unwritten_logs: 0,
            is_idle_known: false,
            progressed: now,
            done: 0,
        }
    }

    /// The host has to do its part of the run's stage.
    pub(super) fn is_awaited(&self) -> bool {
        self.open && !self.passed
    }

    /// The host has jobs that have not started.
    pub(super) fn waits_for_start(&self) -> bool {
        self.open && self.outcome.ended.is_none()
    }

    /// The host has not ended its run, but can.
    pub(super) fn runs(&self) -> bool {
        self.open && self.outcome.ended.is_none() && self.stage >= HostStage::Run
    }

    /// The host prepares or runs its jobs, so that it may send parts of files to keep.
    pub(super) fn may_keep(&self) -> bool {
        self.outcome.ended.is_none() && self.stage >= HostStage::LayOut
    }

    /// How long the agent may send nothing but heartbeats while its jobs run. Jobs without I/O send progress events, too.
    pub(super) fn silence_limit(&self) -> Nanos {
        HANG_LIMIT.max(self.progress_interval.saturating_mul(3))
    }

    /// Forgets a time in which the conductor itself did nothing.
    pub(super) fn excuse(&mut self, time: Nanos) {
        let moments = [&mut self.heard, &mut self.reported, &mut self.progressed];
        let others = [self.stopped.as_mut(), self.ordered.as_mut(), self.probed.as_mut()];
        for moment in moments.into_iter().chain(others.into_iter().flatten()) {
            *moment = moment.saturating_add(time);
        }
    }

    /// A result has arrived. After the order to stop, it is a reason to wait for the next one.
    pub(super) fn collect(&mut self, at: Nanos) {
        if self.stage == HostStage::Run {
            self.stage = HostStage::Collect;
        }
        self.is_answered(at);
    }

    /// A complete log has arrived. The host waits until it is on the disk of the coordinator.
    pub(super) fn log_arrived(&mut self) {
        self.unwritten_logs += 1;
    }

    /// Whether the host waits for the disk of the coordinator.
    pub(super) fn waits_for_disk(&self) -> bool {
        self.unwritten_logs > 0
    }

    /// Something that the host waited for is on the disk of the coordinator.
    pub(super) fn written(&mut self, at: Nanos) {
        self.unwritten_logs = self.unwritten_logs.saturating_sub(1);
        self.is_answered(at);
    }

    /// The host can continue with its results only now.
    fn is_answered(&mut self, at: Nanos) {
        self.progressed = self.progressed.max(at);
        if let Some(stopped) = self.stopped.as_mut() {
            *stopped = at.max(*stopped);
        }
    }

    /// Notes an event of the run. Returns whether the user wants to see it.
    pub(super) fn observe(&mut self, event: &Value, at: Nanos) -> bool {
        if event.pointer("/kind/snapshot").is_some() {
            // It comes whether or not the jobs do something.
            return true;
        }
        if let Some(done) = event.pointer("/kind/layout_progress/done") {
            // It comes whether or not the layout writes something.
            let done = hash_of(&done.to_string());
            if done != self.done {
                (self.progressed, self.done) = (at, done);
            }
            return self.wants_progress;
        }
        let Some(progress) = event.pointer("/kind/progress") else {
            self.progressed = at;
            self.runs_command |= event.pointer("/kind/command").is_some();
            return true;
        };
        let jobs = progress.get("jobs").and_then(Value::as_array);
        let mut hasher = DefaultHasher::new();
        let mut quiet = false;
        let mut seen = Totals::default();
        for job in jobs.into_iter().flatten() {
            if let Some(totals) =
                job.get("totals").and_then(|totals| Totals::deserialize(totals).ok())
            {
                seen.add(&totals);
            }
            let phase = job.get("phase").and_then(Value::as_str);
            // Before the start, jobs wait for those that are laid out, which can hang.
            let waits = phase == Some("waiting") && self.stage < HostStage::Run;
            quiet |= !waits && phase.is_some_and(|phase| QUIET_PHASES.contains(&phase));
            (job.get("totals").map(Value::to_string), phase).hash(&mut hasher);
        }
        self.outcome.seen = Some(seen);
        let done = hasher.finish();
        if quiet || done != self.done {
            (self.progressed, self.done) = (at, done);
        }
        self.wants_progress
    }

    /// The clock of the host. `None` if it was not compared.
    fn clock(&self) -> Option<HostClock> {
        Some(HostClock::new(self.before.reading()?, self.after.reading()))
    }

    pub(super) fn into_outcome(self, now: Nanos) -> HostOutcome {
        let clock = self.clock();
        let mut outcome = self.outcome;
        outcome.data = self.data.into_values().collect();
        let Some(clock) = clock else { return outcome };
        if let Some(ended) = &outcome.ended {
            let started = ended.started.iter().flatten();
            outcome.started = started.map(|time| clock.to_coordinator(*time)).collect();
            outcome.finished = ended.finished.map(|time| clock.to_coordinator(time));
        }
        outcome.clock = Some(clock.error(outcome.finished.unwrap_or(now)));
        outcome
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use fiord_types::{Bytes, Dir};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_jobs_had_done_is_remembered() {
        let mut host = HostState::new(&HostOrder::default(), Nanos::ZERO);
        let totals = |bytes: u64| {
            let mut totals = Totals::default();
            (totals.bytes[Dir::Write], totals.ios[Dir::Write]) = (Bytes(bytes), 1);
            json!({ "totals": totals, "phase": { "running": "write" } })
        };
        let event = |jobs: Vec<Value>| json!({ "kind": { "progress": { "jobs": jobs } } });
        assert!(host.observe(&json!({ "kind": { "snapshot": {} } }), Nanos::MAX));
        assert_eq!(host.progressed, Nanos::ZERO);
        assert!(!host.observe(&event(vec![totals(4096)]), Nanos(1)));
        host.observe(&event(vec![totals(8192), json!({}), totals(512)]), Nanos(2));
        let seen = host.into_outcome(Nanos(3)).seen.unwrap();
        assert_eq!((seen.all_bytes(), seen.ios[Dir::Write]), (Bytes(8704), 2));
    }
}
