//! The devices' view of the run: their counters over the measured time, compared with the I/Os that jobs issued.

use fiord_plan::{CountedBytes, FileKind, Plan};
use fiord_stat::device::{DeviceDir, DeviceView, Issued};
use fiord_stat::job::JobData;
use fiord_sys::clock;
use fiord_sys::diskstats::{self, Activity};
use fiord_types::{Bytes, Nanos, PerDir};

/// Watches the devices under the targets from the first measured I/O on.
#[derive(Debug, Default)]
pub(crate) struct DeviceActivity {
    watch: diskstats::DiskWatch,
    /// For each job, the names of the devices under its files.
    under: Vec<Vec<String>>,
    /// For each job, whether its I/Os are data.
    data: Vec<bool>,
    began: Option<u64>,
}

impl DeviceActivity {
    /// Starts to watch the devices of all jobs with `disk_util`.
    pub(crate) fn start(plan: &Plan) -> Self {
        let mut devices = DeviceActivity::default();
        let mut finder = diskstats::DiskFinder::default();
        for job in &plan.jobs {
            let mut names: Vec<String> = Vec::new();
            let real =
                |kind: FileKind| kind.is_file() || matches!(kind, FileKind::Block | FileKind::Char);
            let files = job.target.files.iter().filter(|file| real(file.kind));
            for file in files.filter(|_| job.reporting.disk_util) {
                let disks = finder.find(&file.path);
                // A device that cannot be watched is missing in the report; that must not stop the run.
                let _ = devices.watch.add_disks(&disks);
                // The files lie on few devices, so a linear search is fast.
                for disk in disks.iter() {
                    if !names.contains(&disk.name) {
                        names.push(disk.name.clone());
                    }
                }
            }
            names.sort_unstable();
            devices.under.push(names);
            devices.data.push(job.engine.def().counts == CountedBytes::Data);
        }
        devices
    }

    /// Checks whether the measured part of the first job has begun, and then restarts the counters, so that I/O
    /// before it does not count. Without a ramp there is none, so the counters continue.
    ///
    /// `since` has the beginning of the measured part of each job, ns.
    pub(crate) fn update(&mut self, plan: &Plan, since: impl Iterator<Item = Option<u64>>) {
        if self.began.is_some() {
            return;
        }
        let begun = plan.jobs.iter().zip(since).filter_map(|(job, since)| Some((since?, job)));
        if let Some((at, job)) = begun.min_by_key(|(at, _)| *at) {
            self.began = Some(at);
            if job.end.ramp_time > Nanos::ZERO || job.end.ramp_size > Bytes::ZERO {
                let _ = self.watch.restart();
            }
        }
    }

    /// The activity of each device so far, and the I/Os that the jobs issued to it.
    pub(crate) fn report(&self, jobs: &[JobData]) -> Vec<DeviceView> {
        let Some(began) = self.began else { return Vec::new() };
        let ns = clock::monotonic().saturating_sub(began).max(1);
        let activity = self.watch.activity().unwrap_or_default();
        let one = |activity: &Activity| DeviceView {
            issued: self.issued(&activity.name, jobs, ns),
            ..view(activity, ns)
        };
        activity.iter().map(one).collect()
    }

    /// I/Os that the jobs on a device issued; `None` if one of these jobs also uses other devices, or makes calls
    /// that move no data.
    fn issued(&self, name: &str, jobs: &[JobData], ns: u64) -> Option<Issued> {
        let mut sum = Issued { depth: Some(0.0), ..Issued::default() };
        for ((names, data), job) in self.under.iter().zip(&self.data).zip(jobs) {
            if !names.iter().any(|known| known == name) {
                continue;
            }
            if names.len() != 1 || !data {
                return None;
            }
            sum.zone_commands += job.zone_commands;
            for (dir, recorder) in job.recorder.dirs.iter() {
                sum.ios[dir] += recorder.ios;
                sum.bytes[dir] += recorder.bytes;
                sum.failed_bytes[dir] += recorder.failed_bytes;
                let latency = if recorder.lat.n() > 0 { &recorder.lat } else { &recorder.clat };
                sum.depth = match sum.depth {
                    // Little's law: mean depth = sum of all latencies / elapsed time.
                    Some(depth) if latency.n() == recorder.ios => {
                        Some(depth + latency.mean() * latency.n() as f64 / ns as f64)
                    }
                    _ => None,
                };
            }
        }
        Some(sum)
    }
}

fn view(activity: &Activity, ns: u64) -> DeviceView {
    let c = &activity.counters;
    let dir = |ios: u64, merges: u64, bytes: Bytes, time: Nanos| DeviceDir {
        ios,
        merges,
        bytes,
        mean_ms: if ios == 0 { 0.0 } else { time.as_millis() as f64 / ios as f64 },
    };
    let share = |time: Nanos| time.as_millis() as f64 * 1e6 / ns as f64;
    DeviceView {
        name: activity.name.clone(),
        seconds: ns as f64 / 1e9,
        dirs: PerDir::new(
            dir(c.read_ios, c.read_merges, c.read_bytes, c.read_time),
            dir(c.write_ios, c.write_merges, c.write_bytes, c.write_time),
            dir(c.discard_ios, c.discard_merges, c.discard_bytes, c.discard_time),
        ),
        flushes: c.flush_ios,
        depth: share(c.in_queue),
        util: (share(c.busy) * 100.0).min(100.0),
        issued: None,
        members: activity.members.iter().map(|member| view(member, ns)).collect(),
    }
}
