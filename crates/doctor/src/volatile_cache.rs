//! `volatile-cache`: what was measured is a cache that forgets with the power, not the medium.

use fiord_plan::{Dir, EnginePlan, JobPlan, Mix, SyncMode};
use fiord_stat::device::DeviceView;
use fiord_stat::finding::Severity;
use fiord_stat::report::DirKind;
use fiord_sys::survey::Disk;

use crate::amount::{bytes, time};
use crate::check::Entry;
use crate::{After, Check, FindingBuilder, Findings};

/// What caches in drives hold: disks have 64 to 512 MiB of memory, flash drives more.
const CACHE: u64 = 256 << 20;
/// A cache that had longer than this was emptied beside the writes, s.
const SOON: f64 = 10.0;
/// A mean sync below this did not reach a platter: a quarter of a turn at 15,000/min, ns.
const PLATTER: f64 = 1e6;
/// Nor flash below this: programming a page takes 100 us at the least, ns.
const FLASH: f64 = 50e3;
/// Fewer syncs than these have no mean to speak of.
const SYNCS: u64 = 100;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "volatile-cache",
    severity: Severity::Note,
    title: "writes that end in a volatile cache",
    about: "The device has a cache that loses its contents with the power, and the result is the \
            cache's. `direct=1` passes the kernel's cache, not the device's: a write is done when \
            the device's memory has it. A short run without a flush fits into it in full. And some \
            devices, and hosts of virtual machines, answer flushes without carrying them out.",
    detection: "`queue/write_cache` of the hardware under the job is `write back`, and one of two things \
           is true of the result. Either a job with `direct=1` and an amount of work (not \
           `time_based`) wrote no more than 256 MiB to each device within 10 s, nothing in it \
           flushes (`fsync`, `fdatasync`, `sync`, `write_barrier`, `sync_file_range`, `end_fsync`), \
           and the device counted no flush. Or the mean of 100 syncs or more is shorter than the \
           medium can: 1 ms where it turns, 50 us on flash, of which a page takes 100 us and more \
           to program. Silent on devices that write through, as those with protection against \
           power loss say they do, and on longer runs.",
    effect: "As large as the gap between the cache and the medium. Not measured here.",
    remedy: "`end_fsync=1`, so that the flush is in the time, and more data than a cache holds; \
           `fsync=1` or `sync=dsync` where durable writes are the question. Where syncs are too \
           fast: the cache mode of the virtual disk, or `nobarrier` of the file system.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    let volatile = |disk: &&Disk| {
        disk.bus.is_hardware() && disk.queue.write_cache.as_deref() == Some("write back")
    };
    for entry in known.entries() {
        let mut disks: Vec<&Disk> =
            entry.jobs.iter().flat_map(|job| known.before.devices.of(job)).collect();
        disks.sort_by(|a, b| a.name.cmp(&b.name));
        disks.dedup_by(|a, b| a.name == b.name);
        disks.retain(volatile);
        let views = &known.report.extras.devices;
        findings.report_if(absorbed(&entry, &disks, views));
        findings.report_if(too_fast(&entry, &disks));
    }
}

/// Few writes, soon done, never flushed.
fn absorbed(entry: &Entry<'_>, disks: &[&Disk], views: &[DeviceView]) -> Option<FindingBuilder> {
    let report = entry.report;
    let unflushed = entry.jobs.iter().all(|job| unflushed(job) && !job.end.time_based);
    let writes = report.dirs.iter().filter(|row| row.kind == DirKind::Write);
    let written: u64 = writes.map(|row| row.io_bytes).sum();
    let seconds = report.runtime_ms as f64 / 1e3 / entry.jobs.len() as f64;
    let room = CACHE.saturating_mul(disks.len() as u64);
    // Somebody's flush, of a file system for one, empties the cache as well.
    let flushed = views
        .iter()
        .any(|view| view.flushes > 0 && disks.iter().any(|disk| disk.name == view.name));
    if !unflushed || flushed || written == 0 || written > room || seconds > SOON {
        return None;
    }
    let finding = CHECK
        .for_job(
            entry.jobs[0],
            format!("what job {} wrote fits into a volatile cache, unflushed", report.name),
        )
        .evidence(format!(
            "{} in {} and no flush; queue/write_cache of {} is write back",
            bytes(written),
            time(seconds * 1e9),
            names(disks)
        ))
        .remedy("end_fsync=1 and a larger size; fsync=1 or sync=dsync where writes must be durable")
        .option("size");
    Some(finding)
}

/// Syncs that no medium can have waited for.
fn too_fast(entry: &Entry<'_>, disks: &[&Disk]) -> Option<FindingBuilder> {
    let sync = &entry.report.sync;
    let syncs = |job: &JobPlan| {
        let load = &job.load;
        // A sync_file_range flushes no device.
        let flushes = load.fsync > 0 || load.fdatasync > 0;
        load.mix == Mix::Write && flushes && load.sync_file_range.is_none()
    };
    if !entry.jobs.iter().all(|job| syncs(job)) || sync.total_ios < SYNCS {
        return None;
    }
    let turns = disks.iter().all(|disk| disk.queue.rotational == Some(true));
    let least = if turns { PLATTER } else { FLASH };
    if disks.is_empty() || sync.lat.mean >= least || sync.lat.mean <= 0.0 {
        return None;
    }
    let finding = CHECK
        .for_job(
            entry.jobs[0],
            format!("syncs of job {} are faster than a medium is", entry.report.name),
        )
        .evidence(format!(
            "{} syncs of {} in the mean; {} is write back and needs {} and more",
            sync.total_ios,
            time(sync.lat.mean),
            names(disks),
            time(least)
        ))
        .remedy("the cache mode of the virtual disk, or the file system's barriers, switched on")
        .option("fsync");
    Some(finding)
}

fn names(disks: &[&Disk]) -> String {
    disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn unflushed(job: &JobPlan) -> bool {
    let load = &job.load;
    let real = !matches!(job.engine, EnginePlan::Null | EnginePlan::Sim(_));
    real && load.mix.has(Dir::Write)
        && job.target.open.direct
        && job.target.open.sync == SyncMode::None
        && load.fsync == 0
        && load.fdatasync == 0
        && load.write_barrier == 0
        && load.sync_file_range.is_none()
        && !load.end_fsync
        && !load.end_syncfs
        && !load.fsync_on_close
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::{Case, found_after, one_drive};
    use crate::fixture::row;

    /// A drive with a volatile cache, and a job that wrote to it for so many seconds.
    fn written(mib: u64, seconds: u64) -> Case {
        let mut case = one_drive().writing();
        case.disks(|disk| disk.queue.write_cache = Some("write back".into()));
        let iops = (mib * 256 / seconds) as f64;
        case.report.jobs[0].dirs = vec![row(DirKind::Write, iops, seconds)];
        case.report.jobs[0].runtime_ms = seconds * 1000;
        case
    }

    #[test]
    fn reports_few_writes_that_nothing_flushes() {
        let mut case = written(64, 1);
        let found = found_after(&CHECK, &case);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].evidence.starts_with("64 MiB in 1.0 s and no flush"), "{found:?}");
        assert!(found[0].evidence.contains("nvme0n1 is write back"), "{found:?}");
        case.job().load.end_fsync = true;
        assert!(found_after(&CHECK, &case).is_empty());
        case.job().load.end_fsync = false;
        let view = DeviceView { name: "nvme0n1".into(), flushes: 1, ..DeviceView::default() };
        case.report.extras.devices = vec![view];
        assert!(found_after(&CHECK, &case).is_empty(), "somebody flushed");
    }

    #[test]
    fn sound_runs_are_not_told_of() {
        assert!(found_after(&CHECK, &written(2048, 2)).is_empty(), "more than a cache holds");
        assert!(found_after(&CHECK, &written(64, 60)).is_empty(), "slow as a medium");
        let mut case = written(64, 1);
        case.job().end.time_based = true;
        assert!(found_after(&CHECK, &case).is_empty());
        let mut case = written(64, 1);
        case.disks(|disk| disk.queue.write_cache = Some("write through".into()));
        assert!(found_after(&CHECK, &case).is_empty());
        let mut case = written(64, 1);
        case.job().load.mix = Mix::Read;
        assert!(found_after(&CHECK, &case).is_empty());
    }

    #[test]
    fn reports_syncs_that_are_too_fast() {
        let mut case = written(64, 1);
        case.job().load.fsync = 1;
        let mut synced = |mean: f64, turns: bool| {
            let sync = &mut case.report.jobs[0].sync;
            (sync.total_ios, sync.lat.mean) = (1000, mean);
            case.disks(|disk| disk.queue.rotational = Some(turns));
            found_after(&CHECK, &case)
        };
        let found = synced(8e3, false);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].evidence.starts_with("1000 syncs of 8.0 us"), "{found:?}");
        assert!(synced(400e3, false).is_empty());
        assert_eq!(synced(400e3, true).len(), 1);
        assert!(synced(6e6, true).is_empty());
    }
}
