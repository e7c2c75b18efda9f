//! Samples the devices under the files of jobs, for the view. The thread that draws does it, never a worker.

use std::path::Path;

use fiord_sys::clock;
use fiord_sys::diskstats::{CountedDisk, Counters, DiskFinder};
use fiord_types::Nanos;

use crate::model::LiveDevice;

/// Time between two readings of temperatures. Reading one sends a command to an NVMe drive.
const TEMPERATURE_INTERVAL: Nanos = Nanos::from_secs(10);

/// Maximum number of intervals of a device that are kept.
const MAX_TICKS: usize = 512;

/// A device and its counters at the last sample.
#[derive(Debug)]
struct ProbedDisk {
    disk: CountedDisk,
    last: Counters,
    shown: LiveDevice,
}

/// Samples devices.
#[derive(Debug)]
pub struct DeviceProbe {
    disks: Vec<ProbedDisk>,
    last: Nanos,
    next_temperature: Nanos,
}

impl DeviceProbe {
    /// Prepares to sample the devices under these paths. A device without counters is left out.
    #[must_use]
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut finder = DiskFinder::default();
        let mut disks: Vec<ProbedDisk> = Vec::new();
        for path in paths {
            for disk in finder.find(path).iter() {
                if disks.iter().any(|known| known.disk.name == disk.name) {
                    continue;
                }
                if let Ok(last) = disk.counters() {
                    let shown = LiveDevice { name: disk.name.clone(), ..LiveDevice::default() };
                    disks.push(ProbedDisk { disk: disk.clone(), last, shown });
                }
            }
        }
        DeviceProbe { disks, last: Nanos(clock::monotonic()), next_temperature: Nanos::ZERO }
    }

    pub fn sample(&mut self) -> Vec<LiveDevice> {
        let now = Nanos(clock::monotonic());
        let seconds = now.saturating_sub(self.last).as_secs_f64();
        self.last = now;
        let hot = now >= self.next_temperature;
        if hot {
            self.next_temperature = now.saturating_add(TEMPERATURE_INTERVAL);
        }
        let sampled = self.disks.iter_mut().map(|disk| {
            if hot {
                disk.shown.temperature = disk.disk.temperature();
            }
            disk.sample(seconds);
            disk.shown.clone()
        });
        sampled.collect()
    }
}

impl ProbedDisk {
    fn sample(&mut self, seconds: f64) {
        let Ok(now) = self.disk.counters() else { return };
        let change = now.since(&self.last);
        self.last = now;
        if seconds <= 0.0 {
            return;
        }
        let shown = &mut self.shown;
        if shown.queue.len() >= MAX_TICKS {
            shown.queue.remove(0);
        }
        // Little's law: the mean number of I/Os is the sum of their times per time.
        shown.queue.push((change.in_queue.as_secs_f64() / seconds) as f32);
        shown.util = (change.busy.as_secs_f64() / seconds * 100.0).min(100.0);
        shown.rates = (change.read_bytes.as_f64() / seconds, change.write_bytes.as_f64() / seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_on_no_disk_have_no_device() {
        let mut probe = DeviceProbe::of([Path::new("/dev/null"), Path::new("/proc/self/exe")]);
        assert!(
            probe.sample().iter().all(|device| device.queue.len() <= 1 && device.util <= 100.0)
        );
        let mut none = DeviceProbe::of([Path::new("/dev/null")]);
        assert_eq!(none.sample(), []);
    }
}
