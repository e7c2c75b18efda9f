//! How many I/Os a device had in flight, and how busy the CPUs of its jobs were.

use fiord_plan::{FileKind, JobPlan};
use fiord_stat::device::DeviceView;
use fiord_types::Dir;

use crate::check::After;
use crate::check::Entry;
use crate::evidence::synchronous::synchronous;
use crate::evidence::timing::fills;

/// A printed job that had one device to itself, with the requested and the measured queue depth.
#[derive(Debug)]
pub(crate) struct DeviceQueue<'a> {
    pub entry: Entry<'a>,
    pub device: &'a DeviceView,
    /// Number of I/Os in flight that its jobs ask for.
    pub asked: f64,
    /// Number of these I/Os that one I/O of the device carries: the kernel merges adjacent ones. At least 1.
    pub merged: f64,
    /// Mean number of CPUs that its jobs kept busy, and number of CPUs that they could use.
    pub busy: f64,
    pub cores: f64,
}

/// Returns the printed jobs whose depth can be judged: those with direct I/O at full speed, for the
/// whole run, on one device that no other job uses.
pub(crate) fn device_queues<'a>(known: &After<'a>) -> Vec<DeviceQueue<'a>> {
    let devices = &known.report.extras.devices;
    let mut found = Vec::new();
    for entry in known.entries() {
        let judged = !entry.report.failed && entry.jobs.iter().all(|job| runs_at_full_depth(job));
        let mut on = entry.jobs.iter().flat_map(|job| known.before.devices.of(job));
        let name = on.next().map(|disk| disk.name.clone());
        let alone = on.all(|disk| Some(&disk.name) == name.as_ref());
        let device = devices.iter().find(|device| Some(&device.name) == name.as_ref());
        let (true, true, Some(device), Some(name)) = (judged, alone, device, name) else {
            continue;
        };
        let others =
            known.plan.jobs.iter().filter(|job| {
                !entry.jobs.iter().any(|mine| mine.identity.index == job.identity.index)
            });
        let shared =
            others.flat_map(|job| known.before.devices.of(job)).any(|disk| disk.name == name);
        // The mean of the device covers the whole run, not only the time of this job.
        if shared || device.seconds < 0.5 || !fills(&entry, device.seconds) {
            continue;
        }
        let asked = entry.jobs.iter().map(|job| asked(job)).sum();
        let merged = merged(device);
        // The percentages of the report refer to the added run times of the jobs.
        let busy = (entry.report.usr_cpu + entry.report.sys_cpu) / 100.0 * entry.jobs.len() as f64;
        let cpus = known.before.surroundings.cpus_of_all(entry.jobs.iter().copied());
        let cores = (cpus.len().max(1) as f64).min(entry.jobs.len() as f64);
        found.push(DeviceQueue { entry, device, asked, merged, busy, cores });
    }
    found
}

/// Returns how many I/Os of the jobs one I/O of the device carries.
fn merged(device: &DeviceView) -> f64 {
    let Some(issued) = device.issued else { return 1.0 };
    let ours: u64 = Dir::ALL.into_iter().map(|dir| issued.ios[dir]).sum();
    let arrived: u64 = Dir::ALL.into_iter().map(|dir| device.with_data(dir)).sum();
    (ours as f64 / arrived.max(1) as f64).max(1.0)
}

/// Returns the number of I/Os in flight that a job asks for.
pub(crate) fn asked(job: &JobPlan) -> f64 {
    match synchronous(job) {
        Some(_) if !job.pace.offload => 1.0,
        _ => f64::from(job.depth.depth),
    }
}

/// Returns whether only the device and the depth limit the number of I/Os in flight.
fn runs_at_full_depth(job: &JobPlan) -> bool {
    let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    // The counters of the block layer include only I/O that passes the file layer.
    let real = job.engine.def().access.uses_file_layer();
    let load = &job.load;
    let flushes = load.fsync > 0
        || load.fdatasync > 0
        || load.write_barrier > 0
        || load.sync_file_range.is_some();
    // A trace sets the depth itself, and zones take one write at a time.
    let placed = job.replay.is_some() || load.zoned.is_some() && load.mix.has(Dir::Write);
    real && !placed
        && job.pace.is_free()
        && job.target.open.direct
        && !flushes
        && job.depth.low.is_none()
        && job.depth.complete_min.is_none_or(|min| min <= 1)
        && job.target.files.iter().all(|file| stored(file.kind))
}
