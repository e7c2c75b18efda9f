//! `empty-zones`: a job that reads zones, and none of them holds data.

use fiord_plan::{Dir, FileKind, JobPlan};
use fiord_stat::finding::Severity;

use crate::amount::count;
use crate::check::Entry;
use crate::{After, Check, FindingBuilder, Findings};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "empty-zones",
    severity: Severity::Suspect,
    title: "zones that hold no data to read",
    about: "With `zonemode=zbd` a job reads what lies before the write pointers of its zones. Where \
            all of them are empty there is nothing to read: the job ends at once, without an error, \
            because a reader next to a writer must not end the run. Its numbers describe no I/O, or \
            only what it read before the zones were reset.",
    detection: "A job that only reads looked for a zone with data, and neither found one nor was there \
           another job that was writing one. It is silent with `read_beyond_wp=1`, and while a \
           writer runs: then the job waits for data.\n\nZones that are emulated on a block device \
           or on a file that a job of the run writes are empty when the run begins, as in fio. On a \
           file that the run only reads, each zone holds the data from its start up to the first \
           hole.",
    effect: "The job makes no I/O: 4 KiB random reads of an emulated zone on a loop device end \
             after 0 ms with 0 IOPS.",
    remedy: "Write the zones first: on a zoned device with a job that writes, with emulated zones in an \
           earlier job of the same run (`stonewall`). Or read beyond the write pointers: \
           `read_beyond_wp=1`.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    for entry in known.entries().iter().filter(|entry| entry.report.nothing_to_read > 0) {
        findings.report_if(
            entry.jobs.iter().find(|job| only_reads(job)).map(|job| builder(entry, job)),
        );
    }
}

fn only_reads(job: &JobPlan) -> bool {
    job.load.zoned.is_some() && job.load.mix.has(Dir::Read) && !job.load.mix.has(Dir::Write)
}

fn builder(entry: &Entry<'_>, job: &JobPlan) -> FindingBuilder {
    let reads: u64 = entry.report.dirs.iter().map(|row| row.total_ios).sum();
    let emulated = |kind: FileKind| {
        let mut files = job.target.files.iter();
        files.any(|file| file.kind == kind && file.zones.is_some_and(|z| z.emulated.is_some()))
    };
    let (why, remedy) = if emulated(FileKind::Block) || emulated(FileKind::Virtual) {
        (
            "; emulated zones are empty when a run begins",
            "an earlier job of the same run that writes the zones (with stonewall in this one), or \
             read_beyond_wp=1",
        )
    } else {
        ("", "zones that are written first (rw=write over the same range), or read_beyond_wp=1")
    };
    CHECK
        .for_job(job, format!("job {} found no zone that holds data to read", job.identity.name))
        .evidence(format!("{} reads were made before it ended{why}", count(reads as f64)))
        .remedy(remedy)
        .option("read_beyond_wp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::after;

    #[test]
    fn reports_jobs_that_only_read_and_found_nothing() {
        let found = |line: &str, times: u64| {
            let job = "--size=4m --ioengine=null --zonemode=zbd --zonesize=1m --name=a";
            after(&CHECK, &format!("{job} {line}"), &|job| job.nothing_to_read = times)
        };
        let told = found("--rw=randread", 1);
        assert!(told[0].evidence.contains("are empty when a run begins"), "{told:?}");
        assert!(told[0].remedy.contains("stonewall"), "{told:?}");
        assert!(found("--rw=randread", 0).is_empty());
        assert!(found("--rw=randrw", 1).is_empty());
    }
}
