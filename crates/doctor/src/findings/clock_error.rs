//! `clock-error`: the clocks of the hosts could not be compared well.

use fiord_stat::finding::Severity;
use fiord_stat::hosts::HostsReport;
use fiord_types::Nanos;

use crate::check::{Check, CollectedFindings};
use crate::evidence::amount::time;
use crate::evidence::hosts::name;
use crate::machine::Unavailable;

/// The error from which on the start of the hosts cannot be called simultaneous.
const LARGE: Nanos = Nanos::from_millis(1);

pub(crate) const CHECK: Check = Check {
    id: "clock-error",
    severity: Severity::Suspect,
    title: "clocks of hosts that could not be compared well",
    about: "All hosts begin at one time, each by its own clock. To do so, and to put the results of all \
            hosts on one time line, the coordinator must know how far the clock of each host is from its \
            own. It cannot know that better than half of the round trip of a message. With a large error, \
            the hosts may have started further apart than the report says, and the rate of the time in \
            which every host was running is less exact.",
    detection: "The coordinator exchanges 32 messages with each host before and after the run, and keeps \
                the bound that follows from the fastest. fiord reports a bound above 1 ms. The check is \
                silent with one host.",
    effect: "The bound itself: with an error of 20 ms, hosts that seem to start within 1 ms may start up \
             to 41 ms apart.",
    remedy: "run the coordinator close to the hosts, on a network without load, and use a direct \
             connection instead of tunnels and jump hosts.",
    lint: None,
    before: None,
    after: None,
    hosts: Some(hosts),
};

fn hosts(report: &HostsReport, findings: &mut CollectedFindings) {
    let Some(start) = &report.start else { return };
    let Some(error) = start.clock_error else {
        let why = "the clock of a host was not compared".to_owned();
        return findings.unavailable(&CHECK, &Unavailable(why));
    };
    if error <= LARGE {
        return;
    }
    let worst = name(report, start.worst_clock);
    let clock = report.hosts.get(start.worst_clock.get()).and_then(|host| host.clock);
    let round = clock.map_or_else(String::new, |clock| {
        format!("; the fastest round trip to it took {}", time(clock.round_trip.as_f64()))
    });
    findings.report(
        CHECK
            .for_run(format!("the clock of {worst} could not be compared well"))
            .evidence(format!("its error is at most {}{round}", time(error.as_f64())))
            .remedy("run the coordinator close to the hosts, on a network without load"),
    );
}

#[cfg(test)]
mod tests {
    use fiord_stat::hosts::ClockError;

    use super::*;
    use crate::tests::hosts::{found, host, run};

    #[test]
    fn a_slow_connection_is_reported_with_its_round_trip() {
        let mut report = run(vec![host("a", 1000.0), host("b", 1000.0)]);
        assert_eq!(found(&CHECK, &report), []);
        let bound = Nanos::from_millis(20);
        let round_trip = Nanos::from_millis(38);
        report.hosts[1].clock = Some(ClockError { bound, round_trip });
        let start = report.start.as_mut().unwrap();
        (start.clock_error, start.worst_clock) = (Some(bound), fiord_types::HostIndex(1));
        let finding = &found(&CHECK, &report)[0];
        assert_eq!(finding.what, "the clock of b could not be compared well");
        assert!(finding.evidence.ends_with("it took 38 ms"), "{}", finding.evidence);
    }

    #[test]
    fn an_unknown_error_is_listed_as_unchecked() {
        let mut report = run(vec![host("a", 1000.0), host("b", 1000.0)]);
        report.start.as_mut().unwrap().clock_error = None;
        let collected = crate::of_hosts(&report);
        assert_eq!(collected.unchecked()[0].id, "clock-error");
    }
}
