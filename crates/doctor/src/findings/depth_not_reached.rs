//! `depth-not-reached`: the device had far fewer I/Os at a time than were asked for.

use fiord_job::option::table::IODEPTH;
use fiord_plan::JobPlan;
use fiord_stat::claim::ClaimedSetting;
use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::allocation::allocation;
use crate::evidence::amount::SaidNumbers;
use crate::evidence::amount::time;
use crate::evidence::crowd;
use crate::evidence::device_queue::{DeviceQueue, device_queues};
use crate::evidence::setting::set;
use crate::evidence::submission::{self, mostly_submits};
use crate::evidence::synchronous::synchronous;

/// The finding is reported below this share of the requested depth.
const SHARE: f64 = 0.5;
/// The finding is reported below this share if no cause is found: on a busy machine, threads that do
/// not run explain a larger share.
const UNEXPLAINED: f64 = 0.125;

pub(crate) const CHECK: Check = Check {
    id: "depth-not-reached",
    severity: Severity::Suspect,
    title: "the device had fewer I/Os in flight than the job asks for",
    about: "`iodepth=32` says how many I/Os the job submits, not how many reach the device. A \
            file system that serializes writes to one file, a shorter queue, or a submission that \
            blocks holds them back, and the result is that of a smaller depth.",
    detection: "The device's mean queue depth over the measured time (weighted time divided by \
                time, `/proc/diskstats`) is below half of what its jobs ask for (`iodepth` times \
                jobs, at least four; divided by the number of I/Os that the kernel merged into one). The check covers jobs with `direct=1` that nothing else \
                slows down (no rate, think time or flush), that replay no trace, and that have the device to themselves \
                for the whole run: if jobs run one after another, the mean over the run says \
                nothing about each of them. If the CPUs are busy all the time, `generator-bound` \
                is reported instead.\n\n\
                The finding is also reported for a disk that accepts less than half of the \
                requested I/Os at a time (`device/queue_depth`; 31 or 32 for SATA), however many \
                wait in the kernel.\n\n\
                The finding names the limit: the queue of the kernel or of the device; a file \
                system, if a job writes to space that was not written before (`SEEK_DATA`); a \
                submission that blocks, as in `submission-blocks`; or CPUs that other programs \
                used. If fiord sees none of these, it reports the finding only below one eighth.",
    effect: "4 KiB direct writes at depth 8 to a growing file, on a loop device with direct I/O \
             (Linux 6.18, an otherwise idle virtual machine with two CPUs). In all cases, the \
             jobs had 7.8 to 8.0 I/Os in flight; the device had, as the median of three rounds of \
             2 s (minimum to maximum):\n\n\
             | | 8 threads, `psync` | `libaio`, `iodepth=8` | `io_uring`, `iodepth=8` |\n\
             |---|---|---|---|\n\
             | ext4, `rw=write` | 0.7 (0.7 to 0.7) | 0.8 (0.8 to 0.8) | 1.1 (1.0 to 1.2) |\n\
             | XFS, `rw=write` | 4.1 (3.1 to 4.3) | 0.7 (0.7 to 0.7) | 0.9 (0.8 to 0.9) |\n\n\
             Measured with `fiord --name=a --filename=FILE --bs=4k --direct=1 --rw=write \
             --fallocate=none --size=700m --runtime=2 --ioengine=libaio --iodepth=8 \
             --output-format=json` (the threads with `--size=80m --offset_increment=80m \
             --ioengine=psync --thread --numjobs=8 --group_reporting`): `depth` under \
             `fiord.devices`, and `issued_depth` for the I/Os that the jobs had in flight.",
    remedy: "overwrite space that is already laid out (`overwrite=1`), use several files \
             (`nrfiles`), or use the device itself if nothing on it is needed; if submission \
             blocks, see `submission-blocks`; if `nr_requests` or `queue_depth` in sysfs is the \
             limit, raise it.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for queue in device_queues(known) {
        findings.report_if(finding(known, &queue));
    }
}

fn finding(known: &After<'_>, queue: &DeviceQueue<'_>) -> Option<FindingBuilder> {
    let DeviceQueue { entry, device, asked, merged, busy, cores } = queue;
    // The device counts I/Os that were merged once.
    let expected = asked / merged;
    if expected < 4.0 || *busy >= cores * 0.9 {
        return None;
    }
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let mut said = SaidNumbers::default();
    let takes = known.before.devices.named(&device.name).and_then(|disk| disk.device_depth);
    if let Some(takes) = takes.filter(|takes| *takes > 0 && (*takes as f64) < expected * SHARE)
        && device.depth >= takes as f64 * SHARE
    {
        let what = format!(
            "job {name} asks for {} I/Os at a time, but {} accepts {}",
            said.exact("asked", asked.round() as u64),
            device.name,
            said.exact("accepted", takes)
        );
        let evidence = format!(
            "device/queue_depth is {takes}; the kernel had {} on average, and the others waited there",
            said.decimal("depth", device.depth)
        );
        let disk = known.before.devices.named(&device.name);
        let (less, remedy) = fitting(&entry.jobs, takes, disk);
        let finding = CHECK.for_job(job, what).evidence(evidence).remedy(remedy).settings(less);
        return Some(finding.numbers(said).option(IODEPTH));
    }
    if device.depth >= expected * SHARE {
        return None;
    }
    let (limit, remedy) = limiter(known, queue, expected)?;
    let what = format!(
        "job {name} asks for {} I/Os at a time, but {} had {}",
        said.exact("asked", asked.round() as u64),
        device.name,
        said.decimal("depth", device.depth)
    );
    let finding = CHECK.for_job(job, what).evidence(limit).remedy(remedy);
    Some(finding.numbers(said).option(IODEPTH))
}

/// NCQ has 32 tags: an ATA disk cannot accept more commands.
const NCQ: u64 = 32;
/// Older kernels reserve one tag: a depth of 31 cannot grow either.
const NCQ_USED: u64 = 31;

/// Returns the options that ask for no more than the disk accepts, and the command that makes the disk
/// accept more if it can.
fn fitting(jobs: &[&JobPlan], takes: u64, disk: Option<&Disk>) -> (Vec<ClaimedSetting>, String) {
    let instances = jobs.len().max(1) as u64;
    let single = |job: &&JobPlan| synchronous(job).is_some() && !job.pace.offload;
    let (settings, less) = if jobs.iter().all(single) {
        (vec![], format!("set numjobs={takes}"))
    } else if instances > takes {
        (vec![], format!("set numjobs={takes} with iodepth=1"))
    } else {
        let depth = set(IODEPTH, takes / instances);
        let each = match instances {
            1 => String::new(),
            n => format!(" in each of {n} jobs"),
        };
        (vec![depth.clone()], format!("set {depth}{each}"))
    };
    let remedy = match disk {
        Some(disk) if disk.bus != Bus::Ata => {
            format!("{less}, or run echo N > /sys/block/{}/device/queue_depth", disk.name)
        }
        Some(disk) if takes < NCQ_USED => {
            format!("{less}, or run echo {NCQ} > /sys/block/{}/device/queue_depth", disk.name)
        }
        _ => less,
    };
    (settings, remedy)
}

/// Returns what keeps the I/Os from the device, and the remedy.
/// `asked`: the depth that the job asks of the device.
fn limiter(known: &After<'_>, queue: &DeviceQueue<'_>, asked: f64) -> Option<(String, String)> {
    let DeviceQueue { entry, device, .. } = queue;
    let job = entry.jobs[0];
    let queue = known.before.devices.named(&device.name).and_then(|disk| disk.queue.nr_requests);
    if let Some(requests) = queue.filter(|requests| (*requests as f64) < asked * SHARE) {
        let remedy = format!("run echo N > /sys/block/{}/queue/nr_requests", device.name);
        return Some((format!("its queue (nr_requests) holds {requests} requests"), remedy));
    }
    let blocking = blocking(known, entry);
    if let Some((limit, remedy)) = allocation(known, job) {
        let limit = blocking.map_or(limit.clone(), |blocking| format!("{limit}; {blocking}"));
        return Some((limit, remedy));
    }
    if let Some(blocking) = blocking {
        return Some((blocking, "use more threads (numjobs); see submission-blocks".into()));
    }
    let (then, now) = (&known.before.surroundings, &known.after.surroundings);
    let cpus = then.cpus_of_all(entry.jobs.iter().copied());
    if let Ok(Some(crowd)) = crowd::crowd(then, now, &cpus) {
        let limit =
            format!("the jobs lacked CPU time: other programs computed, and {}", crowd.short);
        return Some((limit, "use an idle machine (`top` shows the other programs)".into()));
    }
    if device.depth >= asked * UNEXPLAINED {
        return None;
    }
    let limit = format!(
        "no queue, file system or submission that fiord checks explains why {} had fewer",
        device.name
    );
    let remedy =
        "use more threads (numjobs), or check the layers in between (md, dm, a hypervisor)";
    Some((limit, remedy.into()))
}

/// Describes how long submission blocks, if the job spends most of its time asleep in the submitting
/// call.
fn blocking(known: &After<'_>, entry: &Entry<'_>) -> Option<String> {
    let queues = entry.jobs.iter().all(|job| synchronous(job).is_none());
    let shares = known.shares(entry).filter(|shares| queues && mostly_submits(shares))?;
    let blocked = submission::blocked(entry, shares).ok()?;
    let (submission, lat) = submission::each(entry, blocked);
    (blocked >= submission::SHARE).then(|| {
        let (submission, lat) = (time(submission), time(lat));
        format!("submission latency is {submission} of {lat}: submission blocks")
    })
}

#[cfg(test)]
mod tests {
    use fiord_types::{Bytes, Dir, Nanos};

    use fiord_plan::FileKind;
    use fiord_stat::device::DeviceView;
    use fiord_stat::report::{DirKind, GeneratorReport, JobShares};
    use fiord_stat::shares::TimeShares;

    use super::*;
    use crate::tests::drives::{Case, found_after, one_drive};
    use crate::tests::fixture::row;

    fn reported(depth: f64, cpu: f64, change: impl Fn(&mut Case)) -> Vec<String> {
        let mut case = one_drive();
        case.job().depth.depth = 8;
        let report = &mut case.report.jobs[0];
        report.dirs = vec![row(DirKind::Read, 1000.0, 10)];
        (report.name, report.usr_cpu) = ("plain".into(), cpu);
        let name = case.machine.devices.disks[0].name.clone();
        case.report.extras.devices =
            vec![DeviceView { name, seconds: 10.0, depth, ..DeviceView::default() }];
        change(&mut case);
        found_after(&CHECK, &case).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn reports_below_half_of_what_was_asked_for() {
        let found = reported(0.6, 5.0, |_| {});
        assert_eq!(found, ["job plain asks for 8 I/Os at a time, but nvme0n1 had 0.6"]);
        assert!(reported(2.0, 5.0, |_| {}).is_empty(), "no cause is known");
        assert!(reported(6.0, 5.0, |_| {}).is_empty());
        assert!(reported(0.6, 97.0, |_| {}).is_empty());
        let rate = Some(fiord_plan::Rate::Ios(10));
        assert!(reported(0.6, 5.0, |case| case.job().pace.rate[Dir::Read] = rate).is_empty());
        assert!(reported(0.6, 5.0, |case| case.job().target.open.direct = false).is_empty());
        assert!(reported(0.2, 5.0, |case| case.job().depth.depth = 2).is_empty());
    }

    /// Returns the findings of a job that writes to a file of 1 MiB of which `written` bytes hold data.
    /// Its threads sleep in submission for `submission` per cent of the time.
    fn limits(written: u64, submission: u64) -> Vec<fiord_stat::finding::Finding> {
        use crate::machine::{FileState, WrittenData};
        let mut case = one_drive().writing();
        case.job().depth.depth = 8;
        let path = case.job().target.files[0].path.clone();
        case.job().target.files[0].kind = FileKind::Regular;
        let unavailable = || crate::machine::Unavailable("not examined".into());
        case.machine.files = vec![FileState {
            path,
            kind: FileKind::Regular,
            facts: Err(unavailable()),
            file_system: Ok("ext4".into()),
            direct: Err(unavailable()),
            direct_writes_cached: false,
            on_loop: None,
            cache: Err(unavailable()),
            openers: Vec::new(),
            data: Some(Ok(WrittenData {
                from: Bytes::ZERO,
                to: Bytes(1 << 20),
                parts: vec![Bytes::ZERO..Bytes(written)],
            })),
        }]
        .into();
        let report = &mut case.report.jobs[0];
        let mut row = row(DirKind::Write, 1000.0, 10);
        (row.lat.n, row.lat.mean) = (10_000, 1e6);
        report.dirs = vec![row];
        report.delays.ready = Some(Nanos::ZERO);
        let shares = [0, submission, 100 - submission, 0, 0].map(Nanos);
        let shares = TimeShares::of(shares, 20, 160).unwrap();
        let shares = TimeShares { submitting: 20, ..shares }.summarise();
        let jobs = vec![JobShares { group_id: 0, name: report.name.clone(), shares }];
        let generator = GeneratorReport { jobs, ..GeneratorReport::default() };
        case.report.extras.generator = Some(generator);
        let name = case.machine.devices.disks[0].name.clone();
        case.report.extras.devices =
            vec![DeviceView { name, seconds: 10.0, depth: 1.5, ..DeviceView::default() }];
        found_after(&CHECK, &case)
    }

    #[test]
    fn a_file_system_is_named_only_if_it_allocates() {
        let found = limits(0, 90);
        assert!(found[0].evidence.starts_with("ext4 serializes direct writes"), "{found:?}");
        assert!(found[0].evidence.ends_with("900 us of 1.0 ms: submission blocks"), "{found:?}");
        assert!(found[0].remedy.starts_with("set overwrite=1"), "{found:?}");
        let found = limits(1 << 20, 90);
        let evidence = "submission latency is 900 us of 1.0 ms: submission blocks";
        assert_eq!(found[0].evidence, evidence);
        assert!(limits(1 << 20, 10).is_empty(), "no cause is known");
    }

    #[test]
    fn a_disk_that_accepts_few_commands_is_named() {
        let few = |depth| {
            reported(depth, 5.0, |case| {
                case.job().depth.depth = 128;
                case.disks(|disk| disk.device_depth = Some(32));
            })
        };
        let wanted = "job plain asks for 128 I/Os at a time, but nvme0n1 accepts 32";
        assert_eq!(few(128.0), [wanted], "its queue in the kernel is as long as asked for");
        assert_eq!(few(31.0), [wanted]);
        assert!(reported(8.0, 5.0, |case| case.disks(|d| d.device_depth = Some(32))).is_empty());
    }

    #[test]
    fn the_depth_of_a_disk_is_divided_among_the_instances() {
        let mut case = one_drive();
        case.disks(|disk| disk.bus = Bus::Ata);
        let disk = case.machine.devices.disks[0].clone();
        let job = case.job().clone();
        let fit = |n, takes, disk: Option<&Disk>| fitting(&vec![&job; n], takes, disk).1;
        assert_eq!(fit(1, 32, Some(&disk)), "set iodepth=32", "NCQ has no more");
        assert_eq!(fit(8, 32, Some(&disk)), "set iodepth=4 in each of 8 jobs");
        assert_eq!(fit(64, 32, None), "set numjobs=32 with iodepth=1");
        let grows = "set iodepth=1, or run echo 32 > /sys/block/nvme0n1/device/queue_depth";
        assert_eq!(fit(1, 1, Some(&disk)), grows);
        let threads = JobPlan::plain(fiord_plan::EnginePlan::Psync, 1 << 20);
        assert_eq!(fitting(&[&threads; 64], 32, None).1, "set numjobs=32");
        let scsi = Disk { bus: Bus::Scsi, ..disk.clone() };
        let grows = "set iodepth=30, or run echo N > /sys/block/nvme0n1/device/queue_depth";
        assert_eq!(fit(1, 30, Some(&scsi)), grows);
    }

    #[test]
    fn jobs_that_run_for_part_of_the_run_are_not_judged_by_its_mean() {
        assert_eq!(reported(0.6, 5.0, |_| {}).len(), 1);
        assert!(
            reported(0.6, 5.0, |case| case.report.jobs[0].runtime = Nanos::from_millis(3300))
                .is_empty()
        );
    }

    #[test]
    fn ios_that_the_kernel_merged_are_at_the_device() {
        let eight_to_one = |depth, accepted| {
            reported(depth, 5.0, |case| {
                case.job().depth.depth = 128;
                case.disks(|disk| disk.device_depth = accepted);
                let device = &mut case.report.extras.devices[0];
                device.dirs[Dir::Read].ios = 1000;
                let issued = device.issued.get_or_insert_default();
                issued.ios[Dir::Read] = 8000;
            })
        };
        assert!(eight_to_one(14.0, None).is_empty());
        assert!(eight_to_one(14.0, Some(32)).is_empty(), "16 fit");
        assert_eq!(eight_to_one(1.0, None).len(), 1);
    }

    #[test]
    fn a_short_queue_is_named() {
        let mut case = one_drive();
        case.job().depth.depth = 256;
        case.disks(|disk| disk.queue.nr_requests = Some(31));
        let report = &mut case.report.jobs[0];
        report.dirs = vec![row(DirKind::Read, 1000.0, 10)];
        let name = case.machine.devices.disks[0].name.clone();
        let view = DeviceView { name, seconds: 10.0, depth: 31.0, ..DeviceView::default() };
        case.report.extras.devices = vec![view];
        assert_eq!(
            found_after(&CHECK, &case)[0].evidence,
            "its queue (nr_requests) holds 31 requests"
        );
    }

    #[test]
    fn lack_of_cpu_time_is_named() {
        let crowded = |case: &mut Case| {
            use crate::evidence::crowd::ticks;
            use fiord_sys::conditions::CpuTime;
            use fiord_sys::conditions::pressure::Stall;
            case.machine.surroundings.moment.cpu = Some(CpuTime::default());
            case.machine.surroundings.moment.pressure.cpu = Some(Stall::default());
            let now = &mut case.after.surroundings;
            now.at = Nanos::from_secs(1);
            now.moment.cpu =
                Some(CpuTime { user: ticks(150), total: ticks(200), ..CpuTime::default() });
            now.moment.pressure.cpu =
                Some(Stall { some: Nanos::from_millis(900), full: Nanos::ZERO });
        };
        assert_eq!(
            reported(2.0, 5.0, crowded),
            ["job plain asks for 8 I/Os at a time, but nvme0n1 had 2.0"]
        );
    }
}
