//! `zero-data`: the data that jobs read consists mostly of zeros.

use std::ops::Range;

use fiord_job::option::table::FILENAME;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::finding::Severity;
use fiord_types::{Bytes, Dir};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::fill::{fill, fill_zones};
use crate::evidence::touched::{Spread, extent as extent_of, reads};
use crate::machine::SampledBlocks;

pub(crate) const CHECK: Check = Check {
    id: "zero-data",
    severity: Severity::Suspect,
    title: "reads that return zeros",
    about: "A thin volume, a new namespace or a trimmed drive knows which blocks were never \
            written, and answers reads of them with zeros without accessing the medium. Storage \
            that compresses does the same for blocks of zeros that were written.",
    detection: "After the run, fiord reads up to 16 blocks of 4 KiB, spread over the bytes that \
                a job read (a sequential job that ended early read only the beginning of its range), once more (it reads nothing extra during the run, and keeps nothing of \
                what jobs read). If the run removes the file, fiord reads these blocks before the \
                run. It reads for 50 ms, and for 150 ms if the devices are slow; if that is too short for four blocks \
                of a file, the finding is not checked. The finding is reported if more than half of these blocks hold \
                only zeros; each device or file has its own finding. The check is silent for \
                devices and files that the run writes, for jobs that read nothing, and if \
                `unwritten-data` already covers the file.",
    effect: "A loop device over a sparse file, which behaves like a thin device: 4 KiB random \
             reads with `direct=1` and `psync` reached 15.0k IOPS before it was written and 0.6k \
             afterwards.",
    remedy: "write the whole target once, if nothing on it is needed: `rw=write` with `bs=1m` \
             over the device, as in `examples/precondition-drives.fio`, overwrites all data on it.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let before = known.before.samples.iter().map(|sample| (sample, "read before the run"));
    let after = known.after.samples.iter().map(|sample| (sample, "read again after the run"));
    let samples: Vec<(&SampledBlocks, &str)> = before.chain(after).collect();
    let entries = known.entries();
    let reads = reads(known.plan, &known.report.courses);
    if let Some(unavailable) = known.after.files.left_out().filter(|_| !samples.is_empty()) {
        findings.unavailable(&CHECK, unavailable);
    }
    for (sample, when) in samples {
        let job = known.plan.jobs.get(sample.job.get());
        let Some(job) = job.filter(|job| did_read(&entries, job)) else { continue };
        let file = job.target.files.iter().find(|file| file.path == sample.path);
        let Some(&(looked, zero)) = findings.available(&CHECK, &sample.zeros) else { continue };
        let Some(read) = file.and_then(|file| reads.of(job).touched(file)) else { continue };
        // Before the run, it is not known how much of its range a job will read.
        let more = sample.range.start < read.from || sample.range.end > read.to;
        // The job may have read other parts of the range than the samples.
        let other = read.spread == Spread::Unknown && zero < looked;
        if zero * 2 <= looked || more || other || holes(known, sample) {
            continue;
        }
        let extent = match read.spread {
            Spread::Whole => sample.range.clone(),
            Spread::Even | Spread::Unknown => read.from..read.to,
        };
        let extent = extent_of(&sample.path, extent, Dir::Read, read.spread);
        let finding = finding(job, sample, when, looked, zero);
        findings.report_if(finding.map(|finding| finding.extent(extent)));
    }
}

/// Returns whether the file system knows that some of the range was never written: `unwritten-data` reports that.
fn holes(known: &After<'_>, sample: &SampledBlocks) -> bool {
    let data = known.before.file(&sample.path).and_then(|state| state.data.as_ref()?.as_ref().ok());
    let Range { start, end } = sample.range;
    data.is_some_and(|data| data.bytes_in(start, end) < end.saturating_sub(start))
}

/// Returns whether a job read anything. A job without a printed result counts as one that did.
fn did_read(entries: &[Entry<'_>], job: &JobPlan) -> bool {
    let own = |entry: &&Entry<'_>| {
        entry.jobs.iter().any(|other| other.identity.index == job.identity.index)
    };
    let entry = entries.iter().find(own);
    entry.is_none_or(|entry| entry.report.dirs.iter().any(|row| row.io_bytes > Bytes::ZERO))
}

fn finding(
    job: &JobPlan,
    sample: &SampledBlocks,
    when: &str,
    looked: u64,
    zero: u64,
) -> Option<FindingBuilder> {
    let path = sample.path.display();
    let file = job.target.files.iter().find(|file| file.path == sample.path)?;
    let why = match sample.kind {
        FileKind::Block => "a thin or trimmed device answers such reads without its medium",
        _ => "storage that compresses does not store them",
    };
    let mut said = SaidNumbers::default();
    let what = match zero == looked {
        true => format!("all sampled blocks of {path} hold only zeros"),
        false => format!(
            "{} of the sampled blocks of {path} hold only zeros",
            said.percent("share", zero as f64 / looked as f64)
        ),
    };
    let finding = CHECK
        .for_job(job, what)
        .evidence(format!(
            "{} of {} blocks {when}; {why}",
            said.exact("zero_blocks", zero),
            said.exact("blocks", looked)
        ))
        .numbers(said)
        .remedy(match file.zones.is_some_and(|zones| zones.emulated.is_none()) {
            true => fill_zones(&file.path),
            false => fill(&file.path, sample.range.clone(), true),
        })
        .option(FILENAME);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{JobReport, Report};

    use super::*;
    use crate::tests::fixture::{found_after, plan, scratch};
    use crate::{survey_after, survey_before};

    fn reported(byte: u8, line: &str) -> usize {
        found(&vec![byte; 1 << 20], line).len()
    }

    fn found(data: &[u8], line: &str) -> Vec<fiord_stat::finding::Finding> {
        let path = scratch();
        std::fs::write(&path, data).unwrap();
        let (plan, _) = plan(&format!("--name=a --size=1m --filename={} {line}", path.display()));
        let (before, machine) = (survey_before(&plan), survey_after(&plan, &[]));
        let report = Report::default();
        let known = After { plan: &plan, before: &before, after: &machine, report: &report };
        let found = found_after(&CHECK, &known);
        let _ = std::fs::remove_file(path);
        found
    }

    #[test]
    fn the_finding_states_the_share_of_zeros() {
        let half = |bytes: usize| {
            let mut data = vec![0; 1 << 20];
            data[..bytes].fill(1);
            found(&data, "--rw=randread")
        };
        let found = half(256 << 10);
        assert!(found[0].what.starts_with("75 % of "), "{found:?}");
        let remedy = "write the range first, which destroys the data in it: fiord --name=fill";
        assert!(found[0].remedy.starts_with(remedy), "{found:?}");
        assert!(half(768 << 10).is_empty());
    }

    #[test]
    fn silent_for_a_job_that_read_nothing_and_a_file_that_it_creates_and_removes() {
        let idle = JobReport { members: 1, ..JobReport::default() };
        let report = Report { jobs: vec![idle], ..Report::default() };
        let line = |more: &str| format!("--name=a --size=1m --rw=read --filename=none {more}");
        let findings = |report: &Report, more: &str| {
            let (plan, _) = plan(&line(more));
            let (before, machine) = (survey_before(&plan), survey_after(&plan, &[]));
            let mut findings = CollectedFindings::default();
            let known = After { plan: &plan, before: &before, after: &machine, report };
            after(&known, &mut findings);
            findings.unchecked().len()
        };
        assert_eq!(findings(&report, ""), 0);
        assert_eq!(findings(&Report::default(), ""), 1, "the file is not there");
        assert_eq!(findings(&Report::default(), "--unlink=1"), 0);
    }

    #[test]
    fn reports_zeros_that_jobs_only_read() {
        assert_eq!(reported(0, "--rw=randread"), 1);
        assert_eq!(reported(7, "--rw=randread"), 0);
        assert_eq!(reported(0, "--rw=randrw"), 0);
    }

    #[test]
    fn only_the_bytes_that_the_job_reads_are_sampled() {
        let mut data = vec![0; 1 << 20];
        data[..64 << 10].fill(7);
        assert_eq!(found(&data, "--rw=read --io_size=64k").len(), 0);
        assert_eq!(found(&data, "--rw=read --io_size=64k --unlink=1").len(), 0);
        let found = found(&data, "--rw=read --io_size=256k");
        assert!(found[0].what.starts_with("75 % of"), "{found:?}");
        assert!(found[0].remedy.contains("--size=262144 "), "{found:?}");
    }
}
