//! `host-lost`: a host has no complete result.

use fiord_stat::finding::Severity;
use fiord_stat::hosts::{HostFailure, HostReport, HostsReport};

use crate::check::{Check, CollectedFindings, FindingBuilder};
use crate::evidence::hosts::names;

pub(crate) const CHECK: Check = Check {
    id: "host-lost",
    severity: Severity::Invalid,
    title: "a host without a complete result",
    about: "A host could not be reached, or was lost during the run. The totals contain \
            only what arrived, and the other hosts had the storage to themselves from then on.",
    detection: "A host did not send all its results: the connection ended, it sent no sign of life for \
                four seconds, or it could not prepare its jobs and the run continued without it. A run that a host \
                refused has \
                no results, and ends with status 1 instead.",
    effect: "All of the work of that host is missing: with 1 of 4 equal hosts lost, the total is a \
             quarter too low, and the other three may be too fast by a third.",
    remedy: "remove the cause that the message names and repeat the run, or leave the host out. \
             With `--on-lost=abort`, a run ends at once when it loses a host.",
    lint: None,
    before: None,
    after: None,
    hosts: Some(hosts),
};

fn hosts(report: &HostsReport, findings: &mut CollectedFindings) {
    let lost: Vec<&HostReport> = report.hosts.iter().filter(|host| !host.complete).collect();
    if let [first, ..] = lost.as_slice() {
        findings.report(finding(&lost, first, report.hosts.len()));
    }
}

fn finding(lost: &[&HostReport], first: &HostReport, all: usize) -> FindingBuilder {
    let names = names(lost.iter().copied());
    let (verb, count) = match lost.len() {
        1 => ("has", "1 host".to_owned()),
        n => ("have", format!("{n} hosts")),
    };
    let cause = |failure: &HostFailure| {
        format!("; {}, {}: {}", first.name, failure.stage.words(), failure.cause())
    };
    let remedy = first.failure.as_ref().and_then(HostFailure::remedy);
    let cause = first.failure.as_ref().map(cause).unwrap_or_default();
    CHECK
        .for_run(format!("{names} {verb} no complete result"))
        .evidence(format!("the totals lack {count} of {all}{cause}"))
        .remedy(remedy.unwrap_or("remove the cause and repeat the run, or leave these hosts out"))
}

#[cfg(test)]
mod tests {
    use fiord_stat::hosts::HostStage;
    use fiord_types::Nanos;

    use super::*;
    use crate::tests::hosts::{found, host, run};

    #[test]
    fn lost_hosts_are_named_with_the_first_cause() {
        let mut report = run(vec![host("a", 1000.0), host("b", 1000.0), host("c", 1000.0)]);
        assert_eq!(found(&CHECK, &report), []);
        let why = "nothing came from it for 4 s".to_owned();
        let failure =
            HostFailure { stage: HostStage::Run, why, at: Nanos::from_secs(3), refused: false };
        report.hosts[1].complete = false;
        report.hosts[1].failure = Some(failure);
        let finding = &found(&CHECK, &report)[0];
        assert_eq!(finding.what, "b has no complete result");
        assert_eq!(
            finding.evidence,
            "the totals lack 1 host of 3; b, while its jobs ran: nothing came from it for 4 s"
        );
        report.hosts[2].complete = false;
        report.hosts[1].failure.as_mut().unwrap().why.push_str(". To fix: plug it in");
        let finding = &found(&CHECK, &report)[0];
        assert_eq!(finding.what, "b and c have no complete result");
        assert_eq!(finding.remedy, "plug it in");
    }
}
