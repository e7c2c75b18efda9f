//! `cache-under-direct`: pages of the target are in the page cache although I/O goes around it.

use fiord_plan::{Dir, JobPlan, Plan};
use fiord_stat::finding::Severity;

use crate::{After, Check, Findings, Gap};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "cache-under-direct",
    severity: Severity::Suspect,
    title: "pages of the target are cached while I/O goes around the cache",
    about: "A direct write has to throw out every cached page that it overlaps, and as soon as a \
            file or device has any, each write looks for them and takes the locks for it. Who reads \
            the target through the cache, udev's `blkid` after a device was closed or a backup that \
            passes by, makes every direct write slower and one run unlike the next.",
    seen: "fiord drops what is cached after it has opened the target for the last time \
           (`invalidate=1`), opens it once for each job and holds it. When a job is done, and before \
           it lets go of its files, `cachestat(2)` (Linux 6.5) counts the pages of what it used. \
           Told when there are any: suspect for jobs that write, a note for those that read.",
    effect: "Two threads of 1 MiB direct writes to a `dm-zero` device made 3800 MB/s, and 2400 \
             MB/s after udev's `blkid` had left 25 pages in the page cache.",
    mend: "Find the other reader (`fuser -v`, `udevadm monitor`) and end it; `invalidate=1` where the \
           job turned it off.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    let mut told: Vec<&std::path::Path> = Vec::new();
    for cached in &known.report.extras.cached {
        let Some(job) = known.plan.jobs.get(cached.job) else { continue };
        let Some(file) = job.target.files.get(cached.file) else { continue };
        match cached.pages {
            None => findings.gap(&CHECK, &Gap("cachestat(2) needs Linux 6.5".into())),
            Some(0) => {}
            Some(_) if told.contains(&file.path.as_path()) => {}
            Some(pages) => {
                told.push(&file.path);
                let writes = job.load.mix.has(Dir::Write);
                let finding = CHECK
                    .of_job(
                        job,
                        format!(
                            "{pages} pages of {} are cached under direct=1",
                            file.path.display()
                        ),
                    )
                    .evidence(who(known.plan, job, &file.path))
                    .mend("ending what reads it through the page cache, and invalidate=1")
                    .option("direct");
                findings.tell(if writes { finding } else { finding.only(Severity::Note) });
            }
        }
    }
}

/// Where the pages come from.
fn who(plan: &Plan, job: &JobPlan, path: &std::path::Path) -> String {
    let uses = |other: &&JobPlan| {
        !other.target.open.direct && other.target.files.iter().any(|file| file.path == path)
    };
    match plan.jobs.iter().find(uses) {
        Some(other) => format!("job {} of this run goes through the cache", other.identity.name),
        None if !job.target.open.invalidate => "invalidate=0 left in what was there before".into(),
        None => "they were dropped before the first I/O: another program has read it since".into(),
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{CachedUnderDirect, Report};

    use super::*;
    use crate::Machine;
    use crate::fixture::{plan, told_after};

    fn told(pages: Option<u64>, line: &str) -> Vec<(Severity, String)> {
        let (plan, _) = plan(&format!("--filename=f --size=1m --name=a --direct=1 {line}"));
        let machine = Machine::default();
        let mut report = Report::default();
        report.extras.cached = vec![CachedUnderDirect { job: 0, file: 0, pages }];
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        let found = told_after(&CHECK, &known);
        found.into_iter().map(|finding| (finding.severity, finding.evidence)).collect()
    }

    #[test]
    fn told_by_pages_and_with_who() {
        let found = told(Some(25), "--rw=write");
        assert_eq!(found[0].0, Severity::Suspect);
        assert!(found[0].1.contains("another program"), "{found:?}");
        assert_eq!(told(Some(25), "--rw=read")[0].0, Severity::Note);
        assert!(told(Some(25), "--rw=write --name=b --rw=read")[0].1.contains("job b"));
        assert!(told(Some(25), "--rw=read --invalidate=0")[0].1.contains("invalidate=0"));
        assert!(told(Some(0), "--rw=write").is_empty());
        assert!(told(None, "--rw=write").is_empty());
    }
}
