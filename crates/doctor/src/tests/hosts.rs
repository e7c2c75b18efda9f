//! Reports of runs on many hosts.

use fiord_stat::finding::Finding;
use fiord_stat::hosts::{ClockError, HostFacts, HostReport, HostTotal, HostsReport, HostsStart};
use fiord_stat::report::{JobReport, Report};
use fiord_types::{Bytes, Nanos};

use crate::check::{Check, CollectedFindings};

/// A host that ran for 10 s and moved `iops` blocks of 4 KiB each second.
pub(crate) fn host(name: &str, iops: f64) -> HostReport {
    let facts = HostFacts {
        kernel: "6.12".into(),
        cpus: Some(8),
        memory: Bytes(64 << 30),
        ..HostFacts::default()
    };
    let runtime = Nanos::from_secs(10);
    let bw = Bytes((iops * 4096.0) as u64);
    let jobs = vec![JobReport { name: "a".into(), members: 1, ..JobReport::default() }];
    HostReport {
        name: name.into(),
        facts: Some(facts),
        report: Some(Report { jobs, ..Report::default() }),
        clock: Some(ClockError { bound: Nanos(900), round_trip: Nanos(1700) }),
        started: Some(Nanos::ZERO),
        finished: Some(runtime),
        total: Some(HostTotal { bytes: bw.saturating_mul(10), runtime, iops, bw }),
        complete: true,
        status: Some(0),
        ..HostReport::default()
    }
}

/// A run of these hosts, which started within 10 us.
pub(crate) fn run(hosts: Vec<HostReport>) -> HostsReport {
    let skew = Nanos::from_micros(10);
    let start = HostsStart { skew, clock_error: Some(Nanos(900)), ..HostsStart::default() };
    HostsReport { start: Some(start), hosts, ..HostsReport::default() }
}

/// Returns the findings of a check for a run on many hosts.
pub(crate) fn found(check: &Check, report: &HostsReport) -> Vec<Finding> {
    let mut findings = CollectedFindings::default();
    let stage = check.hosts.expect("a check of many hosts");
    stage(report, &mut findings);
    findings.findings().cloned().collect()
}

#[test]
fn a_run_that_was_refused_has_no_findings() {
    let mut report = run(vec![host("a", 1000.0), host("b", 1000.0)]);
    report.hosts[1].complete = false;
    assert_eq!(crate::of_hosts(&report).findings().count(), 1);
    report.refused = true;
    assert_eq!(crate::of_hosts(&report).findings().count(), 0);
}
