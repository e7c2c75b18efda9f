//! `dentry-cache`: attributes that came from memory.

use fiord_plan::{JobPlan, NameCall};
use fiord_stat::finding::Severity;
use fiord_stat::report::DirKind;
use fiord_types::{Bytes, Dir};

use crate::check::{After, Check, CollectedFindings, Entry};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::page_cache::in_memory;
use crate::machine::Unavailable;

/// A smaller number of bytes per call cannot hold the attributes: an inode has at least 128 bytes on ext4, and
/// more on other file systems.
const INODE: Bytes = Bytes(64);

pub(crate) const CHECK: Check = Check {
    id: "dentry-cache",
    severity: Severity::Suspect,
    title: "attributes came from memory, not from the file system's disk",
    about: "Linux keeps the names and attributes of recently used files in memory (dentry and inode \
            cache). A job that creates its files and then calls `stat(2)` on them, or calls it on the \
            same names again, measures a search in memory: file systems hardly differ, and the disk \
            is not involved. The layout of a job looks at each name before the run, so that even \
            names that were not in memory before are there when the measurement starts.",
    detection: "A job with `filestat` or `dirstat` works on ext2, ext3, ext4, XFS, btrfs or F2FS, and \
                the disk below it read less than 64 bytes for each call during the run. \
                An inode has at least 128 bytes. The check is silent on file systems in memory, and \
                reads of other programs can hide the hazard.",
    effect: "`filestat` on 10,000 files on ext4, on a loop device: 150,000 to 370,000 calls per second from \
             memory, 20,000 to 32,000 after the caches were dropped (three runs each on a busy machine).",
    remedy: "drop the caches between the layout and the run: \
             `exec_prerun=sync && echo 3 > /proc/sys/vm/drop_caches` (as root), with one pass over the \
             names (no `time_based`, no `loops`). What the journal has not written to its place yet stays in \
             memory, so create the names in an earlier run, and mount the file system again. If you want to measure the cache, set \
             `ignore_findings=dentry-cache`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let entries = known.entries();
    let reading: Vec<&Entry<'_>> =
        entries.iter().filter(|entry| entry.jobs.iter().all(|job| reads_attributes(job))).collect();
    let Some(first) = reading.first() else { return };
    let jobs = || reading.iter().flat_map(|entry| entry.jobs.iter().copied());
    match jobs().find_map(|job| unknown(known, job)) {
        Some(None) => return,
        Some(Some(why)) => return findings.unavailable(&CHECK, &why),
        None => {}
    }
    let under = &known.before.devices.under_names;
    let names = jobs().filter_map(|job| under.get(&job.target.files.first()?.path)).flatten();
    let mut disks: Vec<&str> = names.map(String::as_str).collect();
    disks.sort();
    disks.dedup();
    let views = known.report.extras.devices.iter();
    let views: Vec<_> = views.filter(|view| disks.contains(&view.name.as_str())).collect();
    if views.is_empty() {
        let why = "the counters of the disk below the file system are unknown";
        return findings.unavailable(&CHECK, &Unavailable(why.into()));
    }
    let read: Bytes = views.iter().map(|view| view.dirs[Dir::Read].bytes).sum();
    let rows = reading.iter().flat_map(|entry| &entry.report.dirs);
    let calls: u64 = rows.filter(|row| row.kind != DirKind::Trim).map(|row| row.total_ios).sum();
    if calls == 0 || read >= INODE.saturating_mul(calls) {
        return;
    }
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_job(first.jobs[0], format!("job {} reads attributes from memory", first.report.name))
        .evidence(format!(
            "{} calls, and {} read {} in that time",
            said.count("calls", calls as f64),
            disks.join(", "),
            said.bytes("device_read", read)
        ))
        .numbers(said)
        .remedy(
            "set exec_prerun=sync && echo 3 > /proc/sys/vm/drop_caches and make one pass over the names, or \
             set ignore_findings=dentry-cache if you want to measure the cache",
        );
    findings.report(finding);
}

fn reads_attributes(job: &JobPlan) -> bool {
    let call = job.engine.def().access.name_call();
    matches!(call, Some(NameCall::StatFile | NameCall::StatDirectory))
}

/// Why nothing can be said about a job: `Some(None)` if its names are in memory anyway.
fn unknown(known: &After<'_>, job: &JobPlan) -> Option<Option<Unavailable>> {
    let kind = job.target.files.first().and_then(|file| known.before.files.file_system(&file.path));
    match kind {
        Some("ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "f2fs") => None,
        Some(kind) if in_memory(kind) => Some(None),
        Some(kind) => Some(Some(Unavailable(format!(
            "what {kind} reads from disks is not counted as its own"
        )))),
        None => Some(Some(Unavailable("the file system is unknown".into()))),
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::device::{DeviceDir, DeviceView};
    use fiord_stat::report::{JobReport, Report};

    use super::*;
    use crate::machine::{FileState, Machine};
    use crate::tests::fixture::{plan, row};

    fn reported(engine: &str, kind: &str, read: Option<u64>) -> (Vec<String>, Vec<String>) {
        let (plan, _) =
            plan(&format!("--name=a --ioengine={engine} --nrfiles=4 --size=16k --directory=/tmp"));
        let mut machine = Machine::survey(&plan);
        let states: Vec<FileState> = machine.files.to_vec();
        let on = |state: FileState| FileState { file_system: Ok(kind.into()), ..state };
        machine.files = states.into_iter().map(on).collect::<Vec<_>>().into();
        let path = plan.jobs[0].target.files[0].path.clone();
        machine.devices.under_names = [(path, vec!["nvme0n1".into()])].into();
        let view = |read| {
            let mut view = DeviceView { name: "nvme0n1".into(), ..DeviceView::default() };
            view.dirs[Dir::Read] = DeviceDir { bytes: Bytes(read), ..DeviceDir::default() };
            view
        };
        // 1000 calls.
        let dirs = vec![row(DirKind::Read, 100.0, 10)];
        let jobs = vec![JobReport { name: "a".into(), members: 1, dirs, ..JobReport::default() }];
        let mut report = Report { jobs, ..Report::default() };
        report.extras.devices = read.map(view).into_iter().collect();
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        let mut findings = CollectedFindings::default();
        after(&known, &mut findings);
        let found = findings.findings().map(|finding| finding.evidence.clone()).collect();
        (found, findings.unchecked().iter().map(|gap| gap.why.clone()).collect())
    }

    #[test]
    fn reports_attributes_that_the_disk_did_not_read() {
        let (found, gaps) = reported("filestat", "ext4", Some(8192));
        assert_eq!(found, ["1.0k calls, and nvme0n1 read 8.0 KiB in that time"]);
        assert_eq!(gaps, [""; 0]);
        assert_eq!(reported("dirstat", "xfs", Some(0)).0.len(), 1);
        let silent = (vec![], vec![]);
        assert_eq!(reported("filestat", "ext4", Some(256_000)), silent);
        assert_eq!(reported("filestat", "tmpfs", Some(0)), silent);
        assert_eq!(reported("filecreate", "ext4", Some(0)), silent);
        let (found, gaps) = reported("filestat", "ext4", None);
        assert!(found.is_empty() && gaps[0].starts_with("the counters of the disk"), "{gaps:?}");
        let (found, gaps) = reported("filestat", "nfs4", Some(0));
        assert!(found.is_empty() && gaps[0].starts_with("what nfs4 reads"), "{gaps:?}");
    }
}
