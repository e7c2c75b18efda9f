//! Latencies by I/O priority, for jobs that have more than one.

use crate::histogram::Histogram;
use crate::summary::Summary;

/// The latencies of one priority in one direction: total latencies where those have percentiles,
/// else completion latencies.
#[derive(Debug, Clone, Default)]
pub struct PriorityRecorder {
    /// The priority as the kernel takes it (`linux/ioprio.h`): class in bits 13 to 15, hint in bits
    /// 3 to 12, level in bits 0 to 2.
    pub ioprio: u16,
    /// Latency, ns.
    pub summary: Summary,
    /// The same.
    pub hist: Histogram,
}

impl PriorityRecorder {
    /// Of a priority, nothing recorded, with its memory taken.
    pub fn new(ioprio: u16) -> Self {
        let mut hist = Histogram::new();
        hist.reserve();
        PriorityRecorder { ioprio, summary: Summary::new(), hist }
    }

    /// Takes one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.summary.record(ns);
        self.hist.record(ns);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.summary = Summary::new();
        self.hist.clear();
    }
}

/// Adds what others recorded: to the same priority where there is one, else behind all.
pub fn merge(mine: &mut Vec<PriorityRecorder>, theirs: &[PriorityRecorder]) {
    for other in theirs {
        match mine.iter_mut().find(|p| p.ioprio == other.ioprio) {
            None => mine.push(other.clone()),
            Some(same) => {
                same.summary.merge(&other.summary);
                same.hist.merge(&other.hist);
            }
        }
    }
}
