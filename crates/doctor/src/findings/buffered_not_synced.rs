//! `buffered-not-synced`: buffered writes that nothing flushes.

use std::collections::BTreeSet;

use fiord_job::option::table::{END_FSYNC, RW};
use fiord_plan::{FileKind, FilePlan, JobPlan, SyncMode};
use fiord_stat::finding::Severity;
use fiord_stat::report::DirKind;
use fiord_types::{Bytes, Dir};

use crate::check::{After, Before, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::page_cache::in_memory;
use crate::evidence::page_cache::through_cache;
use crate::evidence::setting::set;
use crate::evidence::timing::ends_the_run;
use crate::evidence::touched::moved;
use crate::machine::Machine;

pub(crate) const CHECK: Check = Check {
    id: "buffered-not-synced",
    severity: Severity::Suspect,
    title: "buffered writes that nothing flushes",
    about: "A buffered write completes as soon as its data is in memory. The kernel writes the \
            data to the device later, often after the run has ended and the rate has been \
            computed. The job waits for the device only when too much memory is dirty.",
    detection: "A job writes to files or devices without `direct=1`, and none of `sync`, `fsync`, \
                `fdatasync`, `sync_file_range`, `write_barrier`, `end_fsync`, `fsync_on_close` \
                and `end_syncfs` is set. After the run, `cachestat(2)` (Linux 6.5) counts how \
                much of the job's files is still dirty or under writeback, and the finding states \
                that amount. If nothing is, fiord withdraws the finding, but only if no other job \
                of the run started after this one or ran longer: otherwise the kernel, or a flush \
                by the other job, may have written the data after the rate was computed. The \
                check ignores files that live in memory (tmpfs).",
    effect: "Writing 256 MiB to a file on ext4 in blocks of 1 MiB: 1.7 GiB/s without a flush, \
             with all of the data still dirty at the end, and 329 MiB/s with `end_fsync=1`.",
    remedy: "set `end_fsync=1`, which adds the flush to the measured time; or `fdatasync=N` if \
             the program that you model syncs its data; or `direct=1` to measure the device alone.",
    lint: None,
    before: Some(before),
    after: Some(after),
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let stored =
        |job: &&JobPlan| job.target.files.iter().any(|file| on_storage(known.machine, file));
    for job in known.sections().filter(|job| unflushed(job)).filter(stored) {
        let evidence =
            "no sync, fsync, fdatasync, end_fsync or fsync_on_close, and direct is not set";
        findings.report(builder(job).evidence(evidence));
    }
}

/// Replaces the finding from before the run by one with the measured amount, or withdraws it.
fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let page = Bytes(fiord_sys::host::page_size() as u64);
    for entry in known.entries() {
        let Some(job) = entry.jobs.iter().find(|job| unflushed(job)) else { continue };
        let written = written(known, &entry);
        if entry.report.failed && written == Bytes::ZERO {
            // The job failed before its first write, for example because it could not open its file.
            findings.refute(builder(job));
            continue;
        }
        let files = entry.jobs.iter().flat_map(|job| &job.target.files);
        let looked_at = |file: &&FilePlan| known.after.file(&file.path).is_some();
        let files = files.filter(looked_at).filter(|file| on_storage(known.before, file));
        let paths: BTreeSet<_> = files.map(|file| &file.path).collect();
        let (mut dirty, mut counted) = (Bytes::ZERO, 0);
        for state in paths.iter().filter_map(|path| known.after.file(path)) {
            if state.kind != FileKind::Regular || state.facts.is_err() {
                continue;
            }
            if let Some(cache) = findings.available(&CHECK, &state.cache) {
                dirty += page * (cache.dirty + cache.writeback);
                counted += 1;
            }
        }
        // A later job or the kernel may have flushed data that this job left in memory: only a job that
        // ends the run is known to have left none.
        if dirty == Bytes::ZERO && counted == paths.len() && ends_the_run(known, &entry) {
            findings.refute(builder(job));
        }
        // Pages may also hold bytes that the job did not write.
        let dirty = dirty.min(written);
        if dirty > Bytes::ZERO {
            let mut said = SaidNumbers::default();
            let evidence = format!(
                "{} written, {} of that was still only in memory when the run ended",
                said.bytes("written", written),
                said.bytes("dirty", dirty)
            );
            findings.report(builder(job).evidence(evidence).numbers(said));
        }
    }
}

/// Returns the bytes that a printed job wrote.
fn written(known: &After<'_>, entry: &Entry<'_>) -> Bytes {
    let exact = entry.jobs.iter().map(|job| moved(known, job, Dir::Write));
    // Without samples: a row for all directions (`unified_rw_reporting`) includes reads.
    let rows = entry.report.dirs.iter().filter(|row| row.kind == DirKind::Write);
    exact.sum::<Option<Bytes>>().unwrap_or_else(|| rows.map(|row| row.io_bytes).sum())
}

fn builder(job: &JobPlan) -> FindingBuilder {
    let flush = set(END_FSYNC, 1);
    CHECK
        .for_job(
            job,
            format!("job {} writes to the page cache and never flushes it", job.identity.name),
        )
        .remedy(match job.engine.def().access.uses_page_cache(true) {
            true => format!("set {flush}"),
            false => format!("set {flush}, or direct=1"),
        })
        .settings([flush])
        .option(RW)
}

/// Returns whether a flush would write the file to storage. A file on an unknown file system counts
/// as on storage.
fn on_storage(machine: &Machine, file: &FilePlan) -> bool {
    match file.kind {
        FileKind::Regular => !machine.files.file_system(&file.path).is_some_and(in_memory),
        kind => kind == FileKind::Block,
    }
}

fn unflushed(job: &JobPlan) -> bool {
    let (load, open) = (&job.load, &job.target.open);
    let flushed = load.fsync > 0
        || load.fdatasync > 0
        || load.sync_file_range.is_some()
        || load.end_fsync
        || load.fsync_on_close
        || load.end_syncfs
        || load.write_barrier > 0
        || open.sync != SyncMode::None;
    let cached = through_cache(job) && !job.engine.is_uncached();
    job.engine.def().moves_data && load.mix.has(Dir::Write) && cached && !flushed
}

#[cfg(test)]
mod tests {
    use fiord_stat::finding::Finding;
    use fiord_stat::report::{JobReport, Report};
    use fiord_sys::file::CacheUse;

    use super::*;
    use crate::tests::fixture::{before, plan, row, scratch};

    fn reported(line: &str) -> Vec<Finding> {
        before(&CHECK, &plan(line).0)
    }

    #[test]
    fn reports_buffered_writes_without_a_flush() {
        let job = "--name=a --filename=f --size=1m --rw";
        assert_eq!(reported(&format!("{job}=write"))[0].remedy, "set end_fsync=1, or direct=1");
        // A mapping goes through the page cache whatever `direct` says.
        for mapped in ["write --ioengine=mmap", "write --ioengine=mmap --direct=1"] {
            assert_eq!(reported(&format!("{job}={mapped}"))[0].remedy, "set end_fsync=1");
        }
        for sound in [
            &format!("{job}=read"),
            &format!("{job}=write --direct=1"),
            &format!("{job}=write --end_fsync=1"),
            &format!("{job}=write --fsync_on_close=1"),
            &format!("{job}=write --fdatasync=1"),
            &format!("{job}=write --sync=dsync"),
            &format!("{job}=write --ioengine=null"),
            "--name=a --filename=/dev/null --size=1m --rw=write",
        ] {
            assert_eq!(reported(sound), [], "{sound}");
        }
    }

    #[test]
    fn a_new_file_on_tmpfs_needs_no_flush() {
        let shm = std::path::Path::new("/dev/shm");
        if !fiord_sys::mount::holding(shm).is_ok_and(|m| m.is_some_and(|m| m.kind == "tmpfs")) {
            return eprintln!("skipped: no tmpfs at /dev/shm");
        }
        let name = format!("/dev/shm/fiord-doctor-new-{}", std::process::id());
        assert_eq!(reported(&format!("--name=a --filename={name} --size=1m --rw=write")), []);
    }

    /// Returns the findings of a run that leaves `dirty` dirty pages on a file system of type `kind`.
    fn run(dirty: u64, kind: &str) -> Vec<Finding> {
        run_with(dirty, kind, "")
    }

    /// Returns the findings of a run with additional job options, as in [`run`].
    fn run_with(dirty: u64, kind: &str, more: &str) -> Vec<Finding> {
        let path = scratch();
        std::fs::write(&path, b"some").unwrap();
        let line = "--name=a --size=1m --rw=write --numjobs=2 --filename";
        let (plan, _) = plan(&format!("{line}={} {more}", path.display()));
        let mut machine = Machine::survey(&plan);
        let _ = std::fs::remove_file(path);
        machine.files[0].file_system = Ok(kind.into());
        machine.files[0].cache = Ok(CacheUse { cached: dirty, dirty, ..CacheUse::default() });
        let dirs = vec![row(DirKind::Write, 8.0, 1)];
        let job = || JobReport { members: 1, dirs: dirs.clone(), ..JobReport::default() };
        let jobs = plan.jobs.iter().map(|_| job()).collect();
        let report = Report { jobs, ..Report::default() };
        let mut all = CollectedFindings::default();
        super::before(&Before { plan: &plan, machine: &machine }, &mut all);
        let mut later = CollectedFindings::default();
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        after(&known, &mut later);
        all.join(later);
        all.findings().cloned().collect()
    }

    #[test]
    fn a_job_that_wrote_nothing_has_left_nothing_in_memory() {
        let path = scratch();
        std::fs::write(&path, b"some").unwrap();
        let (plan, _) =
            plan(&format!("--name=a --size=1m --rw=write --filename={}", path.display()));
        let mut machine = Machine::survey(&plan);
        let _ = std::fs::remove_file(path);
        machine.files[0].file_system = Ok("ext4".into());
        let mut all = CollectedFindings::default();
        super::before(&Before { plan: &plan, machine: &machine }, &mut all);
        assert_eq!(all.findings().count(), 1);
        let job = JobReport { members: 1, failed: true, ..JobReport::default() };
        let report = Report { jobs: vec![job], ..Report::default() };
        let mut later = CollectedFindings::default();
        after(
            &After { plan: &plan, before: &machine, after: &machine, report: &report },
            &mut later,
        );
        all.join(later);
        assert_eq!(all.findings().count(), 0);
    }

    #[test]
    fn the_measured_amount_replaces_the_estimate() {
        let found = run(3, "ext4");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].evidence.contains("12 KiB of that was still only in memory"), "{found:?}");
        assert_eq!(run(0, "ext4"), [], "nothing is left in memory");
        assert_eq!(run(3, "tmpfs"), [], "the file lives in memory");
    }

    #[test]
    fn the_finding_stays_if_a_later_job_may_have_flushed() {
        let later = "--name=b --stonewall --ioengine=null --rw=read --size=1m";
        let found = run_with(0, "ext4", later);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].evidence.starts_with("no sync, fsync"), "{found:?}");
    }
}
