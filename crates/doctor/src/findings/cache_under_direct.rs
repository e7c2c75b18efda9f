//! `cache-under-direct`: pages of the target are in the page cache although I/O goes around it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use fiord_job::option::table::DIRECT;
use fiord_plan::{JobPlan, Plan};
use fiord_stat::finding::Severity;
use fiord_sys::file::Opener;
use fiord_types::Dir;

use crate::check::{After, Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::page_cache::in_memory;
use crate::machine::{Machine, Unavailable};

pub(crate) const CHECK: Check = Check {
    id: "cache-under-direct",
    severity: Severity::Suspect,
    title: "pages of the target are in the page cache while I/O bypasses it",
    about: "A direct write must drop every cached page that it overlaps. As soon as a file or \
            device has any cached page, each direct write must look for cached pages and take the \
            locks for that. A program that reads the target through the page cache (udev's \
            `blkid` after a device was closed, or a backup) therefore makes every direct write \
            slower, and makes one run differ from the next.",
    detection: "With `invalidate=1`, fiord drops the cached pages of the target, dirty ones \
                included, after it has opened the target for the last time; it opens the target \
                once for each job and keeps it open. `cachestat(2)` (Linux 6.5) counts the cached \
                pages, for a file in the range that the job uses and for a device in all of it, \
                at three moments: before the run; when all jobs that start together are ready \
                (fiord drops again what another program has read in the meantime); and before the \
                job closes its files. The finding is reported if there are any pages: as suspect \
                for jobs that write, as a note for jobs that only read. It names the other \
                programs that have the target open, as far as `/proc` shows them. With \
                `invalidate=1`, pages that fiord could drop do not count. btrfs passes some \
                direct I/O through the page cache by itself, so on btrfs only pages that were \
                there before the first I/O count. The check ignores files in memory (tmpfs) and \
                mappings (`ioengine=mmap`).",
    effect: "Two threads of 1 MiB direct writes to a `dm-zero` device reached 3800 MB/s, and 2400 \
             MB/s after udev's `blkid` had left 25 pages in the page cache. In an emulated \
             machine (Linux 6.12), two threads of 4 KiB random writes reached 56.8k IOPS, and \
             53.6k with 25 pages cached in a part of the device that neither thread wrote to.",
    remedy: "find the other reader (`fuser -v`, `udevadm monitor`) and stop it; set \
             `invalidate=1` if the job turned it off.",
    lint: None,
    before: Some(before),
    after: Some(after),
    hosts: None,
};

/// Returns whether a job bypasses the page cache on a file. A mapping never does, nor does a file
/// system that lives in memory.
fn goes_around(machine: &Machine, job: &JobPlan, path: &Path) -> bool {
    let access = job.engine.def().access;
    let around = access.uses_file_layer() && !access.uses_page_cache(true);
    job.target.open.direct && around && !machine.files.file_system(path).is_some_and(in_memory)
}

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    for job in known.sections().filter(|job| !job.target.open.invalidate) {
        let around = job.target.files.iter().filter(|f| goes_around(known.machine, job, &f.path));
        let files = around.filter_map(|file| known.machine.file(&file.path));
        for state in files {
            let Some(pages) = state.cache.as_ref().ok().map(|cache| cache.cached) else { continue };
            if pages > 0 {
                let mut said = SaidNumbers::default();
                let pages = said.exact("pages_at_start", pages);
                let evidence = format!("{pages} cached pages, and invalidate=0 keeps them");
                let others = openers(state.openers.iter());
                let finding = builder(job, &state.path, format!("{evidence}{others}"));
                findings.report(finding.numbers(said));
            }
        }
    }
}

/// Maximum number of files that the check reports: the cause is the same for all files of a job.
const TOLD: usize = 64;

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let mut seen: HashSet<&OsStr> = HashSet::new();
    for cached in &known.report.extras.cached {
        let Some(job) = known.plan.jobs.get(cached.job.get()) else { continue };
        let file = job.target.files.get(cached.file.get());
        let Some(file) = file.filter(|file| goes_around(known.before, job, &file.path)) else {
            continue;
        };
        let (start, end) = match (cached.at_start, cached.pages) {
            (None, None) => {
                findings.unavailable(&CHECK, &Unavailable("cachestat(2) needs Linux 6.5".into()));
                continue;
            }
            (start, _) if caches_itself(known.before, &file.path) => (start.unwrap_or(0), 0),
            (start, end) => (start.unwrap_or(0), end.unwrap_or(0)),
        };
        if (start > 0 || end > 0) && seen.insert(file.path.as_os_str()) {
            if seen.len() > TOLD {
                break;
            }
            let states = [known.before, known.after].map(|machine| machine.file(&file.path));
            let others = openers(states.into_iter().flatten().flat_map(|state| &state.openers));
            let why = why(known.plan, job, &file.path, (start, end));
            let mut said = SaidNumbers::default();
            let evidence = format!(
                "{} pages before the first I/O, {} at the end: {why}{others}",
                said.exact("pages_at_start", start),
                said.exact("pages_at_end", end)
            );
            findings.report(builder(job, &file.path, evidence).numbers(said));
        }
    }
}

/// Returns whether the file system passes some direct I/O through the page cache by itself. btrfs does
/// so for the first I/O of an untouched buffer, and for writes of data with checksums. Pages at the
/// end of the run then say nothing about other programs.
fn caches_itself(machine: &Machine, path: &Path) -> bool {
    machine.files.file_system(path) == Some("btrfs")
}

fn builder(job: &JobPlan, path: &Path, evidence: String) -> FindingBuilder {
    let finding = CHECK
        .for_job(
            job,
            format!("{} has pages in the page cache although direct=1 is set", path.display()),
        )
        .evidence(evidence)
        .remedy("stop the program that reads it through the page cache, and set invalidate=1")
        .option(DIRECT);
    if job.load.mix.has(Dir::Write) { finding } else { finding.at_most(Severity::Note) }
}

/// Explains where the cached pages come from.
fn why(plan: &Plan, job: &JobPlan, path: &Path, (start, end): (u64, u64)) -> String {
    let uses = |other: &&JobPlan| {
        !other.target.open.direct && other.target.files.iter().any(|file| file.path == path)
    };
    match plan.jobs.iter().find(uses) {
        Some(other) => format!("job {} of this run uses the page cache", other.identity.name),
        None if job.target.layout.pre_read => "pre_read=1 reads it into the page cache".into(),
        None if !job.target.open.invalidate => {
            "invalidate=0 kept the pages that were there before".into()
        }
        None if start > 0 && start >= end => "they could not be dropped".into(),
        None => "another program has read it since they were dropped".into(),
    }
}

/// Lists the programs that have the file open, each once: `; open in blkid (process 7)`.
fn openers<'a>(openers: impl Iterator<Item = &'a Opener>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in openers.map(ToString::to_string) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len() {
        0 => String::new(),
        n if n > NAMED => format!("; open in {} and {} more", names[..NAMED].join(", "), n - NAMED),
        _ => format!("; open in {}", names.join(", ")),
    }
}

/// Maximum number of programs that the evidence names.
const NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use fiord_stat::report::{CachedUnderDirect, Report};
    use fiord_types::{FileIndex, JobIndex};

    use super::*;
    use crate::tests::fixture::{found_after, plan};

    fn found(at_start: Option<u64>, pages: Option<u64>, line: &str) -> Vec<(Severity, String)> {
        let (plan, _) = plan(&format!("--filename=f --size=1m --name=a --direct=1 {line}"));
        let machine = Machine::default();
        let mut report = Report::default();
        report.extras.cached =
            vec![CachedUnderDirect { job: JobIndex(0), file: FileIndex(0), pages, at_start }];
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        let found = found_after(&CHECK, &known);
        found.into_iter().map(|finding| (finding.severity, finding.evidence)).collect()
    }

    #[test]
    fn reports_cached_pages_and_their_cause() {
        let reported = |line: &str| found(Some(0), Some(25), line);
        let one = reported("--rw=write");
        assert_eq!(one[0].0, Severity::Suspect);
        assert!(one[0].1.starts_with("0 pages before the first I/O, 25 at the end: another"));
        assert_eq!(reported("--rw=read")[0].0, Severity::Note);
        assert!(reported("--rw=write --name=b --rw=read")[0].1.contains("job b"));
        assert!(reported("--rw=read --invalidate=0")[0].1.contains("invalidate=0"));
        assert!(found(Some(0), Some(0), "--rw=write").is_empty());
        assert!(found(None, None, "--rw=write").is_empty());
        // A job that was aborted has no count at its end.
        assert!(found(Some(0), None, "--rw=write").is_empty());
        let kept = found(Some(8), Some(0), "--rw=write");
        assert!(kept[0].1.contains("could not be dropped"), "{kept:?}");
    }

    #[test]
    fn each_program_is_named_once_up_to_a_limit() {
        let one = |pid| Opener { pid, name: "blkid".into() };
        assert_eq!(openers([one(7), one(7)].iter()), "; open in blkid (process 7)");
        let many: Vec<Opener> = (1..6).map(one).collect();
        assert!(openers(many.iter()).ends_with("blkid (process 3) and 2 more"));
        assert_eq!(openers([].iter()), "");
    }
}
