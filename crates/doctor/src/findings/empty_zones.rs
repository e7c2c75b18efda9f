//! `empty-zones`: a job that reads zones, and none of them holds data.

use fiord_job::option::table::READ_BEYOND_WP;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;

pub(crate) const CHECK: Check = Check {
    id: "empty-zones",
    severity: Severity::Suspect,
    title: "zones that hold no data to read",
    about: "With `zonemode=zbd`, a job reads only the data before the write pointers of its \
            zones. If all zones are empty, there is nothing to read: the job ends at once and \
            without an error, because a reader beside a writer must not end the run. Its numbers \
            describe no I/O, or only what it read before the zones were reset.",
    detection: "A job that only reads found no zone with data, and no other job was writing one. \
                The check is silent with `read_beyond_wp=1`. While a writer runs, the job waits \
                for data instead.\n\n\
                Zones that fiord emulates on a block device, or on a file that a job of the run \
                writes, are empty when the run begins, as in fio. On a file that the run only \
                reads, each emulated zone holds the data from its start to the first hole.",
    effect: "The job does no I/O: 4 KiB random reads of an emulated zone on a loop device end \
             after 0 ms with 0 IOPS.",
    remedy: "write the zones first: on a zoned device, with a job that writes; with emulated \
             zones, in an earlier job of the same run (`stonewall`). Or set `read_beyond_wp=1` to \
             read beyond the write pointers.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
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
            "write the zones in an earlier job of the same run (with stonewall in this one), or set \
             read_beyond_wp=1",
        )
    } else {
        ("", "write the zones first (rw=write over the same range), or set read_beyond_wp=1")
    };
    let mut said = SaidNumbers::default();
    CHECK
        .for_job(job, format!("job {} found no zone that holds data to read", job.identity.name))
        .evidence(format!(
            "it completed {} before it ended{why}",
            said.things("reads", reads, "read")
        ))
        .numbers(said)
        .remedy(remedy)
        .option(READ_BEYOND_WP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::after;

    #[test]
    fn reports_readers_that_found_no_data() {
        let found = |line: &str, times: u64| {
            let job = "--size=4m --ioengine=null --zonemode=zbd --zonesize=1m --name=a";
            after(&CHECK, &format!("{job} {line}"), &|job| job.nothing_to_read = times)
        };
        let reported = found("--rw=randread", 1);
        assert!(reported[0].evidence.contains("are empty when a run begins"), "{reported:?}");
        assert!(reported[0].remedy.contains("stonewall"), "{reported:?}");
        assert!(found("--rw=randread", 0).is_empty());
        assert!(found("--rw=randrw", 1).is_empty());
    }
}
