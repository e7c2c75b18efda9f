//! What the coordinator wants of a run, as the run polls it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fiord_fabric::message::{FromHost, KeepNumber};
use fiord_run::{Interrupt, Interrupts, StartGate};
use fiord_types::Nanos;

use super::outbox::Outbox;

/// The number of the signal of a stop that no signal caused (SIGTERM).
const TERMINATE: i32 = 15;

/// Why the coordinator does not have a part of a file.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotKept {
    #[error("{0}")]
    Failed(String),
    #[error("the coordinator has disconnected")]
    Gone,
}

/// What the thread of an order does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OrderStage {
    /// The thread checks and plans the jobs. It only reads, so the agent can abandon it if it hangs.
    #[default]
    Check,
    /// The thread lays out files, runs the jobs, and sends the results.
    Run,
    /// The thread removes what a run without a coordinator has created.
    Cleanup,
}

impl OrderStage {
    /// What an order that does not end hangs in.
    pub(super) fn words(self) -> &'static str {
        match self {
            OrderStage::Check => "a file that they read does not respond",
            OrderStage::Run => "a file or device does not respond",
            OrderStage::Cleanup => "a file that they created cannot be removed yet",
        }
    }
}

/// What the coordinator wants of one run.
#[derive(Debug, Default)]
pub(super) struct Orders {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Wanted {
    stage: OrderStage,
    lay_out: bool,
    start: Option<Nanos>,
    /// 1: the jobs end in an orderly way. 2: jobs that hang are abandoned.
    stops: u32,
    signal: Option<i32>,
    statuses: u32,
    /// The coordinator is gone.
    lost: bool,
    /// The coordinator answers nothing any more.
    deaf: bool,
    /// The trigger fires.
    triggered: bool,
    /// The jobs end as if they had done their work.
    finished: bool,
    /// The number of the next part of a file that the coordinator keeps.
    next_part: u64,
    /// What became of the parts. `None`: the coordinator has it.
    kept: HashMap<KeepNumber, Option<String>>,
}

impl Orders {
    fn lock(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, how: impl FnOnce(&mut Wanted)) {
        how(&mut self.lock());
        self.changed.notify_all();
    }

    /// The thread of the order continues to this stage.
    pub(super) fn enter(&self, stage: OrderStage) {
        self.lock().stage = stage;
    }

    /// What the thread of the order does.
    pub(super) fn stage(&self) -> OrderStage {
        self.lock().stage
    }

    /// The files may be laid out.
    pub(super) fn lay_out(&self) {
        self.change(|wanted| wanted.lay_out = true);
    }

    /// The jobs start at this time.
    pub(super) fn start(&self, at: Nanos) {
        self.change(|wanted| wanted.start = Some(at));
    }

    /// A report of the run so far is wanted.
    pub(super) fn report(&self) {
        self.change(|wanted| wanted.statuses += 1);
    }

    /// Stops the run. `times`: 1 ends the jobs in an orderly way, 2 abandons jobs that hang.
    pub(super) fn stop(&self, times: u32, signal: Option<i32>) {
        self.change(|wanted| {
            wanted.stops = wanted.stops.max(times);
            wanted.signal = wanted.signal.or(signal);
        });
    }

    /// The trigger fires.
    pub(super) fn trigger(&self) {
        self.change(|wanted| wanted.triggered = true);
    }

    /// The jobs end as if they had done their work.
    pub(super) fn finish(&self) {
        self.change(|wanted| wanted.finished = true);
    }

    /// The coordinator has a part of a file, or could not keep it.
    pub(super) fn kept(&self, number: KeepNumber, failed: Option<String>) {
        self.change(|wanted| drop(wanted.kept.insert(number, failed)));
    }

    /// The number of a new part of a file.
    pub(super) fn next_part(&self) -> KeepNumber {
        let mut wanted = self.lock();
        wanted.next_part += 1;
        KeepNumber(wanted.next_part)
    }

    /// Waits until the coordinator has a part of a file.
    ///
    /// # Errors
    /// Why the coordinator does not have it.
    pub(super) fn wait_kept(&self, number: KeepNumber) -> Result<(), NotKept> {
        let waits = |wanted: &mut Wanted| !wanted.deaf && !wanted.kept.contains_key(&number);
        let waited = self.changed.wait_while(self.lock(), waits);
        match waited.unwrap_or_else(PoisonError::into_inner).kept.remove(&number) {
            Some(None) => Ok(()),
            Some(Some(why)) => Err(NotKept::Failed(why)),
            None => Err(NotKept::Gone),
        }
    }

    /// The coordinator answers nothing any more.
    pub(super) fn part(&self) {
        self.change(|wanted| wanted.deaf = true);
    }

    /// The coordinator is gone: the run ends, and its files are removed.
    pub(super) fn lose(&self) {
        self.change(|wanted| (wanted.lost, wanted.deaf) = (true, true));
        self.stop(1, None);
    }

    /// Whether the coordinator has disconnected.
    pub(super) fn is_lost(&self) -> bool {
        self.lock().lost
    }

    /// Whether the run is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stops > 0
    }

    /// The signal that stopped the run.
    pub(super) fn signal(&self) -> Option<i32> {
        self.lock().signal
    }

    /// Waits until the files may be laid out. Returns false if the run is to end instead.
    pub(super) fn wait_for_layout(&self) -> bool {
        let waits = |wanted: &mut Wanted| !wanted.lay_out && wanted.stops == 0;
        let waited = self.changed.wait_while(self.lock(), waits);
        waited.unwrap_or_else(PoisonError::into_inner).stops == 0
    }
}

/// Holds the jobs back until the coordinator says when they start.
#[derive(Debug)]
pub(super) struct OrderedStart {
    pub(super) orders: Arc<Orders>,
    pub(super) outbox: Outbox,
}

impl StartGate for OrderedStart {
    fn ready(&self) {
        self.outbox.send(&FromHost::Ready, &[]);
    }
    fn start(&self) -> Option<Nanos> {
        self.orders.lock().start
    }
}

/// Passes stops and requests for reports on to a run.
pub(super) struct OrderedInterrupts {
    orders: Arc<Orders>,
    stops: u32,
    statuses: u32,
    triggered: bool,
    finished: bool,
}

impl OrderedInterrupts {
    pub(super) fn new(orders: Arc<Orders>) -> Self {
        OrderedInterrupts { orders, stops: 0, statuses: 0, triggered: false, finished: false }
    }
}

impl Interrupts for OrderedInterrupts {
    fn next(&mut self) -> Option<Interrupt> {
        let wanted = self.orders.lock();
        if wanted.stops > self.stops {
            self.stops += 1;
            return Some(Interrupt::End(wanted.signal.unwrap_or(TERMINATE)));
        }
        if wanted.triggered && !self.triggered {
            self.triggered = true;
            return Some(Interrupt::Trigger);
        }
        if wanted.finished && !self.finished {
            self.finished = true;
            return Some(Interrupt::Finish);
        }
        if wanted.statuses != self.statuses {
            // One report answers several pending requests.
            self.statuses = wanted.statuses;
            return Some(Interrupt::Status);
        }
        None
    }
}
