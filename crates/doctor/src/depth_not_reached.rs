//! `depth-not-reached`: the device had far fewer I/Os at a time than were asked for.

use fiord_plan::{Dir, FileKind};
use fiord_stat::finding::Severity;

use crate::amount::time;
use crate::occupied::{Occupied, occupied};
use crate::{After, Check, Findings, Told};

/// The share of what was asked for below which it is told.
const SHARE: f64 = 0.5;
/// The same where nobody can say what limits: threads that a busy machine does not run explain more.
const UNEXPLAINED: f64 = 0.125;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "depth-not-reached",
    severity: Severity::Suspect,
    title: "the device had fewer I/Os at a time than the job asks for",
    about: "`iodepth=32` says how many I/Os the job hands over, not how many reach the device. A \
            file system that puts writes to one file in a row, a queue that is shorter, or a \
            submission that waits keeps them on the way, and the number is that of a smaller depth.",
    seen: "The device's mean queue over the measured time (weighted time divided by time, \
           `/proc/diskstats`) is below half of what its jobs ask for (`iodepth` times jobs, at least \
           four). Only for jobs with `direct=1` that nothing else holds back (no rate, no think time, \
           no flushes) and that have the device to themselves. Where the CPUs are busy all the time, \
           `generator-bound` speaks in its place. What limits is named: submission that blocks, by \
           its latency; a file system's lock; the kernel's or the device's queue.",
    effect: "4 KiB direct I/O at depth 8 to a file on ext4 (Linux 6.18, a virtual machine with two busy \
             CPUs), and the depth that the device had:\n\n\
             | | 8 threads, `psync` | `libaio`, `iodepth=8` |\n|---|---|---|\n\
             | `rw=write`, the file grows | 1.0 | 0.6 |\n\
             | `rw=randwrite`, `overwrite=1` | 3.5 | 1.5 |\n\
             | `rw=randread` | 3.9 | 5.1 |",
    mend: "Overwriting of what is laid out already (`overwrite=1`), several files (`nrfiles`), the \
           device itself; `nr_requests` and `queue_depth` in sysfs where they are the limit.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    for occupied in occupied(known) {
        findings.tell_if(finding(known, &occupied));
    }
}

fn finding(known: &After<'_>, occupied: &Occupied<'_>) -> Option<Told> {
    let Occupied { entry, device, asked, busy, cores } = occupied;
    if *asked < 4.0 || device.depth >= asked * SHARE || *busy >= cores * 0.9 {
        return None;
    }
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let (limit, mend) = limiter(known, occupied)?;
    let told = CHECK
        .of_job(
            job,
            format!(
                "job {name} asks for {asked:.0} I/Os at a time, {} had {:.1}",
                device.name, device.depth
            ),
        )
        .evidence(limit)
        .mend(mend)
        .option("iodepth");
    Some(told)
}

/// What keeps the I/Os from the device, and what helps.
fn limiter(known: &After<'_>, occupied: &Occupied<'_>) -> Option<(String, String)> {
    let Occupied { entry, device, asked, .. } = occupied;
    let job = entry.jobs[0];
    let queue = known.before.devices.named(&device.name).and_then(|disk| disk.queue.nr_requests);
    if let Some(requests) = queue.filter(|requests| (*requests as f64) < asked * SHARE) {
        let mend = format!("echo N > /sys/block/{}/queue/nr_requests", device.name);
        return Some((format!("its queue takes {requests} requests"), mend));
    }
    let files = job.target.files.iter().filter(|file| file.kind == FileKind::Regular);
    let mut states = files.filter_map(|file| known.before.file(&file.path));
    let kind = states.find_map(|state| state.file_system.as_deref().ok());
    let busiest = entry.report.dirs.iter().max_by_key(|row| row.total_ios);
    let (slat, lat) = busiest.map_or((0.0, 0.0), |row| (row.slat.mean, row.lat.mean));
    if let Some(kind) = kind.filter(|_| job.load.mix.has(Dir::Write)) {
        let limit =
            format!("{kind} puts direct writes in a row where they allocate or extend a file");
        return Some((limit, "overwrite=1, several files (nrfiles), or the device itself".into()));
    }
    if lat > 0.0 && slat > lat / 2.0 {
        let limit = format!(
            "handing an I/O over takes {} of its {}: submission waits",
            time(slat),
            time(lat)
        );
        return Some((limit, "ioengine=io_uring, or numjobs for more threads".into()));
    }
    if device.depth >= asked * UNEXPLAINED {
        return None;
    }
    let limit = format!("the jobs had {asked:.0} on their way and {} saw fewer", device.name);
    let mend = "numjobs for more threads, or a look at what lies between (md, dm, a hypervisor)";
    Some((limit, mend.into()))
}

#[cfg(test)]
mod tests {
    use fiord_stat::device::DeviceView;
    use fiord_stat::report::DirKind;

    use super::*;
    use crate::drives::{Case, one_drive, told_after};
    use crate::fixture::row;

    fn told(depth: f64, cpu: f64, change: impl Fn(&mut Case)) -> Vec<String> {
        let mut case = one_drive();
        case.job().depth.depth = 8;
        let report = &mut case.report.jobs[0];
        report.dirs = vec![row(DirKind::Read, 1000.0, 10)];
        (report.name, report.usr_cpu) = ("plain".into(), cpu);
        let name = case.machine.devices.disks[0].name.clone();
        case.report.extras.devices =
            vec![DeviceView { name, seconds: 10.0, depth, ..DeviceView::default() }];
        change(&mut case);
        told_after(&CHECK, &case).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn told_below_half_of_what_was_asked_for() {
        let found = told(0.6, 5.0, |_| {});
        assert_eq!(found, ["job plain asks for 8 I/Os at a time, nvme0n1 had 0.6"]);
        assert!(told(2.0, 5.0, |_| {}).is_empty(), "nobody can say why");
        assert!(told(6.0, 5.0, |_| {}).is_empty());
        assert!(told(0.6, 97.0, |_| {}).is_empty());
        let rate = Some(fiord_plan::Rate::Ios(10));
        assert!(told(0.6, 5.0, |case| case.job().pace.rate[0] = rate).is_empty());
        assert!(told(0.6, 5.0, |case| case.job().target.open.direct = false).is_empty());
        assert!(told(0.2, 5.0, |case| case.job().depth.depth = 2).is_empty());
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
        assert_eq!(told_after(&CHECK, &case)[0].evidence, "its queue takes 31 requests");
    }
}
