//! Delays of a job's threads that the machine caused, not the device.

use serde::{Deserialize, Serialize};

/// How long threads waited for a CPU, and how late they woke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDelays {
    /// Time in which the threads were runnable but had no CPU, ns; `None` if the kernel does not count it
    /// (`/proc/thread-self/schedstat`).
    pub ready_ns: Option<u64>,
    /// Longest delay with which a thread that slept until an I/O was due woke up, ns.
    pub longest_wake_ns: u64,
}

impl ThreadDelays {
    /// Counts a sleep that ended `late` ns after its planned end.
    pub fn woke(&mut self, late: u64) {
        self.longest_wake_ns = self.longest_wake_ns.max(late);
    }

    /// Adds the delays of another job.
    pub fn merge(&mut self, other: &ThreadDelays) {
        self.ready_ns = self.ready_ns.zip(other.ready_ns).map(|(a, b)| a.saturating_add(b));
        self.longest_wake_ns = self.longest_wake_ns.max(other.longest_wake_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_the_longest_delay_and_an_unknown_time_stays_unknown() {
        let mut a = ThreadDelays { ready_ns: Some(5), ..ThreadDelays::default() };
        a.woke(300);
        a.woke(20);
        let b = ThreadDelays { ready_ns: Some(7), longest_wake_ns: 400 };
        a.merge(&b);
        assert_eq!(a, ThreadDelays { ready_ns: Some(12), longest_wake_ns: 400 });
        a.merge(&ThreadDelays::default());
        assert_eq!(a.ready_ns, None);
    }
}
