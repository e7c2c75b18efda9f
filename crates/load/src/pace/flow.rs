//! Shares of the I/O among jobs (`flow`, `flow_id`).
//!
//! The jobs of a flow count their I/Os together. A job may issue an I/O while its own count is
//! within its share: `own · weights ≤ all · weight`. This is always true for at least one of the
//! jobs, so they never all wait. A job that has ended does not count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// I/Os that a job may be ahead of its share, so that it waits less often.
const AHEAD: u64 = 8;

/// The jobs that share one flow.
#[derive(Debug, Default)]
pub struct Flow {
    /// Number of I/Os of all jobs.
    all: AtomicU64,
    /// Sum of the weights of all jobs.
    weights: AtomicU64,
    /// Locked while a job joins or leaves.
    membership: Mutex<()>,
}

/// Membership of one job in a flow.
#[derive(Debug)]
pub struct FlowTicket {
    flow: Arc<Flow>,
    weight: u64,
    own: u64,
    joined: bool,
}

impl FlowTicket {
    /// A ticket of a job that has not joined yet.
    pub fn new(flow: Arc<Flow>, weight: u32) -> Self {
        FlowTicket { flow, weight: u64::from(weight.max(1)), own: 0, joined: false }
    }

    /// Joins the flow. The job starts as if it had had exactly its share so far.
    pub fn join(&mut self) {
        let _locked = self.flow.membership.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, weights) =
            (self.flow.all.load(Ordering::Relaxed), self.flow.weights.load(Ordering::Relaxed));
        self.own = (u128::from(all) * u128::from(self.weight))
            .checked_div(u128::from(weights))
            .unwrap_or(0) as u64;
        self.flow.all.fetch_add(self.own, Ordering::Relaxed);
        self.flow.weights.fetch_add(self.weight, Ordering::Relaxed);
        self.joined = true;
    }

    pub fn leave(&mut self) {
        if std::mem::take(&mut self.joined) {
            let _locked = self.flow.membership.lock().unwrap_or_else(PoisonError::into_inner);
            self.flow.all.fetch_sub(self.own, Ordering::Relaxed);
            self.flow.weights.fetch_sub(self.weight, Ordering::Relaxed);
        }
    }

    /// Whether the job may issue its next I/O.
    #[inline]
    #[must_use]
    pub fn may_go(&self) -> bool {
        let weights = self.flow.weights.load(Ordering::Relaxed);
        let all = self.flow.all.load(Ordering::Relaxed);
        u128::from(self.own) * u128::from(weights)
            <= (u128::from(all) + u128::from(AHEAD)) * u128::from(self.weight)
    }

    /// An I/O was issued.
    #[inline]
    pub fn issued(&mut self) {
        self.own += 1;
        self.flow.all.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for FlowTicket {
    fn drop(&mut self) {
        self.leave();
    }
}
