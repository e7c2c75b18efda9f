//! Shares of the I/O among jobs (`flow`, `flow_id`).
//!
//! The jobs of a flow count their I/Os together. A job may issue an I/O while its own count is
//! within its share: `own · weights ≤ all · weight`. This is always true for at least one of the
//! jobs, so they never all wait. A job that has ended does not count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// I/Os that each job may be ahead of its share, so that it waits less often. A fast job may be further ahead: see
/// [`FlowTicket::waits`].
const AHEAD: u64 = 8;
/// The furthest that any job may be ahead.
const FURTHEST: u64 = 1 << 16;
/// A job is never ahead by more than this part of its I/Os, unless that is less than [`AHEAD`].
const PART: u64 = 64;
/// A job that waits more often than this may be further ahead, ns.
const OFTEN: u64 = 1_000_000;
/// A job that waits more seldom than this may be less far ahead, ns.
const SELDOM: u64 = 10_000_000;

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
    /// I/Os of this job that `Flow::all` does not have yet.
    unpublished: u64,
    /// I/Os that the job may issue before it looks at the others again.
    credit: u64,
    /// I/Os that it may be ahead of its share.
    ahead: u64,
    /// When it last waited, ns.
    waited: u64,
    joined: bool,
}

impl FlowTicket {
    /// A ticket of a job that has not joined yet.
    pub fn new(flow: Arc<Flow>, weight: u32) -> Self {
        FlowTicket {
            flow,
            weight: u64::from(weight.max(1)),
            own: 0,
            unpublished: 0,
            credit: 0,
            ahead: AHEAD,
            waited: 0,
            joined: false,
        }
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
            self.publish();
            let _locked = self.flow.membership.lock().unwrap_or_else(PoisonError::into_inner);
            self.flow.all.fetch_sub(self.own, Ordering::Relaxed);
            self.flow.weights.fetch_sub(self.weight, Ordering::Relaxed);
        }
    }

    /// Whether the job may issue its next I/O.
    #[inline]
    #[must_use]
    pub fn may_go(&mut self) -> bool {
        self.credit > 0 || self.has_more()
    }

    /// Looks at the I/Os of the others, and computes how many this job may issue.
    #[inline(never)]
    fn has_more(&mut self) -> bool {
        let weights = u128::from(self.flow.weights.load(Ordering::Relaxed).max(1));
        let all = u128::from(self.flow.all.load(Ordering::Relaxed)) + u128::from(self.ahead);
        let share = (all * u128::from(self.weight) / weights) as u64;
        // The others do not see what this job has not published, so it must be little.
        self.credit = (share + 1).saturating_sub(self.own).min(self.ahead / AHEAD);
        self.credit > 0
    }

    fn publish(&mut self) {
        let new = std::mem::take(&mut self.unpublished);
        self.flow.all.fetch_add(new, Ordering::Relaxed);
    }

    /// The job must wait, at `now` (ns). If it waits all the time, it may be further ahead in future: a wait costs a fast job
    /// many I/Os, and a slow one none.
    pub fn waits(&mut self, now: u64) {
        match now.saturating_sub(self.waited) {
            since if since < OFTEN => {
                let most = (self.own / PART).clamp(AHEAD, FURTHEST);
                self.ahead = (self.ahead * 2).min(most);
            }
            since if since > SELDOM => self.ahead = (self.ahead / 2).max(AHEAD),
            _ => {}
        }
        self.waited = now;
    }

    /// An I/O was issued.
    #[inline]
    pub fn issued(&mut self) {
        self.own += 1;
        self.unpublished += 1;
        self.credit = self.credit.saturating_sub(1);
        if self.credit == 0 {
            self.publish();
        }
    }
}

impl Drop for FlowTicket {
    fn drop(&mut self) {
        self.leave();
    }
}
