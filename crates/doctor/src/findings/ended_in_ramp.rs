//! `ended-in-ramp`: a job ended before its ramp was over, so nothing was measured.

use fiord_job::option::table::{RAMP_SIZE, RAMP_TIME};
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_types::{Bytes, Dir, Nanos};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::setting::set;

pub(crate) const CHECK: Check = Check {
    id: "ended-in-ramp",
    severity: Severity::Invalid,
    title: "a job that ended within its ramp",
    about: "`ramp_time` and `ramp_size` leave the beginning of a job out of the report. A job that ends before \
            its ramp is over, for example because its `size` is small, leaves everything out: the report shows no \
            I/O, although the job did some. fio reports the I/Os of the ramp in this case.",
    detection: "A job with `ramp_time` or `ramp_size` ended without an error, none of its I/Os is in the report, \
                and its samples over time show that it did I/O in the ramp.",
    effect: "The report of the job is empty.",
    remedy: "set a shorter `ramp_time`, or let the job run longer: `time_based` with a `runtime`, or a larger `size` \
             or `io_size`. `runtime` does not include the ramp.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    known.entries().iter().for_each(|entry| findings.report_if(finding(entry)));
}

fn finding(entry: &Entry<'_>) -> Option<FindingBuilder> {
    let report = entry.report;
    let ramped = |job: &JobPlan| job.end.ramp_time > Nanos::ZERO || job.end.ramp_size > Bytes::ZERO;
    let measured = report.dirs.iter().any(|row| row.total_ios > 0);
    let ios: u64 =
        Dir::ALL.iter().flat_map(|dir| report.samples.dir(*dir)).map(|sample| sample.ios()).sum();
    if report.failed || measured || ios == 0 || !entry.jobs.iter().all(|job| ramped(job)) {
        return None;
    }
    let job = entry.jobs[0];
    let took = report.samples.end().saturating_sub(report.samples.begin());
    let by_time = job.end.ramp_time > Nanos::ZERO;
    let mut said = SaidNumbers::default();
    let (ios, time) = (said.things("ios", ios, "I/O"), said.time("took", took.as_f64()));
    let ramp = match by_time {
        true => format!("ramp_time is {}", said.time("ramp", job.end.ramp_time.as_f64())),
        false => format!("ramp_size is {}", said.bytes("ramp", job.end.ramp_size)),
    };
    // Half of what the job did is then measured.
    let moved: Bytes =
        Dir::ALL.iter().flat_map(|dir| report.samples.dir(*dir)).map(|sample| sample.bytes()).sum();
    let each = moved / entry.jobs.len() as u64 / 2;
    let shorter = match by_time {
        true => set(RAMP_TIME, format!("{}us", took.as_micros() / 2)),
        false => set(RAMP_SIZE, each),
    };
    let finding = CHECK
        .for_entry(
            entry,
            format!("{} ended within the ramp, so nothing was measured", entry.subject()),
        )
        .evidence(format!("it made {ios} in {time}, and {ramp}"))
        .numbers(said)
        .remedy(format!("set {shorter}, or time_based with a runtime, or a larger io_size"))
        .settings(Some(shorter).filter(|_| entry.is_one_section()))
        .option(if by_time { RAMP_TIME.def() } else { RAMP_SIZE.def() });
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{DirKind, JobReport};
    use fiord_stat::samples::{MIN_WINDOW, SampleLatencies, Samples, WindowSample};
    use fiord_types::PerDir;

    use super::*;
    use crate::tests::fixture::{after, row};

    fn found(more: &str, set: &dyn Fn(&mut JobReport)) -> Vec<String> {
        let line = format!("--name=a --ioengine=sim --rw=randread --size=1g --io_size=40k {more}");
        let found = after(&CHECK, &line, &|job| {
            let mut dirs = PerDir::<Vec<WindowSample>>::default();
            dirs[Dir::Read] =
                vec![WindowSample::new(10, Bytes(40 << 10), SampleLatencies::default())];
            let end = MIN_WINDOW;
            job.samples = Samples::new(Nanos::ZERO, end, end, MIN_WINDOW, dirs);
            set(job);
        });
        found.into_iter().map(|finding| finding.evidence).collect()
    }

    #[test]
    fn a_job_that_did_all_its_ios_in_the_ramp_is_reported() {
        let empty = |_: &mut JobReport| {};
        let evidence = "it made 10 I/Os in 31.2 ms, and ramp_time is 1.0 s";
        assert_eq!(found("--ramp_time=1", &empty), [evidence]);
        assert!(found("--ramp_size=1m", &empty)[0].ends_with("ramp_size is 1.0 MiB"));
        assert!(found("", &empty).is_empty());
        assert!(found("--ramp_time=1", &|job| job.failed = true).is_empty());
        let measured = |job: &mut JobReport| job.dirs = vec![row(DirKind::Read, 10.0, 1)];
        assert!(found("--ramp_time=1", &measured).is_empty());
        assert!(found("--ramp_time=1", &|job| job.samples = Samples::default()).is_empty());
    }
}
