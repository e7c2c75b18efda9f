//! `uneven-targets`: a job visits several devices in turn, and one of them is much slower.

use std::collections::BTreeSet;

use fiord_job::option::table::FILENAME;
use fiord_plan::{FileKind, FileService, JobPlan};
use fiord_stat::device::{DeviceDir, DeviceView};
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::timing::fills;

/// Minimum ratio between the mean latencies of the slowest device and the next one.
const TIMES: f64 = 3.0;
/// Minimum difference between these latencies, in ms.
const MORE: f64 = 0.1;
/// Minimum number of I/Os per device.
const MIN_IOS: u64 = 50;
/// The counters of the devices may differ from those of the job by this share. A larger difference
/// comes from other programs.
const OTHERS: f64 = 0.05;

pub(crate) const CHECK: Check = Check {
    id: "uneven-targets",
    severity: Severity::Suspect,
    title: "one slow target that slows down the others",
    about: "A job with several targets visits them in turn, and all of them share its `iodepth`. \
            If one is slower, the I/Os in flight pile up there and the other targets wait: the \
            job runs at the speed of the slowest target times the number of targets. The result \
            is not the sum of what the devices can do.",
    detection: "fiord compares the devices' own mean latencies over the measured time \
                (`/proc/diskstats`): the longest is at least three times the next one, and at \
                least 0.1 ms longer. The check covers jobs with `direct=1` that nothing else \
                slows down, that visit files on several devices in turn or at random, and that \
                have these devices to themselves for the whole run. If the I/Os or bytes of the \
                devices together differ from those of the job by over 5 %, other programs used \
                the devices, and the check is silent. Each device needs at least 50 I/Os. Targets \
                without counters of their own (network file systems, directories of one disk) are \
                not compared.",
    effect: "Two loop devices, one over a file in memory and one over a file system in a process \
             that takes 2 ms per read: 4 KiB random reads at depth 4 over both reached 0.9k IOPS. \
             With one job for each device, the slow one reached 0.4k and the other 60k at the \
             same time (`ioengine=io_uring`, `direct=1`, 2 s).",
    remedy: "use one job for each target, with its own `filename`: each device then has its own \
             depth, and the report shows what each can do.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries() {
        findings.report_if(finding(known, &entry));
    }
}

/// Returns whether a job visits its targets in turn and nothing but the targets limits its rate.
fn in_turn(job: &JobPlan) -> bool {
    let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    job.engine.def().access.uses_file_layer()
        && job.target.open.direct
        && job.pace.is_free()
        && job.target.service != FileService::Sequential
        && job.target.files.iter().all(|file| stored(file.kind))
}

/// Returns the devices of a printed job; `None` unless there are several that no other job uses.
fn devices<'a>(known: &After<'a>, entry: &Entry<'_>) -> Option<Vec<&'a DeviceView>> {
    let names = |job: &JobPlan| {
        let tops = job.target.files.iter().filter_map(|f| known.before.devices.written(&f.path));
        tops.map(|disk| disk.name.as_str()).collect::<BTreeSet<_>>()
    };
    let own = names(entry.jobs[0]);
    let mine =
        |job: &&JobPlan| entry.jobs.iter().any(|one| one.identity.index == job.identity.index);
    let others = known.plan.jobs.iter().filter(|job| !mine(job));
    let shared = others.flat_map(names).any(|name| own.contains(name));
    let same = entry.jobs.iter().all(|job| names(job) == own);
    let views = known.report.extras.devices.iter().filter(|view| own.contains(view.name.as_str()));
    let views: Vec<_> = views.collect();
    let each = own.iter().all(|name| views.iter().any(|view| view.name == **name));
    (!shared && same && each && views.len() > 1).then_some(views)
}

/// Reads and writes of a device.
fn moving(view: &DeviceView) -> impl Iterator<Item = &DeviceDir> {
    [Dir::Read, Dir::Write].map(|dir| &view.dirs[dir]).into_iter()
}

/// Returns the number of reads and writes of a device.
fn ios(view: &DeviceView) -> u64 {
    moving(view).map(|dir| dir.ios + dir.merges).sum()
}

/// Returns the mean latency of the reads and writes of a device, in ms.
fn mean_ms(view: &DeviceView) -> f64 {
    let all: u64 = moving(view).map(|dir| dir.ios).sum();
    let time: f64 = moving(view).map(|dir| dir.mean_ms * dir.ios as f64).sum();
    time / all.max(1) as f64
}

/// Returns whether the counters of the devices match those of the job, so that no other program used
/// the devices.
fn alone(entry: &Entry<'_>, views: &[&DeviceView]) -> bool {
    let rows = || entry.report.dirs.iter();
    let (made, moved) =
        rows().fold((0, 0), |sum, row| (sum.0 + row.total_ios, sum.1 + row.io_bytes.0));
    let seen: u64 = views.iter().map(|view| ios(view)).sum();
    let bytes: u64 = views.iter().flat_map(|view| moving(view)).map(|dir| dir.bytes.0).sum();
    let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= b as f64 * OTHERS;
    near(seen, made) && near(bytes, moved)
}

fn finding(known: &After<'_>, entry: &Entry<'_>) -> Option<FindingBuilder> {
    if entry.report.error.is_some() || !entry.jobs.iter().all(|job| in_turn(job)) {
        return None;
    }
    let mut views = devices(known, entry)?;
    let whole = views.iter().all(|view| fills(entry, view.seconds) && ios(view) >= MIN_IOS);
    if !whole || !alone(entry, &views) {
        return None;
    }
    views.sort_by(|a, b| mean_ms(b).total_cmp(&mean_ms(a)));
    let (slow, next) = (views[0], views[1]);
    let (longest, other) = (mean_ms(slow), mean_ms(next));
    if longest < other * TIMES || longest < other + MORE {
        return None;
    }
    let all: f64 = views.iter().map(|view| mean_ms(view) * ios(view) as f64).sum();
    let share = longest * ios(slow) as f64 / all;
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let on = |view: &&DeviceView| {
        let file = job.target.files.iter().find(|file| {
            known.before.devices.written(&file.path).is_some_and(|disk| disk.name == view.name)
        });
        file.map(|file| format!("filename={}", file.path.display()))
    };
    let files: Vec<String> = views.iter().filter_map(on).collect();
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_job(
            job,
            format!(
                "job {name} visits {} devices in turn, and waits for {}",
                views.len(),
                slow.name
            ),
        )
        .evidence(format!(
            "{} takes {} per I/O, {} takes {}: {} of the job's I/O time goes to the slower one",
            slow.name,
            said.time("slowest", longest * 1e6),
            next.name,
            said.time("next", other * 1e6),
            said.percent("share", share)
        ))
        .numbers(said)
        .remedy(format!("use one job for each target: {}", files.join(" in one, ") + " in another"))
        .option(FILENAME);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_types::{Bytes, Nanos, PerDir};

    use fiord_plan::FilePlan;
    use fiord_stat::device::DeviceDir;
    use fiord_stat::finding::Finding;
    use fiord_stat::report::DirKind;
    use fiord_sys::survey::fixture::Machine as Tree;

    use super::*;
    use crate::tests::drives::{Case, found_after, with_disks};
    use crate::tests::fixture::row;

    /// Returns a case of one job with 10,000 reads of 4 KiB on two drives, half on each, with these
    /// mean latencies in ms.
    fn case(ms: [f64; 2]) -> Case {
        let tree = Tree::new();
        for n in 0..2 {
            let port = tree.port(None, &format!("0000:00:0{}.0", n + 1), ("16.0", 4), ("16.0", 4));
            tree.nvme(Some(&port), &format!("0000:0{}:00.0", n + 1), n, ("16.0", 4), ("16.0", 4));
        }
        let mut case = with_disks(&tree);
        let view = |name: &str, mean_ms| DeviceView {
            name: name.into(),
            seconds: 10.0,
            dirs: PerDir::new(
                DeviceDir { ios: 5000, bytes: Bytes(5000 * 4096), mean_ms, merges: 0 },
                DeviceDir::default(),
                DeviceDir::default(),
            ),
            ..DeviceView::default()
        };
        case.report.jobs[0].dirs = vec![row(DirKind::Read, 1000.0, 10)];
        case.report.jobs[0].name = "a".into();
        let names: Vec<String> =
            case.machine.devices.disks.iter().map(|disk| disk.name.clone()).collect();
        case.report.extras.devices =
            names.iter().zip(ms).map(|(name, ms)| view(name, ms)).collect();
        case
    }

    fn reported(ms: [f64; 2], change: impl Fn(&mut Case)) -> Vec<Finding> {
        let mut case = case(ms);
        change(&mut case);
        found_after(&CHECK, &case)
    }

    #[test]
    fn reports_the_slow_device() {
        let found = reported([0.1, 1.9], |_| {});
        assert_eq!(found[0].what, "job a visits 2 devices in turn, and waits for nvme1n1");
        let evidence = "nvme1n1 takes 1.9 ms per I/O, nvme0n1 takes 100 us: 95 % of the job's I/O \
                        time goes to the slower one";
        assert_eq!(found[0].evidence, evidence);
        let remedy = "use one job for each target: filename=/dev/nvme1n1 in one, filename=/dev/nvme0n1 in \
                    another";
        assert_eq!(found[0].remedy, remedy);
        assert_eq!(reported([0.1, 0.2], |_| {}), [], "a ratio of 2 is below the limit");
        assert_eq!(reported([0.01, 0.05], |_| {}), [], "not by much");
    }

    #[test]
    fn silent_if_it_does_not_matter_or_is_unknown() {
        let uneven = [0.1, 1.9];
        let rate = Some(fiord_plan::Rate::Ios(10));
        assert_eq!(reported(uneven, |case| case.job().pace.rate[Dir::Read] = rate), []);
        assert_eq!(
            reported(uneven, |case| case.job().target.service = FileService::Sequential),
            []
        );
        assert_eq!(reported(uneven, |case| case.job().target.open.direct = false), []);
        assert_eq!(reported(uneven, |case| case.report.jobs[0].runtime = Nanos::from_secs(3)), []);
        let first = |case: &mut Case| {
            let one: FilePlan = case.job().target.files[0].clone();
            case.job().target.files = vec![one];
        };
        assert_eq!(reported(uneven, first), [], "one target");
    }

    #[test]
    fn silent_if_other_programs_use_a_device() {
        let others = |case: &mut Case| case.report.extras.devices[1].dirs[Dir::Read].ios += 4000;
        assert_eq!(reported([0.1, 1.9], others), []);
        let others = |case: &mut Case| {
            case.report.extras.devices[1].dirs[Dir::Read].bytes += Bytes(100 << 20)
        };
        assert_eq!(reported([0.1, 1.9], others), []);
    }
}
