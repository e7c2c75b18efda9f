//! Limits that the control groups of this process set on device I/O and CPU time (Linux:
//! Documentation/admin-guide/cgroup-v2.rst; version 1: cgroup-v1/blkio-controller.rst and
//! Documentation/scheduler/sched-bwc.rst).

use std::path::PathBuf;

use fiord_types::Nanos;

use crate::file::Device;
use crate::mount;
use crate::root::{Root, text};

/// A limit on the I/O to one device. `None` means no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IoQuota {
    /// Path of the group that sets the limit.
    pub group: String,
    /// The device that the limit applies to.
    pub device: Option<Device>,
    /// Limits in bytes per second: `[reads, writes]`.
    pub bytes: [Option<u64>; 2],
    /// Limits in I/Os per second: `[reads, writes]`.
    pub ios: [Option<u64>; 2],
    /// `io.latency` target. To reach it, the kernel slows down groups with a higher target or none.
    pub latency: Option<Nanos>,
}

/// A limit on CPU time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuQuota {
    /// Path of the group that sets the limit.
    pub group: String,
    /// CPU time that the group may use in each period; `None` if there is no limit.
    pub quota: Option<Nanos>,
    /// Length of a period.
    pub period: Nanos,
    /// Number of periods in which the group was throttled, since the group was created.
    pub throttled: u64,
    /// Time in which the group was throttled.
    pub throttled_time: Nanos,
}

/// All limits that apply to this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Limits on I/O.
    pub io: Vec<IoQuota>,
    /// Limits on CPU time, of groups that have one.
    pub cpu: Vec<CpuQuota>,
}

impl Quotas {
    /// Reads the limits of the groups that contain this process and of the groups above them.
    #[must_use]
    pub fn read(root: &Root) -> Quotas {
        let mounts = std::fs::read(root.path("/proc/self/mountinfo")).unwrap_or_default();
        let mounts = mount::parse(&mounts);
        let groups = root.text("/proc/self/cgroup").unwrap_or_default();
        let mut quotas = Quotas::default();
        for line in groups.lines() {
            // The fields are hierarchy:controllers:path; version 2 is hierarchy 0 without controllers.
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let has = |name: &str| controllers.split(',').any(|controller| controller == name);
            let mounted = mounts.iter().find(|mount| match controllers {
                "" => mount.kind == "cgroup2",
                _ => {
                    mount.kind == "cgroup"
                        && controllers
                            .split(',')
                            .all(|name| mount.super_options.split(',').any(|option| option == name))
                }
            });
            let Some(mounted) = mounted else { continue };
            let own = PathBuf::from(path.trim_start_matches('/'));
            for group in own.ancestors() {
                let directory = root.path(&mounted.point).join(group);
                let name = format!("/{}", group.display());
                if controllers.is_empty() {
                    quotas.version_two(&directory, &name);
                } else if has("blkio") {
                    quotas.io_of_version_one(&directory, &name);
                } else if has("cpu") {
                    quotas.cpu_of_version_one(&directory, &name);
                }
            }
        }
        quotas
    }

    fn version_two(&mut self, directory: &std::path::Path, name: &str) {
        let limits = text(&directory.join("io.max")).unwrap_or_default();
        self.io.extend(limits.lines().filter_map(|line| io_max(name, line)));
        let latencies = text(&directory.join("io.latency")).unwrap_or_default();
        for line in latencies.lines() {
            let mut words = line.split_whitespace();
            let device = words.next().and_then(Device::parse);
            let target = words.find_map(|word| {
                word.strip_prefix("target=")?.parse().ok().map(Nanos::from_micros)
            });
            if device.is_some() && target.is_some() {
                let group = name.to_owned();
                self.io.push(IoQuota { group, device, latency: target, ..IoQuota::default() });
            }
        }
        let Some(max) = text(&directory.join("cpu.max")) else { return };
        let (quota, period) = max.split_once(' ').unwrap_or((&max, "100000"));
        let stat = text(&directory.join("cpu.stat")).unwrap_or_default();
        self.cpu.extend(quota.parse().ok().map(|quota| CpuQuota {
            group: name.to_owned(),
            quota: Some(Nanos::from_micros(quota)),
            period: Nanos::from_micros(period.trim().parse().unwrap_or(100_000)),
            throttled: keyed(&stat, "nr_throttled"),
            throttled_time: Nanos::from_micros(keyed(&stat, "throttled_usec")),
        }));
    }

    fn io_of_version_one(&mut self, directory: &std::path::Path, name: &str) {
        let files = [
            ("blkio.throttle.read_bps_device", 0, true),
            ("blkio.throttle.write_bps_device", 1, true),
            ("blkio.throttle.read_iops_device", 0, false),
            ("blkio.throttle.write_iops_device", 1, false),
        ];
        for (file, direction, bytes) in files {
            for line in text(&directory.join(file)).unwrap_or_default().lines() {
                let Some((device, limit)) = line.split_once(' ') else { continue };
                let (Some(device), Ok(limit)) = (Device::parse(device), limit.trim().parse())
                else {
                    continue;
                };
                let group = name.to_owned();
                let mut quota = IoQuota { group, device: Some(device), ..IoQuota::default() };
                if bytes {
                    quota.bytes[direction] = Some(limit);
                } else {
                    quota.ios[direction] = Some(limit);
                }
                self.io.push(quota);
            }
        }
    }

    fn cpu_of_version_one(&mut self, directory: &std::path::Path, name: &str) {
        let number = |file: &str| text(&directory.join(file))?.parse::<i64>().ok();
        // −1 means no limit.
        let Some(quota) = number("cpu.cfs_quota_us").filter(|quota| *quota > 0) else { return };
        let stat = text(&directory.join("cpu.stat")).unwrap_or_default();
        self.cpu.push(CpuQuota {
            group: name.to_owned(),
            quota: Some(Nanos::from_micros(quota.unsigned_abs())),
            period: Nanos::from_micros(
                number("cpu.cfs_period_us").unwrap_or(100_000).unsigned_abs(),
            ),
            throttled: keyed(&stat, "nr_throttled"),
            throttled_time: Nanos(keyed(&stat, "throttled_time")),
        });
    }
}

/// Parses a line of `io.max`: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn io_max(group: &str, line: &str) -> Option<IoQuota> {
    let mut words = line.split_whitespace();
    let device = Device::parse(words.next()?)?;
    let mut quota = IoQuota { group: group.to_owned(), device: Some(device), ..IoQuota::default() };
    for word in words {
        let (key, value) = word.split_once('=')?;
        let value = value.parse().ok();
        match key {
            "rbps" => quota.bytes[0] = value,
            "wbps" => quota.bytes[1] = value,
            "riops" => quota.ios[0] = value,
            "wiops" => quota.ios[1] = value,
            _ => {}
        }
    }
    (quota.bytes != [None; 2] || quota.ios != [None; 2]).then_some(quota)
}

/// Returns the number after a key in a file of `key number` lines; 0 if the key is missing.
fn keyed(text: &str, key: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    value.unwrap_or(0)
}
