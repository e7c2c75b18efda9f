//! `buffered-not-synced`: buffered writes that nothing flushes.

use fiord_plan::{Dir, EnginePlan, FileKind, JobPlan, SyncMode};
use fiord_stat::finding::Severity;

use crate::amount::bytes;
use crate::{After, Check, Findings, Lint, Told};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "buffered-not-synced",
    severity: Severity::Suspect,
    title: "buffered writes that nothing flushes",
    about: "A buffered write is done when it is in memory. The kernel sends it to the device later, \
            after the run has ended and its rate was computed; only when too much memory is dirty \
            does the job have to wait.",
    seen: "A job writes to files or devices without `direct=1`, and neither `sync`, `fsync`, \
           `fdatasync`, `sync_file_range`, `end_fsync`, `fsync_on_close` nor `end_syncfs` is set. \
           After the run `cachestat(2)` (Linux 6.5) counts what of its files is still dirty or on \
           its way.",
    effect: "256 MiB written to a file on ext4 in blocks of 1 MiB: 1.7 GiB/s without a flush, \
             with all of it dirty at the end, and 329 MiB/s with `end_fsync=1`.",
    mend: "`end_fsync=1`, which is part of the measured time; `fdatasync=N` for programs that do so; \
           `direct=1` for the device alone.",
    lint: Some(lint),
    before: None,
    after: Some(after),
};

fn lint(known: &Lint<'_>, findings: &mut Findings) {
    for job in known.sections().filter(|job| unflushed(job)) {
        let evidence =
            "no sync, fsync, fdatasync, end_fsync or fsync_on_close, and direct is not set";
        findings.tell(told(job).evidence(evidence));
    }
}

/// With the numbers; it takes the place of what was told before.
fn after(known: &After<'_>, findings: &mut Findings) {
    let page = fiord_sys::host::page_size() as u64;
    for entry in known.entries() {
        let Some(job) = entry.jobs.iter().find(|job| unflushed(job)) else { continue };
        let written: u64 = entry.report.dirs.iter().map(|row| row.io_bytes).sum();
        let files = entry.jobs.iter().flat_map(|job| &job.target.files);
        let mut paths: Vec<_> = files.map(|file| &file.path).collect();
        paths.dedup();
        let states = paths.into_iter().filter_map(|path| known.after.file(path));
        let mut dirty = 0;
        for state in states.filter(|state| state.kind == FileKind::Regular && state.facts.is_ok()) {
            let cache = findings.had(&CHECK, &state.cache);
            dirty += cache.map_or(0, |cache| (cache.dirty + cache.writeback) * page);
        }
        if dirty > 0 {
            let evidence = format!(
                "{} written, {} of that still in memory only when it ended",
                bytes(written),
                bytes(dirty)
            );
            findings.tell(told(job).evidence(evidence));
        }
    }
}

fn told(job: &JobPlan) -> Told {
    CHECK
        .of_job(job, format!("job {} writes to memory and nothing flushes it", job.identity.name))
        .mend("end_fsync=1, or direct=1")
        .option("rw")
}

fn unflushed(job: &JobPlan) -> bool {
    let (load, open) = (&job.load, &job.target.open);
    let real = !matches!(job.engine, EnginePlan::Null | EnginePlan::Sim(_));
    let uncached = match &job.engine {
        EnginePlan::Pvsync2 { uncached, .. } => *uncached,
        EnginePlan::IoUring(plan) => plan.uncached,
        _ => false,
    };
    let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    let flushed = load.fsync > 0
        || load.fdatasync > 0
        || load.sync_file_range.is_some()
        || load.end_fsync
        || load.fsync_on_close
        || load.end_syncfs
        || load.write_barrier > 0
        || open.sync != SyncMode::None;
    real && load.mix.has(Dir::Write)
        && !open.direct
        && !uncached
        && !flushed
        && job.target.files.iter().any(|file| stored(file.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::told_once;

    #[test]
    fn told_of_buffered_writes_without_a_flush() {
        let job = "--name=a --filename=f --size=1m --rw";
        told_once(
            &CHECK,
            &format!("{job}=write"),
            &[
                &format!("{job}=read"),
                &format!("{job}=write --direct=1"),
                &format!("{job}=write --end_fsync=1"),
                &format!("{job}=write --fsync_on_close=1"),
                &format!("{job}=write --fdatasync=1"),
                &format!("{job}=write --sync=dsync"),
                &format!("{job}=write --ioengine=null"),
                "--name=a --filename=/dev/null --size=1m --rw=write",
            ],
        );
    }
}
