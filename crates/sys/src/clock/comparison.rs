//! Compares the time stamp counters of the CPUs (`--cpuclock-test`).
//!
//! One thread on each CPU reads the largest value that any CPU has seen, then its own counter, and publishes the larger one.
//! A counter that reads less than a value published before it is behind the counter of another CPU.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::cpu::{self, CpuSet};
use crate::{Error, Result};

/// What one CPU saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuCounter {
    cpu: usize,
    reads: u64,
    first: u64,
    behind: u64,
}

impl CpuCounter {
    /// The counter of a CPU. `reads`: how often it was read. `first`: its first value. `behind`: the largest number of
    /// ticks by which it was behind another CPU.
    #[must_use]
    pub fn new(cpu: usize, reads: u64, first: u64, behind: u64) -> Self {
        CpuCounter { cpu, reads, first, behind }
    }

    /// Number of the CPU.
    #[must_use]
    pub fn cpu(&self) -> usize {
        self.cpu
    }

    /// How often the counter was read.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// The first value of the counter.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The largest number of ticks by which the counter was behind that of another CPU. 0: never.
    #[must_use]
    pub fn behind(&self) -> u64 {
        self.behind
    }
}

/// Compares the counters of all CPUs that the process may use, for about `span`.
///
/// # Errors
/// Errors of [`cpu::allowed`] and of creating a thread.
pub fn compare_cpus(span: Duration) -> Result<Vec<CpuCounter>> {
    let cpus: Vec<usize> = cpu::allowed()?.iter().collect();
    let latest = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let one = |&cpu: &usize| {
            let latest = &latest;
            let body = move || watch(cpu, span, super::ordered_ticks, latest);
            let failed = |error: std::io::Error| Error::from_io("clone", &error);
            std::thread::Builder::new().spawn_scoped(scope, body).map_err(failed)
        };
        let threads: Vec<_> = cpus.iter().map(one).collect();
        let ended = threads.into_iter().map(|thread| {
            Ok(thread?.join().unwrap_or(CpuCounter { cpu: 0, reads: 0, first: 0, behind: 0 }))
        });
        ended.collect()
    })
}

/// Reads the counter of a CPU again and again.
fn watch(cpu: usize, span: Duration, counter: impl Fn() -> u64, latest: &AtomicU64) -> CpuCounter {
    let only: CpuSet = [cpu].into_iter().collect();
    // If this fails, the CPU may be another one, and the comparison remains valid.
    let _ = cpu::set_affinity(&only);
    let end = Instant::now() + span;
    let mut found = CpuCounter { cpu, reads: 0, first: counter(), behind: 0 };
    while Instant::now() < end {
        for _ in 0..1000 {
            let before = latest.load(Ordering::Acquire);
            let now = counter();
            found.behind = found.behind.max(before.saturating_sub(now));
            latest.fetch_max(now, Ordering::Release);
        }
        found.reads += 1000;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_is_behind_is_found() {
        let latest = AtomicU64::new(0);
        let span = Duration::from_millis(1);
        let steady = AtomicU64::new(1);
        let ticks = || steady.fetch_add(1, Ordering::Relaxed);
        let found = watch(0, span, ticks, &latest);
        assert!(found.behind == 0 && found.reads >= 1000 && found.first == 1, "{found:?}");
        // Another CPU is 500 ticks ahead.
        latest.fetch_add(500, Ordering::Relaxed);
        let found = watch(0, span, ticks, &latest);
        assert!((490..=500).contains(&found.behind), "{found:?}");
    }
}
