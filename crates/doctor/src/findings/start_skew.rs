//! `start-skew`: the hosts of a run did not start together.

use fiord_stat::finding::Severity;
use fiord_stat::hosts::HostsReport;

use crate::check::{Check, CollectedFindings};
use crate::evidence::amount::{percent, time};
use crate::evidence::hosts::{name, shortest_run};

/// From this share of the shortest run on, the skew is reported.
const NOTABLE: f64 = 0.01;

/// From this share on, the totals are doubtful.
const LARGE: f64 = 0.05;

pub(crate) const CHECK: Check = Check {
    id: "start-skew",
    severity: Severity::Suspect,
    title: "hosts that did not start together",
    about: "While some hosts have not started yet, the others have the shared storage and the network \
            to themselves. The rate of each host then includes a time with less load than the job asks \
            for, and the sum of all hosts is higher than the storage can sustain. If the hosts also end \
            at different times, the total over the whole run is too low instead.",
    detection: "fiord compares the times of the first I/Os on all hosts, converted to the clock of the \
                coordinator. It reports a difference above 1 % of the shortest run of a host (suspect \
                from 5 %), if the difference is larger than the error of the clocks.",
    effect: "Two hosts read for 10 s from storage that does 1000 MB/s in all. If one starts 2 s late, each \
             has 1000 MB/s to itself for 2 s and 500 MB/s for 8 s. Each reports 600 MB/s, and their sum \
             is 1200 MB/s. The rate while both ran is 1000 MB/s.",
    remedy: "use the rate that fiord reports for the time in which every host was running; a longer \
             run makes the difference smaller. If a host starts late because its CPUs are busy, leave it \
             idle CPUs.",
    lint: None,
    before: None,
    after: None,
    hosts: Some(hosts),
};

fn hosts(report: &HostsReport, findings: &mut CollectedFindings) {
    let (Some(start), Some(shortest)) = (&report.start, shortest_run(report)) else { return };
    let error = start.clock_error.unwrap_or_default().saturating_mul(2);
    let share = start.skew.as_f64() / shortest.as_f64();
    if share < NOTABLE || start.skew <= error {
        return;
    }
    let skew = time(start.skew.as_f64());
    let worst = if share < LARGE { Severity::Note } else { Severity::Suspect };
    findings.report(
        CHECK
            .for_run(format!(
                "the hosts did not start together: {} was last",
                name(report, start.last)
            ))
            .evidence(format!(
                "the first I/Os of the hosts are {skew} apart, {} of the shortest run",
                percent(share)
            ))
            .remedy("use the rate of the time in which every host was running, or a longer run")
            .at_most(worst),
    );
}

#[cfg(test)]
mod tests {
    use fiord_types::Nanos;

    use super::*;
    use crate::tests::hosts::{found, host, run};

    #[test]
    fn a_late_host_is_named_unless_the_clocks_are_worse() {
        let mut report = run(vec![host("a", 1000.0), host("b", 1000.0)]);
        assert_eq!(found(&CHECK, &report), []);
        let start = report.start.as_mut().unwrap();
        (start.skew, start.last) = (Nanos::from_millis(2000), fiord_types::HostIndex(1));
        let finding = &found(&CHECK, &report)[0];
        assert_eq!(finding.what, "the hosts did not start together: b was last");
        assert!(finding.evidence.contains("2.0 s apart, 20 %"), "{}", finding.evidence);
        assert_eq!(finding.severity, Severity::Suspect);
        report.start.as_mut().unwrap().skew = Nanos::from_millis(200);
        assert_eq!(found(&CHECK, &report)[0].severity, Severity::Note);
        report.start.as_mut().unwrap().clock_error = Some(Nanos::from_millis(100));
        assert_eq!(found(&CHECK, &report), []);
    }
}
