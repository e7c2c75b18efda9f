//! Retries (`http_retries`): which requests wait to be sent again, and how long.

use std::time::Duration;

use fiord_plan::RetryLimit;

use crate::Slot;

/// The first pause.
const FIRST: Duration = Duration::from_millis(100);

const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The pauses of the requests of a job.
pub(super) struct RetryPauses {
    limit: RetryLimit,
    /// How many times each slot's request failed in a way that may pass.
    failed: Box<[u32]>,
    /// When each slot's pause ends, ns. `None`: it has none.
    until: Box<[Option<u64>]>,
    /// How many pauses there are.
    count: usize,
}

impl RetryPauses {
    pub(super) fn new(slots: usize, limit: RetryLimit) -> RetryPauses {
        RetryPauses {
            limit,
            failed: vec![0; slots].into(),
            until: vec![None; slots].into(),
            count: 0,
        }
    }

    /// The slot has a new request.
    pub(super) fn reset(&mut self, slot: Slot) {
        self.failed[slot as usize] = 0;
        self.count -= usize::from(self.until[slot as usize].take().is_some());
    }

    /// A request failed. Returns when its pause ends. `None`: it is not sent again. `least`: how many times a request of this
    /// kind is sent again whatever the job says.
    pub(super) fn begin(&mut self, slot: Slot, now: u64, least: RetryLimit) -> Option<u64> {
        let failed = &mut self.failed[slot as usize];
        if *failed >= self.limit.max(least).0 {
            return None;
        }
        let pause = FIRST.saturating_mul(1 << (*failed).min(16)).min(MAX_PAUSE);
        *failed += 1;
        let until = now.saturating_add(pause.as_nanos() as u64);
        self.count += usize::from(self.until[slot as usize].replace(until).is_none());
        Some(until)
    }

    /// Ends the pause of a slot if its time has come. Returns whether it has.
    pub(super) fn end(&mut self, slot: Slot, now: u64) -> bool {
        let until = &mut self.until[slot as usize];
        let ends = until.is_some_and(|until| until <= now);
        if ends {
            *until = None;
            self.count -= 1;
        }
        ends
    }

    /// Whether a request waits.
    pub(super) const fn any(&self) -> bool {
        self.count > 0
    }

    /// Whether the request of a slot waits.
    pub(super) fn is_paused(&self, slot: Slot) -> bool {
        self.until[slot as usize].is_some()
    }

    /// How long the shortest pause still lasts.
    pub(super) fn left(&self, now: u64) -> Duration {
        let first = self.until.iter().flatten().min();
        first.map_or(MAX_PAUSE, |until| Duration::from_nanos(until.saturating_sub(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_end() {
        const MS: u64 = 1_000_000;
        const NONE: RetryLimit = RetryLimit(0);
        let mut pauses = RetryPauses::new(2, RetryLimit(8));
        let mut at = 0;
        let mut lengths = Vec::new();
        while let Some(until) = pauses.begin(1, at, NONE) {
            assert!(pauses.any() && pauses.is_paused(1) && !pauses.is_paused(0));
            assert!(!pauses.end(1, until - 1) && !pauses.end(0, until));
            assert_eq!(pauses.left(at), Duration::from_nanos(until - at));
            assert!(pauses.end(1, until) && !pauses.any());
            lengths.push((until - at) / MS);
            at = until;
        }
        assert_eq!(lengths, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        pauses.reset(1);
        assert!(pauses.begin(1, at, NONE).is_some());
        pauses.reset(1);
        assert!(!pauses.any());
        let mut pauses = RetryPauses::new(1, NONE);
        assert!(pauses.begin(0, 0, NONE).is_none() && pauses.begin(0, 0, RetryLimit(1)).is_some());
    }
}
