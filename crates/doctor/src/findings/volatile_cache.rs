//! `volatile-cache`: the result measures a volatile write cache, not the medium.

use fiord_job::option::table::{FSYNC, SIZE};
use fiord_plan::{JobPlan, Mix, SyncMode};
use fiord_stat::device::DeviceView;
use fiord_stat::finding::Severity;
use fiord_stat::report::DirKind;
use fiord_sys::survey::Disk;
use fiord_types::{Bytes, Dir};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;

/// Assumed size of the cache of a drive: disks have 64 to 512 MiB of memory, flash drives more.
const CACHE: Bytes = Bytes::from_mib(256);
/// In a longer run, in s, the drive empties its cache while it takes the writes.
const SOON: f64 = 10.0;
/// A shorter mean sync, in ns, did not reach a platter: a quarter of a rotation at 15,000/min.
const PLATTER: f64 = 1e6;
/// A shorter mean sync, in ns, did not reach flash: programming a page takes at least 100 us.
const FLASH: f64 = 50e3;
/// Minimum number of syncs for a mean.
const SYNCS: u64 = 100;

pub(crate) const CHECK: Check = Check {
    id: "volatile-cache",
    severity: Severity::Note,
    title: "writes that end in a volatile cache",
    about: "The device has a write cache that loses its contents when power fails, and the result \
            measures this cache. `direct=1` bypasses the kernel's cache, not the device's: a \
            write completes as soon as it is in the device's memory. A short run without a flush \
            fits into the cache completely. And some devices, and hosts of virtual machines, \
            acknowledge flushes without carrying them out.",
    detection: "`queue/write_cache` of the hardware under the job is `write back`, and one of two \
                conditions holds. Either a job with `direct=1` and a fixed amount of work (not \
                `time_based`) wrote at most 256 MiB per device within 10 s, nothing in it flushes \
                (`fsync`, `fdatasync`, `sync`, `write_barrier`, `sync_file_range`, `end_fsync`), \
                and the device counted no flush. Or the mean of at least 100 syncs is shorter \
                than the medium allows: 1 ms on rotating disks, 50 us on flash, where programming \
                a page takes at least 100 us. The check is silent on devices that report `write \
                through`, as those with power loss protection do, and on longer runs.",
    effect: "As large as the gap between the cache and the medium. Not measured.",
    remedy: "set `end_fsync=1`, which adds the flush to the measured time, and write more data \
             than a cache holds; use `fsync=1` or `sync=dsync` to measure durable writes. If \
             syncs are too fast, check the cache mode of the virtual disk, and whether the file \
             system is mounted with `nobarrier`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
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

/// Reports writes that fit into the cache, end soon and are not flushed.
fn absorbed(entry: &Entry<'_>, disks: &[&Disk], views: &[DeviceView]) -> Option<FindingBuilder> {
    let report = entry.report;
    let unflushed = entry.jobs.iter().all(|job| unflushed(job) && !job.end.time_based);
    let writes = report.dirs.iter().filter(|row| row.kind == DirKind::Write);
    let written: Bytes = writes.map(|row| row.io_bytes).sum();
    let seconds = report.runtime.as_secs_f64() / entry.jobs.len() as f64;
    let room = CACHE.saturating_mul(disks.len() as u64);
    // A flush by anyone, a file system for example, empties the cache as well.
    let flushed = views
        .iter()
        .any(|view| view.flushes > 0 && disks.iter().any(|disk| disk.name == view.name));
    if !unflushed || flushed || written == Bytes::ZERO || written > room || seconds > SOON {
        return None;
    }
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_entry(
            entry,
            format!("the writes of {} fit into a volatile cache and were not flushed", entry.subject()),
        )
        .evidence(format!(
            "{} in {} and no flush; queue/write_cache of {} is write back",
            said.bytes("written", written),
            said.time("run_time", seconds * 1e9),
            names(disks)
        ))
        .numbers(said)
        .remedy("set end_fsync=1 and a larger size; use fsync=1 or sync=dsync to measure durable writes")
        .option(SIZE);
    Some(finding)
}

/// Reports syncs that are too fast for the medium.
fn too_fast(entry: &Entry<'_>, disks: &[&Disk]) -> Option<FindingBuilder> {
    let sync = &entry.report.sync;
    let syncs = |job: &JobPlan| {
        let load = &job.load;
        // `sync_file_range` does not flush the device.
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
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_entry(
            entry,
            format!("syncs of {} are faster than the medium allows", entry.subject()),
        )
        .evidence(format!(
            "{} syncs of {} on average; the cache of {} is write back, and its medium needs at least {}",
            said.exact("syncs", sync.total_ios),
            said.time("mean_sync", sync.lat.mean),
            names(disks),
            said.time("least_sync", least)
        ))
        .numbers(said)
        .remedy("check the cache mode of the virtual disk, and turn on the barriers of the file system")
        .option(FSYNC);
    Some(finding)
}

fn names(disks: &[&Disk]) -> String {
    disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn unflushed(job: &JobPlan) -> bool {
    let load = &job.load;
    job.engine.def().moves_data
        && load.mix.has(Dir::Write)
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
    use fiord_types::Nanos;

    use super::*;
    use crate::tests::drives::{Case, found_after, one_drive};
    use crate::tests::fixture::row;

    /// Returns a drive with a volatile cache, and a job that wrote `mib` MiB to it in `seconds`.
    fn written(mib: u64, seconds: u64) -> Case {
        let mut case = one_drive().writing();
        case.disks(|disk| disk.queue.write_cache = Some("write back".into()));
        let iops = (mib * 256 / seconds) as f64;
        case.report.jobs[0].dirs = vec![row(DirKind::Write, iops, seconds)];
        case.report.jobs[0].runtime = Nanos::from_secs(seconds);
        case
    }

    #[test]
    fn reports_few_writes_without_a_flush() {
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
        assert!(found_after(&CHECK, &case).is_empty(), "the device counted a flush");
    }

    #[test]
    fn sound_runs_are_not_reported() {
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
