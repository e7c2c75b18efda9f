//! Latencies by I/O priority, for jobs that have more than one.

use fiord_types::Nanos;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::summary::Summary;

/// Maximum number of priorities of one direction. Each has a histogram, so this bounds the memory that a short text can
/// claim.
pub(crate) const MAX_PRIORITIES: usize = 1024;

/// The latencies of one priority in one direction: total latencies if those have percentiles, else completion
/// latencies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityRecorder {
    /// The priority in the kernel's encoding (`linux/ioprio.h`): class in bits 13 to 15, hint in bits 3 to 12,
    /// level in bits 0 to 2.
    pub ioprio: u16,
    /// Latency, ns.
    pub summary: Summary,
    /// Histogram of the latencies, ns.
    pub hist: Histogram,
}

impl PriorityRecorder {
    /// An empty recorder for a priority. Allocates its histogram now.
    #[must_use]
    pub fn new(ioprio: u16) -> Self {
        let mut hist = Histogram::new();
        hist.reserve();
        PriorityRecorder { ioprio, summary: Summary::new(), hist }
    }

    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.summary.record(latency.0);
        self.hist.record(latency);
    }

    /// Clears all latencies; keeps the memory.
    pub fn clear(&mut self) {
        self.summary = Summary::new();
        self.hist.clear();
    }
}

/// Adds latencies of other recorders: to the entry with the same priority, or as a new entry at the end.
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

/// Reads a list of at most [`MAX_PRIORITIES`] entries.
pub(crate) fn few_priorities<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<PriorityRecorder>, D::Error> {
    struct Few;
    impl<'de> Visitor<'de> for Few {
        type Value = Vec<PriorityRecorder>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "at most {MAX_PRIORITIES} priorities")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut few = Vec::new();
            while let Some(entry) = list.next_element()? {
                if few.len() == MAX_PRIORITIES {
                    return Err(A::Error::invalid_length(few.len() + 1, &self));
                }
                few.push(entry);
            }
            Ok(few)
        }
    }
    from.deserialize_seq(Few)
}
