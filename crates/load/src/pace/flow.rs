//! Shares of the work among jobs (`flow`, `flow_id`).
//!
//! Jobs of one flow count their I/Os together. A job may go on while its own count is within its
//! share of all of them: `own · weights ≤ all · weight`. That always holds for at least one job, so
//! they never all wait. A job that has ended no longer counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many I/Os a job may be ahead of its share: it then asks less often.
const AHEAD: u64 = 8;

/// The jobs that share one flow.
#[derive(Debug, Default)]
pub struct Flow {
    /// I/Os of all its jobs.
    all: AtomicU64,
    /// Their weights.
    weights: AtomicU64,
    /// Held while a job joins or leaves.
    door: Mutex<()>,
}

/// One job's place in a flow.
#[derive(Debug)]
pub struct Seat {
    flow: Arc<Flow>,
    weight: u64,
    own: u64,
    seated: bool,
}

impl Seat {
    /// A place that is not taken yet.
    pub fn new(flow: Arc<Flow>, weight: u32) -> Self {
        Seat { flow, weight: u64::from(weight.max(1)), own: 0, seated: false }
    }

    /// Takes part from now on, as if it had had its share so far.
    pub fn sit(&mut self) {
        let _door = self.flow.door.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, weights) =
            (self.flow.all.load(Ordering::Relaxed), self.flow.weights.load(Ordering::Relaxed));
        self.own = (u128::from(all) * u128::from(self.weight))
            .checked_div(u128::from(weights))
            .unwrap_or(0) as u64;
        self.flow.all.fetch_add(self.own, Ordering::Relaxed);
        self.flow.weights.fetch_add(self.weight, Ordering::Relaxed);
        self.seated = true;
    }

    /// Takes no part any longer.
    pub fn leave(&mut self) {
        if std::mem::take(&mut self.seated) {
            let _door = self.flow.door.lock().unwrap_or_else(PoisonError::into_inner);
            self.flow.all.fetch_sub(self.own, Ordering::Relaxed);
            self.flow.weights.fetch_sub(self.weight, Ordering::Relaxed);
        }
    }

    /// Whether the next I/O is within the share.
    #[inline]
    pub fn may_go(&self) -> bool {
        let weights = self.flow.weights.load(Ordering::Relaxed);
        let all = self.flow.all.load(Ordering::Relaxed);
        u128::from(self.own) * u128::from(weights)
            <= (u128::from(all) + u128::from(AHEAD)) * u128::from(self.weight)
    }

    /// Counts an I/O.
    #[inline]
    pub fn issued(&mut self) {
        self.own += 1;
        self.flow.all.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}
