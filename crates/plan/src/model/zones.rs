//! `zonemode=zbd`: targets whose zones are written in order.

/// How a job goes about zones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zoned {
    /// `max_open_zones`: zones that all jobs together write to at a time. `None`: as many as the
    /// device permits.
    pub max_open: Option<u32>,
    /// `job_max_open_zones`; `None`: no limit of the job's own.
    pub job_max_open: Option<u32>,
    /// `ignore_zone_limits`: the device's limits do not count.
    pub ignore_limits: bool,
    /// `read_beyond_wp`.
    pub read_beyond: bool,
    /// `zone_reset_threshold` and `zone_reset_frequency`.
    pub resets: Option<Resets>,
    /// `recover_zbd_write_error`.
    pub recover: bool,
    /// `write_zone_remainder`.
    pub remainders: bool,
}

/// When zones are reset that are not full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resets {
    /// The written share of the job's range, between 0 and 1, from which on they are.
    pub threshold: f64,
    /// Of so many writes, the last one resets its zone first.
    pub every: u64,
}

/// The zones of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zones {
    /// Bytes from one zone to the next.
    pub size: u64,
    /// Bytes of a zone that can be written. `None`: the device has zones and tells it itself; else
    /// the zones are only made believe.
    pub emulated: Option<u64>,
}
