//! `cache-hits`: the page cache answered instead of the device.

use fiord_job::option::table::DIRECT;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::finding::Severity;
use fiord_stat::report::DirKind;
use fiord_types::{Bytes, Dir};

use crate::check::{After, Check, CollectedFindings};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::page_cache::past_the_cache;
use crate::evidence::page_cache::through_cache;
use crate::machine::Unavailable;

/// A smaller share of cached bytes is explained by read-ahead and page sizes.
const FEW: f64 = 0.1;
/// From this share of cached bytes on, the result measures memory.
const MAJORITY: f64 = 0.5;

pub(crate) const CHECK: Check = Check {
    id: "cache-hits",
    severity: Severity::Invalid,
    title: "the page cache answered, not the device",
    about: "Without `direct=1`, data that a job has read once stays in memory, and the next read \
            of it comes from there. `invalidate=1` drops the file from the page cache before the \
            run and before each pass over the file. That does not help a job that makes no passes \
            (`norandommap`, `random_distribution=zipf`), or several jobs that read the same file: \
            a run that reads more than the size of its file then measures memory.",
    detection: "fiord compares what the process fetched from storage during the run (`read_bytes` \
                in `/proc/self/io`, which includes read-ahead and direct I/O) with what the jobs \
                read. It reports the finding if at least a tenth of what buffered jobs read did \
                not come from storage; from one half on, the result is invalid. The check is \
                silent if a job says that it wants the page cache (`invalidate=0`, `pre_read=1`). \
                It does not cover file systems where another process does the reads (FUSE).",
    effect: "Buffered 4 KiB random reads with `psync` and `norandommap` of a 64 MiB file on ext4 \
             for 3 s reached 323k IOPS: the job read 3.7 GiB, of which 65 MiB came from the \
             device. With `direct=1`, the result was 29.2k IOPS.",
    remedy: "set `direct=1`; or use a file several times as large as memory; or set \
             `invalidate=0` to say that you want to measure the page cache.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let buffered = |job: &&JobPlan| reads(job) && through_cache(job);
    let Some(first) = known.plan.jobs.iter().find(buffered) else { return };
    if known.plan.jobs.iter().filter(buffered).any(on_purpose) {
        return;
    }
    if let Some(kind) = elsewhere(known) {
        return findings
            .unavailable(&CHECK, &Unavailable(format!("another process reads for {kind}")));
    }
    let (Some(before), Some(after)) = (
        findings.available(&CHECK, &known.before.storage),
        findings.available(&CHECK, &known.after.storage),
    ) else {
        return;
    };
    let fetched = after.read.saturating_sub(before.read);
    let (mut claimed, mut claimed_buffered) = (Bytes::ZERO, Bytes::ZERO);
    for entry in known.entries() {
        let rows = entry.report.dirs.iter().filter(|row| row.kind == DirKind::Read);
        let read: Bytes = rows.map(|row| row.io_bytes).sum();
        if entry.jobs.iter().any(|job| reads(job)) {
            claimed += read;
        }
        if entry.jobs.iter().any(buffered) {
            claimed_buffered += read;
        }
    }
    let cached = claimed.saturating_sub(fetched).min(claimed_buffered);
    let share = cached.as_f64() / claimed_buffered.max(Bytes(1)).as_f64();
    if claimed_buffered == Bytes::ZERO || share < FEW {
        return;
    }
    let (remedy, direct) = past_the_cache(first);
    let mut said = SaidNumbers::default();
    let what =
        format!("{} of the data read came from the page cache", said.percent("share", share));
    let finding = CHECK
        .for_job(first, what)
        .evidence(format!(
            "{} read, {} fetched from storage",
            said.bytes("read", claimed),
            said.bytes("fetched", fetched.min(claimed))
        ))
        .numbers(said)
        .remedy(remedy)
        .settings(direct)
        .option(DIRECT);
    findings.report(if share < MAJORITY { finding.at_most(Severity::Suspect) } else { finding });
}

/// Returns whether a job reads files or block devices with system calls that the kernel counts.
fn reads(job: &JobPlan) -> bool {
    // `read_bytes` includes only reads that pass the file layer.
    let def = job.engine.def();
    let real = def.moves_data && def.access.uses_file_layer();
    let seekable = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    real && job.load.mix.has(Dir::Read) && job.target.files.iter().any(|f| seekable(f.kind))
}

fn on_purpose(job: &JobPlan) -> bool {
    !job.target.open.invalidate || job.target.layout.pre_read
}

/// Returns the type of the first file system whose reads another process does.
fn elsewhere<'a>(known: &After<'a>) -> Option<&'a str> {
    let kinds = known.before.files.iter().filter_map(|state| state.file_system.as_deref().ok());
    let mut regular = kinds.filter(|kind| kind.starts_with("fuse") || *kind == "virtiofs");
    regular.next()
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{JobReport, Report};
    use fiord_sys::usage::StorageBytes;

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_after, plan, row};

    fn reported(fetched: u64, more: &str) -> Vec<Severity> {
        let (plan, _) = plan(&format!("--name=a --rw=randread --filename=f --size=1m {more}"));
        let storage = |read| Ok(StorageBytes { read: Bytes(read), written: Bytes::ZERO });
        let before = Machine { storage: storage(0), ..Machine::survey(&plan) };
        let after = Machine { storage: storage(fetched), ..Machine::survey(&plan) };
        let dirs = vec![row(DirKind::Read, 100.0, 10)];
        let report = Report {
            jobs: vec![JobReport { members: 1, dirs, ..JobReport::default() }],
            ..Report::default()
        };
        let known = After { plan: &plan, before: &before, after: &after, report: &report };
        found_after(&CHECK, &known).into_iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn reports_bytes_that_did_not_come_from_storage() {
        // 1000 I/Os of 4 KiB were read.
        assert_eq!(reported(4096, ""), [Severity::Invalid]);
        assert_eq!(reported(4096 * 700, ""), [Severity::Suspect]);
        assert_eq!(reported(4096 * 1000, ""), []);
        assert_eq!(reported(4096, "--invalidate=0"), []);
        assert_eq!(reported(4096, "--direct=1"), []);
    }
}
