//! `log-bound`: the jobs waited because their logs were not written fast enough.

use fiord_job::option::table::LOG_AVG_MSEC;
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;

/// Share of the run time from which on a wait is reported.
const MUCH: f64 = 0.01;

pub(crate) const CHECK: Check = Check {
    id: "log-bound",
    severity: Severity::Suspect,
    title: "the jobs waited for their logs",
    about: "A thread writes the rows of logs while the jobs run, and a job that is faster than this \
            thread or than the disk under the logs waits: no row is lost, and memory is bounded. \
            The result is then that of the log and not of the device. Completed I/Os also wait \
            longer before the job reaps them, which makes their latencies too long.",
    detection: "The threads of the job waited for the writer of its logs for at least 1 % of their \
                run time.",
    effect: "On a machine with two CPUs that was busy with other work, `ioengine=null` reached 4.2 \
             million IOPS without logs and 1.6 million with `write_lat_log`. It waited for 70 % of the \
             time.",
    remedy: "log windows instead of I/Os (`log_avg_msec`), write fewer logs, or put them on a \
             faster disk or on a tmpfs.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.entries().iter().filter_map(finding));
}

fn finding(entry: &Entry<'_>) -> Option<FindingBuilder> {
    let report = entry.report;
    let (waited, ran) = (report.delays.log.0 as f64, report.runtime.0 as f64);
    if ran <= 0.0 || waited < ran * MUCH {
        return None;
    }
    let job = entry.jobs[0];
    let windows = job.log.as_ref().is_some_and(|log| log.window.is_some());
    let remedy = match windows {
        true => {
            "make the windows longer (log_avg_msec, log_hist_msec), or put the logs on a faster disk"
        }
        false => {
            "set log_avg_msec, which logs windows instead of I/Os, or put the logs on a faster disk or on a tmpfs"
        }
    };
    let what = format!("{} waited for the logs", entry.subject());
    let mut said = SaidNumbers::default();
    let evidence = format!(
        "its threads waited {} of {} ({}) until the rows before were written",
        said.time("waited", waited),
        said.time("run_time", ran),
        said.percent("share", waited / ran)
    );
    let finding = CHECK.for_entry(entry, what).evidence(evidence).remedy(remedy);
    Some(finding.numbers(said).option(LOG_AVG_MSEC))
}

#[cfg(test)]
mod tests {
    use fiord_types::Nanos;

    use super::*;
    use crate::tests::fixture::after;

    fn reported(options: &str, waited_ms: u64) -> Vec<fiord_stat::finding::Finding> {
        let line = format!("--name=a --ioengine=null --size=1m --write_lat_log=x {options}");
        after(&CHECK, &line, &|report| {
            report.runtime = Nanos::from_secs(2);
            report.delays.log = Nanos::from_millis(waited_ms);
        })
    }

    #[test]
    fn reports_a_wait_of_one_per_cent() {
        assert_eq!(reported("", 0), []);
        assert_eq!(reported("", 19), []);
        let found = reported("", 500);
        assert!(found[0].evidence.contains("25"), "{found:?}");
        assert!(found[0].remedy.contains("set log_avg_msec"), "{found:?}");
        assert!(!reported("--log_avg_msec=1", 500)[0].remedy.contains("instead of I/Os"));
    }
}
