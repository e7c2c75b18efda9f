//! `bad-data`: verification found data that is not what was written.

use std::path::Path;

use fiord_job::option::table::VERIFY;
use fiord_stat::finding::{BAD_DATA, Severity};
use fiord_stat::verify::{FileExtent, VerifyResults};
use fiord_types::Dir;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::touched::{Spread, extent};

pub(crate) const CHECK: Check = Check {
    id: BAD_DATA,
    severity: Severity::Invalid,
    title: "data that is not what was written",
    about: "A job with `verify` read blocks back that do not hold what was written to them. The \
            storage, or something on the way to it, lost, changed or misplaced data. Nothing else \
            in the report matters as much, so this finding is always the first one.",
    detection: "Verification found at least one bad extent: during the run (`verify_backlog`), \
                after the writes, in a run that only checks (`verify_only`, reads with `verify`), \
                or on any host. Jobs that continue after bad data (`continue_on_error=verify`) end \
                without an error, and this finding is what tells scripts (`--findings=fatal`).",
    effect: "The data on the target is damaged.",
    remedy: "find what damaged the data before anything else: each bad extent has a class, a place \
             and an explanation (`fiord.verify` in JSON, `Verification` on the page). `verify_dump=1` \
             keeps what was read and what was expected. `dmesg` and the SMART log of the device may \
             name the cause.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    // Instances of one job share a finding.
    let mut all: Vec<(Entry<'_>, VerifyResults)> = Vec::new();
    for entry in known.all_entries() {
        let Some(results) = &entry.report.verify else { continue };
        let section = |entry: &Entry<'_>| entry.jobs[0].identity.section;
        match all.iter_mut().find(|(first, _)| section(first) == section(&entry)) {
            Some((_, sum)) => sum.merge(results),
            None => all.push((entry, results.clone())),
        }
    }
    findings.report_all(all.iter().filter_map(|(entry, results)| finding(entry, results)));
}

fn finding(entry: &Entry<'_>, results: &VerifyResults) -> Option<FindingBuilder> {
    let extents: u64 = results.counts().values().map(|count| count.extents()).sum();
    if extents == 0 {
        return None;
    }
    let mut said = SaidNumbers::default();
    let word = if extents == 1 { "extent" } else { "extents" };
    let what = format!(
        "{} {word} of {}, {} in all, are not what was written",
        said.exact("extents", extents),
        entry.subject(),
        said.bytes("damaged", results.bad_bytes())
    );
    let classes = results.counts().iter().map(|(class, count)| {
        let word = class.word();
        let amount = said.bytes(&format!("{word}_bytes"), count.bytes);
        format!("{} {word} ({amount})", said.exact(word, count.extents()))
    });
    let classes: Vec<String> = classes.collect();
    let first = results.extents().first().map(|extent| format!("; the first: {extent}"));
    let finding = CHECK
        .for_entry(entry, what)
        .evidence(format!("{}{}", classes.join(", "), first.unwrap_or_default()))
        .numbers(said)
        .remedy(
            "find what damaged the data: verify_dump=1 keeps what was read, and `dmesg` and the \
             SMART log of the device may name the cause",
        )
        .option(VERIFY);
    let read = |bad: &FileExtent| {
        let range = bad.extent.start..bad.extent.end();
        extent(Path::new(&bad.file), range, Dir::Read, Spread::Whole)
    };
    Some(results.extents().iter().map(read).fold(finding, FindingBuilder::extent))
}

#[cfg(test)]
mod tests {
    use fiord_formats::integrity::diagnosis::{BadExtent, Diagnosis};
    use fiord_types::Bytes;

    use super::*;
    use crate::tests::fixture::after;

    #[test]
    fn each_job_with_bad_extents_is_reported() {
        let line = "--name=a --ioengine=sim --rw=write --size=1m --verify=fiord";
        let bad = |kib: &[u64]| {
            after(&CHECK, line, &|job| {
                let mut results = VerifyResults::default();
                for kib in kib {
                    let (start, length) = (Bytes::from_kib(*kib), Bytes::from_kib(4));
                    let diagnosis = Diagnosis::Blank { ones: false };
                    results.add("f", BadExtent { start, length, diagnosis }, None);
                }
                results.finish();
                job.verify = Some(results);
            })
        };
        assert!(bad(&[]).is_empty());
        let found = bad(&[8, 64]);
        assert_eq!(found[0].what, "2 extents of job a, 8.0 KiB in all, are not what was written");
        assert!(found[0].evidence.starts_with("2 blank (8.0 KiB); the first: f: offset 8192"));
        assert!(bad(&[8])[0].what.starts_with("1 extent of job a"), "{found:?}");
    }
}
