//! Observes jobs and devices while the run lasts: rates over windows, the live line, disk counters.

mod device;
mod disks;
mod eta;
mod latency;
mod progress;
mod snapshots;
mod watch;

pub(crate) use device::DeviceActivity;
pub(crate) use disks::Disks;
pub(crate) use eta::{Standing, estimate, estimate_job};
pub(crate) use latency::{LEAD, LatencyMeter};
pub(crate) use progress::{JobEnd, Meter, style};
pub(crate) use snapshots::{KnownJob, SnapshotMeter};
pub(crate) use watch::JobWatch;
