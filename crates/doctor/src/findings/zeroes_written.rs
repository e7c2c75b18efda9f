//! `zeroes-written`: a file system that writes zeroes where it should only reserve space.

use fiord_plan::{CountedBytes, JobPlan};
use fiord_stat::finding::Severity;
use fiord_stat::report::DirKind;
use fiord_types::Bytes;

use crate::check::{After, Check, CollectedFindings};
use crate::evidence::amount::SaidNumbers;
use crate::machine::Unavailable;

/// With less reserved space, the file system's own blocks would count.
const ENOUGH: Bytes = Bytes::from_mib(1);

pub(crate) const CHECK: Check = Check {
    id: "zeroes-written",
    severity: Severity::Suspect,
    title: "the file system writes zeroes instead of reserving space",
    about: "`falloc` measures how fast a file system reserves space. File systems with unwritten \
            extents (ext4, XFS, btrfs) change only metadata for that. Others, such as FAT and exFAT, write \
            zeroes into the new space: the result is then the speed of writes, and most of the \
            writes may still be in memory when the run ends.",
    detection: "All jobs use `falloc`, they reserved at least 1 MiB, and the process wrote at least \
                half as many bytes (`write_bytes` in `/proc/self/io`, which counts data when it enters \
                the page cache). The check does not see zeroes that another process (FUSE), \
                a server or the kernel itself writes, and it reports that it could not run if other \
                jobs write.",
    effect: "4 KiB `falloc` writes of a new file of 4 MiB in a virtual machine: 200 calls per second on FAT, and \
             29,000 on a file that had its space already.",
    remedy: "use a file system with unwritten extents (ext4, XFS, btrfs), or say that you measure writes: \
             `ioengine=psync` with `rw=write`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let Some(first) = known.plan.jobs.iter().find(|job| reserves(job)) else { return };
    if known.plan.jobs.iter().any(|job| !reserves(job) && job.load.mix.changes_data()) {
        return findings.unavailable(&CHECK, &Unavailable("other jobs write".into()));
    }
    let (Some(before), Some(after)) = (
        findings.available(&CHECK, &known.before.storage),
        findings.available(&CHECK, &known.after.storage),
    ) else {
        return;
    };
    let written = after.written.saturating_sub(before.written);
    let mut reserved = Bytes::ZERO;
    for entry in known.entries().iter().filter(|entry| entry.jobs.iter().all(|job| reserves(job))) {
        let rows = entry.report.dirs.iter().filter(|row| row.kind != DirKind::Trim);
        let claimed: Bytes = rows.map(|row| row.io_bytes).sum();
        // A second pass over the file finds the space reserved.
        let files = entry.jobs.iter().flat_map(|job| &job.target.files);
        reserved += claimed.min(files.map(|file| file.len).sum());
    }
    if reserved < ENOUGH || written.saturating_mul(2) < reserved {
        return;
    }
    let what = format!("the file system of job {} writes zeroes", first.identity.name);
    let mut said = SaidNumbers::default();
    let (written, reserved) = (said.bytes("written", written), said.bytes("reserved", reserved));
    let finding = CHECK
        .for_job(first, what)
        .evidence(format!("{written} written to reserve {reserved}"))
        .numbers(said)
        .remedy("use a file system with unwritten extents (ext4, XFS, btrfs)");
    findings.report(finding);
}

/// Whether a job asks a file system to reserve space.
fn reserves(job: &JobPlan) -> bool {
    job.engine.def().counts == CountedBytes::Space
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{JobReport, Report};
    use fiord_sys::usage::StorageBytes;

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_after, plan, row};

    fn reported(line: &str, written: u64) -> Vec<String> {
        let (plan, _) = plan(&format!("--name=a --rw=write --size=4m --filename=f {line}"));
        let storage = |written| Ok(StorageBytes { read: Bytes::ZERO, written: Bytes(written) });
        let before = Machine { storage: storage(0), ..Machine::survey(&plan) };
        let after = Machine { storage: storage(written), ..before.clone() };
        // 4 MiB in two passes.
        let dirs = vec![row(DirKind::Write, 256.0, 8)];
        let job = JobReport { members: 1, dirs, ..JobReport::default() };
        let jobs = vec![job; plan.jobs.len()];
        let report = Report { jobs, ..Report::default() };
        let known = After { plan: &plan, before: &before, after: &after, report: &report };
        found_after(&CHECK, &known).into_iter().map(|finding| finding.evidence).collect()
    }

    #[test]
    fn reports_zeroes_that_the_process_wrote() {
        assert_eq!(reported("--ioengine=falloc", 4 << 20), ["4.0 MiB written to reserve 4.0 MiB"]);
        assert_eq!(reported("--ioengine=falloc", 1 << 20), [""; 0], "metadata");
        assert_eq!(reported("--ioengine=psync", 4 << 20), [""; 0]);
        let beside =
            "--ioengine=falloc --name=b --ioengine=psync --rw=write --size=4m --filename=g";
        assert_eq!(reported(beside, 8 << 20), [""; 0]);
    }
}
