//! Delays of a job's threads that the machine caused, not the device.

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
        let b = ThreadDelays { ready: Some(Nanos(7)), longest_wake: Nanos(400) };
        a.merge(&b);
        assert_eq!(a, ThreadDelays { ready: Some(Nanos(12)), longest_wake: Nanos(400) });
        a.merge(&ThreadDelays::default());
        assert_eq!(a.ready, None);
    }
}
