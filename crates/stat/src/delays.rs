//! Time that a job's threads lost to the machine, and not to the device.

use serde::{Deserialize, Serialize};

/// How long threads waited for a CPU, and how late they woke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDelays {
    /// Time in which the threads could have run and had no CPU, ns; `None` where the kernel does not
    /// count it (`/proc/thread-self/schedstat`).
    pub ready_ns: Option<u64>,
    /// The longest time by which a thread that slept until an I/O was due woke too late, ns.
    pub longest_wake_ns: u64,
}

impl ThreadDelays {
    /// Counts a sleep that ended so many ns after the time it was to end.
    pub fn woke(&mut self, late: u64) {
        self.longest_wake_ns = self.longest_wake_ns.max(late);
    }

    /// Adds those of another job.
    pub fn merge(&mut self, other: &ThreadDelays) {
        self.ready_ns = self.ready_ns.zip(other.ready_ns).map(|(a, b)| a + b);
        self.longest_wake_ns = self.longest_wake_ns.max(other.longest_wake_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_counts_and_a_gap_stays_a_gap() {
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
