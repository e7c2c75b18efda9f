//! Delays of a job's threads that the machine or a log caused, not the device.

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

/// How long threads waited for a CPU, and how late they woke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDelays {
    /// Time in which the threads were runnable but had no CPU; `None` if the kernel does not count it
    /// (`/proc/thread-self/schedstat`).
    #[serde(rename = "ready_ns")]
    pub ready: Option<Nanos>,
    /// Longest delay with which a thread that slept until an I/O was due woke up.
    #[serde(rename = "longest_wake_ns")]
    pub longest_wake: Nanos,
    /// Time in which the threads waited because the log of their I/Os was not written fast enough.
    #[serde(rename = "log_ns", default, skip_serializing_if = "did_not_wait")]
    pub log: Nanos,
}

/// Results of jobs that did not wait for a log look as they did before there were logs.
fn did_not_wait(log: &Nanos) -> bool {
    *log == Nanos::ZERO
}

impl ThreadDelays {
    /// Counts a sleep that ended `late` after its planned end.
    pub fn woke(&mut self, late: Nanos) {
        self.longest_wake = self.longest_wake.max(late);
    }

    /// Adds the delays of another job.
    pub fn merge(&mut self, other: &ThreadDelays) {
        self.ready = self.ready.zip(other.ready).map(|(a, b)| a.saturating_add(b));
        self.longest_wake = self.longest_wake.max(other.longest_wake);
        self.log = self.log.saturating_add(other.log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_the_longest_delay_and_an_unknown_time_stays_unknown() {
        let mut a = ThreadDelays { ready: Some(Nanos(5)), ..ThreadDelays::default() };
        a.woke(Nanos(300));
        a.woke(Nanos(20));
        a.log = Nanos(3);
        let b = ThreadDelays { ready: Some(Nanos(7)), longest_wake: Nanos(400), log: Nanos(4) };
        a.merge(&b);
        let sum = ThreadDelays { ready: Some(Nanos(12)), longest_wake: Nanos(400), log: Nanos(7) };
        assert_eq!(a, sum);
        a.merge(&ThreadDelays::default());
        assert_eq!(a.ready, None);
    }
}
