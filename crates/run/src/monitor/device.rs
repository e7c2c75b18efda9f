//! The devices' view of the run: their counters while jobs ran on them, compared with the I/Os that jobs issued.

use fiord_plan::{CountedBytes, FileKind, FilePlan, Plan, SyncMode};
use fiord_stat::device::{DeviceDir, DevicePart, DeviceView, Issued};
use fiord_stat::job::JobData;
use fiord_stat::ramp::SyncCount;
use fiord_sys::clock;
use fiord_sys::diskstats::{self, Activity, CountedDisk, DiskWatch};
use fiord_types::{Bytes, Dir, JobIndex, Nanos, PerDir};

/// Watches the devices under the targets while jobs run on them.
///
/// The counters of a device run from the release of a job to the end of the last job on the device. In this time the
/// jobs complete all of their I/Os, so the counters of the device and those of the jobs cover the same I/Os. What
/// happens between two groups of jobs (layout, `exec_prerun`) does not count.
#[derive(Debug, Default)]
pub(crate) struct DeviceActivity {
    disks: Vec<DiskActivity>,
    jobs: Vec<DeviceUser>,
}

/// A job, as a user of devices.
#[derive(Debug)]
struct DeviceUser {
    /// The names of the devices under its files.
    under: Vec<String>,
    /// The job's I/Os are data.
    data: bool,
    /// Each of its writes is followed by a flush: it has `sync`, and a synchronous engine. Those of other engines ask
    /// the device to write through (FUA).
    syncs: bool,
    /// The job has been released and has not ended.
    runs: bool,
    /// When it was released and when it ended, by `CLOCK_MONOTONIC`, ns. The end is the largest number while it runs.
    span: (u64, u64),
}

/// An interval in which jobs used a device without a break.
#[derive(Debug, Clone)]
struct Interval {
    jobs: Vec<usize>,
    activity: Activity,
}

/// The activity of one device in the intervals in which jobs ran on it.
#[derive(Debug)]
struct DiskActivity {
    disk: CountedDisk,
    ended: Vec<Interval>,
    /// The interval that has not ended, and the jobs that have used the device in it.
    current: Option<DiskWatch>,
    users: Vec<usize>,
    /// Time at the beginning of this interval in which jobs waited for the common start of all hosts.
    waiting: Nanos,
}

/// Maximum number of intervals that are kept apart: a run can have thousands of groups of jobs.
const INTERVALS: usize = 64;

impl DiskActivity {
    fn begin(&mut self, job: usize, waiting: Nanos) {
        let mut watch = DiskWatch::default();
        // A device that cannot be read is missing in the report; that must not stop the run.
        if self.current.is_none() && watch.add_disks(std::slice::from_ref(&self.disk)).is_ok() {
            self.current = Some(watch);
            self.waiting = waiting;
            self.users.clear();
        }
        self.users.push(job);
    }

    fn end(&mut self) {
        let Some(interval) = self.unfinished() else { return };
        self.current = None;
        let full = self.ended.len() >= INTERVALS;
        match self.ended.last_mut() {
            Some(last) if full => {
                last.activity = last.activity.plus(&interval.activity);
                last.jobs.extend(interval.jobs);
            }
            _ => self.ended.push(interval),
        }
    }

    /// The interval that has not ended; `None` if there is none, or if the device has disappeared.
    fn unfinished(&self) -> Option<Interval> {
        let mut activity = self.current.as_ref()?.activity().ok()?.into_iter().next()?;
        activity.elapsed = activity.elapsed.saturating_sub(self.waiting);
        Some(Interval { jobs: self.users.clone(), activity })
    }

    /// All intervals. Empty if the device has disappeared.
    fn intervals(&self) -> Vec<Interval> {
        let unfinished = self.current.is_some().then(|| self.unfinished());
        match unfinished {
            Some(None) => Vec::new(),
            unfinished => self.ended.iter().cloned().chain(unfinished.flatten()).collect(),
        }
    }
}

impl DeviceActivity {
    /// Finds the devices of all jobs with `disk_util`.
    pub(crate) fn find(plan: &Plan) -> Self {
        let mut devices = DeviceActivity::default();
        let mut finder = diskstats::DiskFinder::default();
        for job in &plan.jobs {
            let mut names: Vec<String> = Vec::new();
            let real =
                |kind: FileKind| kind.is_file() || matches!(kind, FileKind::Block | FileKind::Char);
            let files = job.target.files.iter().filter(|file| real(file.kind));
            let mut last: Option<&FilePlan> = None;
            for file in files.filter(|_| job.reporting.disk_util) {
                // Calls on names work on their directory. A file or a device may be elsewhere: the path may be a link.
                let is_name = |file: &FilePlan| file.kind == FileKind::Name;
                if last
                    .replace(file)
                    .is_some_and(|last| is_name(file) && is_name(last) && file.lies_beside(last))
                {
                    continue;
                }
                // The files lie on few devices, so a linear search is fast.
                for disk in finder.find(&file.path).iter() {
                    if !names.contains(&disk.name) {
                        names.push(disk.name.clone());
                        devices.add(disk);
                    }
                }
            }
            names.sort();
            devices.jobs.push(DeviceUser {
                under: names,
                data: job.engine.def().counts == CountedBytes::Data,
                syncs: job.target.open.sync != SyncMode::None && job.engine.def().is_synchronous(),
                runs: false,
                span: (0, 0),
            });
        }
        devices
    }

    fn add(&mut self, disk: &CountedDisk) {
        if !self.disks.iter().any(|known| known.disk.name == disk.name) {
            self.disks.push(DiskActivity {
                disk: disk.clone(),
                ended: Vec::new(),
                current: None,
                users: Vec::new(),
                waiting: Nanos::ZERO,
            });
        }
    }

    /// Starts the counters of the devices of these jobs. Must be called before the jobs can issue I/O. They begin at
    /// `start` of `CLOCK_MONOTONIC`, which may be in the future.
    pub(crate) fn release(&mut self, jobs: &[usize], start: u64) {
        let waiting = Nanos(start.saturating_sub(clock::monotonic()));
        for &index in jobs {
            let Some(job) = self.jobs.get_mut(index) else { continue };
            job.runs = true;
            job.span = (start.max(clock::monotonic()), u64::MAX);
            let own = self.disks.iter_mut().filter(|disk| job.under.contains(&disk.disk.name));
            own.for_each(|disk| disk.begin(index, waiting));
        }
    }

    /// Stops the counters of the devices that no job uses any more, after a job has ended.
    pub(crate) fn ended(&mut self, index: usize) {
        let Some(job) = self.jobs.get_mut(index).filter(|job| job.runs) else { return };
        job.runs = false;
        job.span.1 = clock::monotonic();
        for disk in self.disks.iter_mut().filter(|disk| disk.current.is_some()) {
            let uses = |job: &DeviceUser| job.runs && job.under.contains(&disk.disk.name);
            if !self.jobs.iter().any(uses) {
                disk.end();
            }
        }
    }

    /// The activity of each device so far, and the I/Os that the jobs issued to it.
    pub(crate) fn report(&self, jobs: &[JobData]) -> Vec<DeviceView> {
        self.disks.iter().filter_map(|disk| self.device(disk, jobs)).collect()
    }

    fn device(&self, disk: &DiskActivity, jobs: &[JobData]) -> Option<DeviceView> {
        let intervals = disk.intervals();
        let activities = intervals.iter().map(|interval| interval.activity.clone());
        let whole = activities.reduce(|sum, next| sum.plus(&next))?;
        let all: Vec<usize> = (0..jobs.len()).collect();
        let mut device = self.view(&whole, jobs, &all);
        if intervals.len() > 1 {
            let part = |Interval { jobs: users, activity }: &Interval| DevicePart {
                jobs: users.iter().map(|job| JobIndex::at(*job)).collect(),
                view: self.view(activity, jobs, users),
            };
            device.parts = intervals.iter().map(part).collect();
        }
        Some(device)
    }

    fn view(&self, activity: &Activity, jobs: &[JobData], users: &[usize]) -> DeviceView {
        let ns = activity.elapsed.0.max(1);
        let name = &activity.name;
        let time = |dir| self.time_of(name, jobs, users, dir).as_secs_f64().min(ns as f64 / 1e9);
        DeviceView {
            issued: self.issued(name, jobs, users, ns),
            dir_seconds: PerDir::from_fn(time),
            ..view(activity, ns)
        }
    }

    /// The time in which jobs on a device did I/O in a direction, ramps included. Of jobs that ran at the same time, the one
    /// that did so for the longest time counts. `users`: indexes of these jobs.
    fn time_of(&self, name: &str, jobs: &[JobData], users: &[usize], dir: Dir) -> Nanos {
        let mut spans = Vec::new();
        let users = users.iter().filter_map(|user| self.jobs.get(*user).zip(jobs.get(*user)));
        for (user, job) in users {
            let in_ramp = job.recorder.ramp.dirs[dir].ios() > 0;
            let ramp = job.samples.measured().saturating_sub(job.samples.begin());
            let ramp = if in_ramp { ramp } else { Nanos::ZERO };
            let time = job.dir_runtime[dir].saturating_add(ramp);
            if time > Nanos::ZERO && user.under.iter().any(|known| known == name) {
                spans.push((user.span, time));
            }
        }
        spans.sort_by_key(|(span, _)| *span);
        let (mut sum, mut longest, mut until) = (Nanos::ZERO, Nanos::ZERO, 0);
        for ((begin, end), time) in spans {
            if begin >= until {
                sum = sum.saturating_add(std::mem::take(&mut longest));
            }
            longest = longest.max(time);
            until = until.max(end);
        }
        sum.saturating_add(longest)
    }

    /// I/Os that jobs issued on a device, ramps included; `None` if one of these jobs also uses other devices, or
    /// makes calls that move no data. `users`: indexes of these jobs.
    fn issued(&self, name: &str, jobs: &[JobData], users: &[usize], ns: u64) -> Option<Issued> {
        let mut sum = Issued { depth: Some(0.0), ..Issued::default() };
        let users = users.iter().filter_map(|user| self.jobs.get(*user).zip(jobs.get(*user)));
        for (user, job) in users {
            if !user.under.iter().any(|known| known == name) {
                continue;
            }
            if user.under.len() != 1 || !user.data {
                return None;
            }
            let ramp = &job.recorder.ramp;
            sum.zone_commands += job.zone_commands;
            sum.syncs.add(SyncCount(job.recorder.sync_issued));
            sum.syncs.add(ramp.syncs);
            for (dir, recorder) in job.recorder.dirs.iter() {
                let ramp = &ramp.dirs[dir];
                let ios = recorder.ios + ramp.ios();
                sum.ios[dir] += ios;
                sum.ramp_ios[dir] += ramp.ios();
                sum.bytes[dir] += recorder.bytes + ramp.bytes;
                sum.failed_bytes[dir] += recorder.failed_bytes + ramp.failed_bytes;
                if user.syncs && dir == Dir::Write {
                    sum.syncs.add(SyncCount(ios));
                }
                let (time, timed) = recorder.time_in_flight();
                sum.depth = match sum.depth {
                    // Little's law: mean depth = sum of all latencies / elapsed time.
                    Some(depth) if timed + ramp.timed() == ios => {
                        Some(depth + (time + ramp.time).0 as f64 / ns as f64)
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
        dir_seconds: PerDir::default(),
        issued: None,
        members: activity.members.iter().map(|member| view(member, ns)).collect(),
        parts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two writers at the same time, of which the longer one reads back what it wrote, and then a reader.
    #[test]
    fn the_time_of_a_direction_is_that_of_the_jobs_that_use_it() {
        let user = |span| DeviceUser {
            under: vec!["sda".into()],
            data: true,
            syncs: false,
            runs: false,
            span,
        };
        let job = |read: u64, write: u64| JobData {
            dir_runtime: PerDir::new(read, write, 0).map(Nanos::from_secs),
            ..JobData::default()
        };
        let jobs = [job(4, 6), job(0, 8), job(20, 0)];
        let users = [(0, 10), (1, 9), (10, 30)].map(user).into();
        let devices = DeviceActivity { disks: Vec::new(), jobs: users };
        let time = |name, dir| devices.time_of(name, &jobs, &[0, 1, 2], dir).as_secs();
        assert_eq!((time("sda", Dir::Read), time("sda", Dir::Write)), (24, 8));
        assert_eq!((time("sda", Dir::Trim), time("sdb", Dir::Read)), (0, 0));
    }
}
