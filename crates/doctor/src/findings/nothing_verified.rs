//! `nothing-verified`: a job that only checks data, and has checked none.

use fiord_job::option::table::VERIFY;
use fiord_plan::{JobPlan, VerifyPass};
use fiord_stat::finding::Severity;
use fiord_stat::verify::Unverified;
use fiord_types::Bytes;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;

pub(crate) const CHECK: Check = Check {
    id: "nothing-verified",
    severity: Severity::Invalid,
    title: "a job that should have verified data and verified none",
    about: "A job that only reads with `verify`, or that has `verify_only`, checks data that another job or an earlier \
            run wrote. If it finds no such data, it reports no error: there is nothing that could be wrong. Its \
            success says nothing about the target.",
    detection: "The job ended without an error and has verified 0 bytes: what it read was not written by a job of the \
                run, or other jobs had overwritten it with another `verify`; or the state of `verify_state_load` lists \
                no write that must be complete. `verify=null` checks nothing, and the check is silent about it.",
    effect: "A job with `rw=read` beside one that begins to write the same new file later: the read job verifies 0 of \
             1,048,576 bytes and has the exit status 0. After `stonewall` it verifies all of them.",
    remedy: "start the job after the one that writes the data (`stonewall`), with the same offset, size, block size and \
             `verify`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let entries = known.entries();
    findings.report_all(entries.iter().filter_map(builder));
}

/// Whether a job only checks what another job, or an earlier run, wrote.
fn only_checks(job: &JobPlan) -> bool {
    job.verify.as_ref().is_some_and(|verify| {
        verify.fills() && matches!(verify.pass, VerifyPass::Reads | VerifyPass::Only)
    })
}

fn builder(entry: &Entry<'_>) -> Option<FindingBuilder> {
    let report = entry.report;
    let coverage = &report.verify.as_ref()?.coverage;
    // `empty-zones` says why a job without zones to read has done nothing.
    let told = report.error.is_some() || report.nothing_to_read > 0;
    if told || coverage.verified > Bytes::ZERO || !entry.jobs.iter().all(|job| only_checks(job)) {
        return None;
    }
    let job = entry.jobs.first()?;
    let mut said = SaidNumbers::default();
    let parts: Vec<String> = coverage
        .unverified
        .iter()
        .map(|(why, bytes)| format!("{} {}", said.exact(why.word(), bytes.0), reason(*why)))
        .collect();
    let evidence = match parts.is_empty() {
        true => "it found no data to read".to_owned(),
        false => format!("of {} bytes, {}", coverage.written, parts.join(", ")),
    };
    let what = format!("job {} should have verified data and verified none", job.identity.name);
    let remedy = "start it after the job that writes the data (stonewall), with the same offset, size and verify";
    let finding = CHECK.for_job(job, what).evidence(evidence).remedy(remedy);
    Some(finding.numbers(said).option(VERIFY))
}

/// Why bytes were not checked, in words.
fn reason(why: Unverified) -> &'static str {
    match why {
        Unverified::NeverWritten => "had not been written by a job of the run",
        Unverified::Overwritten => "had been overwritten by other jobs",
        Unverified::Trimmed => "had been trimmed",
        Unverified::InFlight => "belong to writes that may be incomplete",
        Unverified::Failed => "belong to writes that failed",
        Unverified::RuntimeEnded => "were left when runtime ended",
        Unverified::NotAsked | Unverified::JobFailed => "were left out",
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::JobReport;
    use fiord_stat::verify::VerifyResults;

    use super::*;
    use crate::tests::fixture::after;

    fn checked(job: &mut JobReport, verified: u64, unwritten: u64) {
        let mut results = VerifyResults::default();
        results.coverage.verified = Bytes(verified);
        results.coverage.written = Bytes(verified + unwritten);
        results.coverage.skip(Unverified::NeverWritten, Bytes(unwritten));
        job.verify = Some(results);
    }

    #[test]
    fn reports_jobs_that_checked_nothing() {
        let found = |line: &str, verified: u64, unwritten: u64| {
            let job = format!("--name=a --ioengine=sim --size=1m {line}");
            after(&CHECK, &job, &|job| checked(job, verified, unwritten))
        };
        let reported = found("--rw=read --verify=md5", 0, 4096);
        assert!(reported[0].evidence.contains("4096 had not been written"), "{reported:?}");
        assert!(found("--rw=read --verify=md5", 0, 0)[0].evidence.contains("no data to read"));
        assert!(found("--rw=read --verify=md5", 4096, 4096).is_empty());
        assert!(found("--rw=write --verify=md5", 0, 0).is_empty(), "the job writes");
        assert!(found("--rw=read --verify=null", 0, 0).is_empty());
    }
}
