//! `cache-hits`: the page cache answered instead of the device.

use fiord_plan::{Dir, EnginePlan, FileKind, JobPlan};
use fiord_stat::finding::Severity;
use fiord_stat::report::DirKind;

use crate::amount::{bytes, percent};
use crate::page_cache::through_cache;
use crate::{After, Check, Findings, Unavailable};

/// A share of cached bytes that read-ahead and page sizes explain.
const FEW: f64 = 0.1;
/// From here on the number is that of memory.
const MOST: f64 = 0.5;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "cache-hits",
    severity: Severity::Invalid,
    title: "the page cache answered, not the device",
    about: "Without `direct=1` what was read once stays in memory, and is read from there the next \
            time. `invalidate=1` drops the file from the cache before the run and before each pass \
            over it. It does not help where there are no passes (`norandommap`, \
            `random_distribution=zipf`), or where several jobs read the same file: a run that is \
            longer than its file is large then measures memory.",
    detection: "What the process fetched from storage during the run (`read_bytes` of `/proc/self/io`, \
           which counts read-ahead and direct I/O) beside what jobs have read. FindingBuilder when a tenth or \
           more of what buffered jobs read did not come from storage, invalid from one half on. \
           It is silent where jobs say that they mean it: `invalidate=0`, `pre_read=1`. File \
           systems whose reads another process makes (FUSE) are not checked.",
    effect: "Buffered 4 KiB random reads with `psync` and `norandommap` for 3 s of a file of 64 MiB on \
             ext4 made 323k IOPS: 3.7 GiB were read, and 65 MiB came from the device. With \
             `direct=1` it was 29.2k IOPS.",
    remedy: "`direct=1`; or a file several times as large as memory; or `invalidate=0`, which says \
           that the page cache is meant.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
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
    let (mut claimed, mut claimed_buffered) = (0, 0);
    for entry in known.entries() {
        let rows = entry.report.dirs.iter().filter(|row| row.kind == DirKind::Read);
        let read: u64 = rows.map(|row| row.io_bytes).sum();
        if entry.jobs.iter().any(|job| reads(job)) {
            claimed += read;
        }
        if entry.jobs.iter().any(buffered) {
            claimed_buffered += read;
        }
    }
    let cached = claimed.saturating_sub(fetched).min(claimed_buffered);
    let share = cached as f64 / claimed_buffered.max(1) as f64;
    if claimed_buffered == 0 || share < FEW {
        return;
    }
    let finding = CHECK
        .for_job(first, format!("{} of what was read came out of the page cache", percent(share)))
        .evidence(format!(
            "{} read, {} fetched from storage",
            bytes(claimed),
            bytes(fetched.min(claimed))
        ))
        .remedy("direct=1, or invalidate=0 where the page cache is meant")
        .option("direct");
    findings.report(if share < MOST { finding.at_most(Severity::Suspect) } else { finding });
}

/// Whether a job reads files or devices at all.
fn reads(job: &JobPlan) -> bool {
    let real = !matches!(job.engine, EnginePlan::Null | EnginePlan::Sim(_));
    // The kernel does not count what commands of a job's own read.
    let real = real && !job.engine.sends_commands();
    let seekable = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    real && job.load.mix.has(Dir::Read) && job.target.files.iter().any(|f| seekable(f.kind))
}

fn on_purpose(job: &JobPlan) -> bool {
    !job.target.open.invalidate || job.target.layout.pre_read
}

/// The file system whose reads are made by another process.
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
    use crate::Machine;
    use crate::fixture::{found_after, plan, row};

    fn told(fetched: u64, more: &str) -> Vec<Severity> {
        let (plan, _) = plan(&format!("--name=a --rw=randread --filename=f --size=1m {more}"));
        let storage = |read| Ok(StorageBytes { read, written: 0 });
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
    fn reports_by_what_was_not_fetched() {
        // 1000 I/Os of 4 KiB were read.
        assert_eq!(told(4096, ""), [Severity::Invalid]);
        assert_eq!(told(4096 * 700, ""), [Severity::Suspect]);
        assert_eq!(told(4096 * 1000, ""), []);
        assert_eq!(told(4096, "--invalidate=0"), []);
        assert_eq!(told(4096, "--direct=1"), []);
    }
}
