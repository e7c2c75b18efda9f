//! The device that a suite is scaled to.

use std::ops::Range;
use std::path::{Path, PathBuf};

use fiord_sys::file;
use fiord_sys::zone::{State, Zone, ZonedDevice, ZonedFacts};
use fiord_types::Bytes;

/// Why suites cannot use a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The device failed to report its zones.
    #[error(transparent)]
    Report(#[from] fiord_sys::Error),
    /// There is no zone to write.
    #[error("{device}: the device has no writable sequential zone")]
    NoZone { device: PathBuf },
}

/// The properties of a zoned device that suites need.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteDevice {
    pub path: PathBuf,
    /// Facts about the device.
    pub facts: ZonedFacts,
    /// Range of zones that suites use: the longest range of writable sequential zones.
    pub region: Range<usize>,
    /// Smallest capacity of these zones.
    pub capacity: Bytes,
    /// Whether this is an NVMe generic character device, which requires `io_uring_cmd`.
    pub generic: bool,
}

/// Maximum number of concurrent writers, even if the device permits more open zones.
const MAX_WRITERS: u32 = 128;

impl SuiteDevice {
    /// Examines a device.
    ///
    /// # Errors
    /// The device cannot be read, or has no zone that a suite can use.
    pub fn new(path: &Path, device: &dyn ZonedDevice) -> Result<Self, DeviceError> {
        let (facts, zones) = (device.facts()?, device.zones()?);
        let region = region(&zones);
        let capacity = zones[region.clone()].iter().map(|zone| zone.capacity).min();
        let unusable = || DeviceError::NoZone { device: path.to_owned() };
        let capacity = capacity.filter(|bytes| *bytes > Bytes::ZERO).ok_or_else(unusable)?;
        let generic = file::facts(path).is_ok_and(|facts| facts.kind == file::InodeType::Char);
        Ok(SuiteDevice { path: path.to_owned(), facts, region, capacity, generic })
    }

    /// Returns the number of zones that suites use.
    #[must_use]
    pub fn zones(&self) -> u32 {
        u32::try_from(self.region.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of zones that can be written concurrently, from the limits on open and
    /// active zones.
    #[must_use]
    pub fn writers(&self) -> u32 {
        let limits = [self.facts.max_open, self.facts.max_active];
        let least = limits.into_iter().flatten().min().unwrap_or(MAX_WRITERS);
        least.min(MAX_WRITERS).min(self.zones()).max(1)
    }

    /// Returns the start of every job file of a suite: the device and its zones.
    #[must_use]
    pub fn head(&self) -> String {
        // A colon separates file names, and names below /dev/disk/by-path contain colons.
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

    /// Returns the engine options of jobs with a queue depth of 1.
    #[must_use]
    pub fn one_by_one(&self) -> &'static str {
        if self.generic { "ioengine=io_uring_cmd\ncmd_type=nvme\n" } else { "ioengine=psync\n" }
    }

    /// Returns the engine options of jobs with larger queue depths.
    #[must_use]
    pub fn queued(&self) -> &'static str {
        if self.generic { "ioengine=io_uring_cmd\ncmd_type=nvme\n" } else { "ioengine=io_uring\n" }
    }

    /// Whether blocks of `bytes` can be written and fit into a zone.
    #[must_use]
    pub fn takes_blocks_of(&self, bytes: u64) -> bool {
        bytes > 0
            && bytes.is_multiple_of(self.facts.write_granularity.0)
            && bytes <= self.capacity.0
    }
}

/// Returns the longest range of writable sequential zones.
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
