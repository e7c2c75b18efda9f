//! Holds the jobs back until all hosts of a run are ready, and starts them at one time.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use fiord_sys::clock;
use fiord_types::Nanos;

use super::{Conductor, MS};
use crate::job::control::Phase;
use crate::shared::Message;

/// Time between two questions to the gate, ns.
const POLL: u64 = 5 * MS;

/// Decides when the first jobs of a run start. The run sets up its jobs (files are laid out and open, memory is
/// allocated), calls [`StartGate::ready`] once, and polls [`StartGate::start`] every 5 ms.
pub trait StartGate: Debug + Send + Sync {
    /// The jobs that start first are set up.
    fn ready(&self);
    /// When these jobs begin their I/O, by `CLOCK_MONOTONIC` of this machine; `None`: not decided yet. A time in the
    /// past starts them at once.
    fn start(&self) -> Option<Nanos>;
}

impl Conductor<'_> {
    /// Waits until the gate opens, and releases the jobs that are set up. Their threads wait until the start time. Returns
    /// earlier if the run ends.
    pub(super) fn wait_at_gate(&mut self, gate: &dyn StartGate, receiver: &Receiver<Message>) {
        let mut announced = false;
        while !self.over() {
            if !announced && self.are_set_up() {
                announced = true;
                gate.ready();
            }
            if let Some(start) = gate.start().filter(|_| announced) {
                return self.start_at(start.0);
            }
            if let Ok(message) = receiver.recv_timeout(Duration::from_nanos(POLL)) {
                self.handle(message);
            }
            self.handle_interrupts();
        }
    }

    /// Whether all started jobs wait for their release. Jobs that have ended are in neither list.
    fn are_set_up(&self) -> bool {
        let run = Arc::clone(&self.run);
        let mut started = self.cohort.iter().chain(&self.solo);
        started.all(|index| run.jobs[*index].control.phase() >= Phase::Waiting)
    }

    /// Moves the beginning of the run to the start time and releases the jobs.
    fn start_at(&mut self, start: u64) {
        self.begin_at(start);
        let wall = clock::wall().saturating_add(start.saturating_sub(clock::monotonic()));
        let mut ready = std::mem::take(&mut self.cohort);
        ready.append(&mut self.solo);
        // Jobs that start later have no part in how closely the hosts start.
        ready.iter().for_each(|index| self.run.jobs[*index].control.start_at(start));
        self.release(ready, start, wall);
    }
}
