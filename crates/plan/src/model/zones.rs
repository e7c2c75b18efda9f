//! `zonemode=zbd`: targets with zones that must be written sequentially.

use fiord_types::Bytes;

/// How a job handles zones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zoned {
    /// `max_open_zones`: the largest number of zones that all jobs together write to at a time.
    /// `None`: the limit of the device.
    pub max_open: Option<u32>,
    /// `job_max_open_zones`: the largest number of zones that this job writes to at a time. `None`:
    /// no limit.
    pub job_max_open: Option<u32>,
    /// `ignore_zone_limits`: ignore the limits of the device.
    pub ignore_limits: bool,
    /// `read_beyond_wp`: the job may read after the write pointer of a zone.
    pub read_beyond: bool,
    /// `zone_reset_threshold` and `zone_reset_frequency`: when the job resets zones that are not
    /// full.
    pub resets: Option<Resets>,
    /// `recover_zbd_write_error`: after a failed write, the job reads the write pointers from the
    /// device and continues.
    pub recover: bool,
    /// `write_zone_remainder`: the job writes the rest of a zone that is smaller than a block.
    pub remainders: bool,
}

/// When a job resets zones that are not full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resets {
    /// `zone_reset_threshold`: resets start when this fraction (0 to 1) of the job's range is
    /// written.
    pub threshold: f64,
    /// The inverse of `zone_reset_frequency`: every this many writes, a write first resets its
    /// zone.
    pub every: u64,
}

/// The zones of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zones {
    /// `zonesize`: bytes from the start of a zone to the start of the next one.
    pub size: Bytes,
    /// Writable bytes of an emulated zone (`zonecapacity`). `None`: the device has zones and
    /// reports their capacity.
    pub emulated: Option<Bytes>,
}
