//! The device that a suite is scaled to.

use std::ops::Range;
use std::path::{Path, PathBuf};

use fiord_sys::file;
use fiord_sys::zone::{Facts, State, Zone, ZonedDevice};

/// A zoned device, as far as suites need to know it.
#[derive(Debug, Clone, PartialEq)]
pub struct Zoned {
    /// As it was named.
    pub path: PathBuf,
    /// What it is.
    pub facts: Facts,
    /// The zones that suites use, by number: the longest run of sequential zones that can be
    /// written.
    pub region: Range<usize>,
    /// Bytes that can be written in each of them; of the smallest one where they differ.
    pub capacity: u64,
    /// An NVMe generic character device: it takes `io_uring_cmd` only.
    pub generic: bool,
}

/// Nobody runs more writers at a time than this, however many zones a device lets be open.
const MOST_WRITERS: u32 = 128;

impl Zoned {
    /// Looks at a device.
    ///
    /// # Errors
    /// It cannot be read, or has no zone that a suite can use.
    pub fn new(path: &Path, device: &dyn ZonedDevice) -> Result<Self, String> {
        let facts = device.facts().map_err(|e| e.to_string())?;
        let zones = device.zones().map_err(|e| e.to_string())?;
        let region = region(&zones);
        let capacity = zones[region.clone()].iter().map(|zone| zone.capacity).min();
        let capacity = capacity.filter(|bytes| *bytes > 0).ok_or_else(|| {
            format!("{}: no sequential zone of it can be written", path.display())
        })?;
        let generic = file::facts(path).is_ok_and(|facts| facts.kind == file::Kind::Char);
        Ok(Zoned { path: path.to_owned(), facts, region, capacity, generic })
    }

    /// How many zones suites use.
    pub fn zones(&self) -> u32 {
        u32::try_from(self.region.len()).unwrap_or(u32::MAX)
    }

    /// How many zones can be written at a time: what the device lets be open and active.
    pub fn writers(&self) -> u32 {
        let limits = [self.facts.max_open, self.facts.max_active];
        let least = limits.into_iter().flatten().min().unwrap_or(MOST_WRITERS);
        least.min(MOST_WRITERS).min(self.zones()).max(1)
    }

    /// What every job file of a suite begins with: the device and its zones.
    pub fn head(&self) -> String {
        // A colon separates file names, and names below /dev/disk/by-path have colons.
        let path = self.path.display().to_string().replace(':', "\\:");
        let mut text = format!("[global]\nfilename={path}\ndirect=1\nzonemode=zbd\n");
        if self.region.start > 0 {
            text += &format!("offset={}z\n", self.region.start);
        }
        if let Some(most) = self.facts.max_open {
            text += &format!("max_open_zones={most}\n");
        }
        text
    }

    /// The engine of jobs that do one I/O after the other.
    pub fn one_by_one(&self) -> &'static str {
        if self.generic { "ioengine=io_uring_cmd\ncmd_type=nvme\n" } else { "ioengine=psync\n" }
    }

    /// The engine of jobs that do several at a time.
    pub fn queued(&self) -> &'static str {
        if self.generic { "ioengine=io_uring_cmd\ncmd_type=nvme\n" } else { "ioengine=io_uring\n" }
    }

    /// Whether blocks of so many bytes can be written and fit into a zone.
    pub fn takes_blocks_of(&self, bytes: u64) -> bool {
        bytes > 0
            && bytes.is_multiple_of(u64::from(self.facts.write_granularity))
            && bytes <= self.capacity
    }
}

/// The longest run of sequential zones that can be written.
fn region(zones: &[Zone]) -> Range<usize> {
    let usable = |zone: &Zone| {
        zone.is_sequential() && !matches!(zone.state, State::ReadOnly | State::Offline)
    };
    let mut longest = 0..0;
    let mut start = 0;
    for run in zones.chunk_by(|a, b| usable(a) == usable(b)) {
        if usable(&run[0]) && run.len() > longest.len() {
            longest = start..start + run.len();
        }
        start += run.len();
    }
    longest
}
