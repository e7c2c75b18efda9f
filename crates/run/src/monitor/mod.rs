//! What is seen of the jobs while they run: rates over windows, the live line, the disks.

mod device;
mod disks;
mod eta;
mod progress;
mod watch;

pub(crate) use device::Devices;
pub(crate) use disks::Disks;
pub(crate) use eta::{Standing, estimate};
pub(crate) use progress::{Meter, Outcome};
pub(crate) use watch::Watch;
