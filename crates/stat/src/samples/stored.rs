//! The serialized form of [`Samples`]. The counts of I/Os and bytes are lists of numbers; the latencies of all windows are
//! one text: for each window the number of buckets, then for each bucket the unused ones before it and its count, as
//! [varints](fiord_formats::varint) in base64.

use fiord_formats::block;
use fiord_types::{Bytes, Dir, Nanos, PerDir};
use serde::{Deserialize, Serialize};

use super::{MAX_WINDOWS, SampleLatencies, Samples, WindowSample, windows_between};

/// The serialized form.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    begin_ns: Nanos,
    measured_ns: Nanos,
    end_ns: Nanos,
    window_ns: Nanos,
    #[serde(default, skip_serializing_if = "Direction::is_unused")]
    read: Direction,
    #[serde(default, skip_serializing_if = "Direction::is_unused")]
    write: Direction,
    #[serde(default, skip_serializing_if = "Direction::is_unused")]
    trim: Direction,
}

#[derive(Default, Serialize, Deserialize)]
struct Direction {
    ios: Vec<u64>,
    bytes: Vec<u64>,
    latencies: String,
    /// Sum of the latencies of each window; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    latency_sum_ns: Vec<Nanos>,
}

/// Why a text is not that of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum StoredError {
    /// Times are in no order, or too many windows.
    #[error("samples with more than {MAX_WINDOWS} windows, or with a window of an unknown length")]
    Windows,
    /// The lists of a direction have different lengths.
    #[error("the lists of samples differ in length")]
    Lengths,
    /// The latencies are not a block.
    #[error("the latencies of samples are damaged")]
    Latencies,
}

impl Direction {
    fn is_unused(&self) -> bool {
        self.ios.is_empty()
    }

    fn of(list: &[WindowSample]) -> Direction {
        Direction {
            ios: list.iter().map(WindowSample::ios).collect(),
            bytes: list.iter().map(|sample| sample.bytes.0).collect(),
            latencies: block::bytes_to_text(&Samples::latencies_block(list)),
            latency_sum_ns: Samples::latency_sums(list),
        }
    }

    fn samples(self, most: usize) -> Result<Vec<WindowSample>, StoredError> {
        if self.ios.len() != self.bytes.len() || self.ios.len() > most {
            return Err(StoredError::Lengths);
        }
        let mut sums = self.latency_sum_ns.into_iter();
        if sums.len() > 0 && sums.len() != self.ios.len() {
            return Err(StoredError::Lengths);
        }
        let packed = block::bytes_from_text(&self.latencies).map_err(|_| StoredError::Latencies)?;
        let mut rest = packed.as_slice();
        let mut list = Vec::with_capacity(self.ios.len());
        for (ios, bytes) in self.ios.into_iter().zip(self.bytes) {
            let latencies = SampleLatencies::take(&mut rest).ok_or(StoredError::Latencies)?;
            list.push(WindowSample::new(ios, Bytes(bytes), latencies).with_sum(sums.next()));
        }
        if rest.is_empty() { Ok(list) } else { Err(StoredError::Latencies) }
    }
}

impl Samples {
    /// The latencies of all windows in a list: for each window the number of buckets, then for each bucket the unused ones
    /// before it and its count, all as [varints](fiord_formats::varint).
    #[must_use]
    pub fn latencies_block(list: &[WindowSample]) -> Vec<u8> {
        let mut packed = Vec::new();
        list.iter().for_each(|sample| sample.latencies.put(&mut packed));
        packed
    }

    /// The sum of the latencies of each window in a list; empty if one is unknown, or if there are no latencies.
    #[must_use]
    pub fn latency_sums(list: &[WindowSample]) -> Vec<Nanos> {
        let unknown = |sample: &WindowSample| !sample.latencies.is_empty() && sample.sum.is_none();
        if list.iter().any(unknown) || list.iter().all(|sample| sample.latencies.is_empty()) {
            return Vec::new();
        }
        list.iter().map(|sample| sample.sum.unwrap_or_default()).collect()
    }
}

impl From<Samples> for Stored {
    fn from(samples: Samples) -> Stored {
        let [read, write, trim] = Dir::ALL.map(|dir| Direction::of(samples.dir(dir)));
        Stored {
            begin_ns: samples.begin,
            measured_ns: samples.measured,
            end_ns: samples.end,
            window_ns: samples.window,
            read,
            write,
            trim,
        }
    }
}

impl TryFrom<Stored> for Samples {
    type Error = StoredError;
    fn try_from(stored: Stored) -> Result<Samples, StoredError> {
        let Stored { begin_ns, measured_ns, end_ns, window_ns, read, write, trim } = stored;
        if begin_ns == end_ns {
            return Ok(Samples::default());
        }
        let count = windows_between(begin_ns, end_ns, window_ns);
        let known = super::on_grid(window_ns) == window_ns;
        if !known || count == 0 || count > MAX_WINDOWS {
            return Err(StoredError::Windows);
        }
        let dirs = PerDir::new(read.samples(count)?, write.samples(count)?, trim.samples(count)?);
        Ok(Samples::new(begin_ns, measured_ns, end_ns, window_ns, dirs))
    }
}
