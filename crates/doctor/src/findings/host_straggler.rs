//! `host-straggler`: a host is much slower than the others.

use fiord_stat::finding::Severity;
use fiord_stat::hosts::{HostReport, HostTotal, HostsReport};
use fiord_types::Bytes;

use crate::check::{Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::{bytes, count, percent};
use crate::evidence::hosts::{by, names};

/// A host is a straggler below this share of the median.
const SLOW: f64 = 0.8;

pub(crate) const CHECK: Check = Check {
    id: "host-straggler",
    severity: Severity::Suspect,
    title: "a host that is much slower than the others",
    about: "Hosts with equal jobs should reach about equal rates. If one is much slower, the run measures \
            a problem of this host (a slow link, a busy CPU, a degraded device or path) and not the \
            storage that all of them use. If the jobs end by size, all bytes over the whole time is a rate \
            that the slowest host decides.",
    detection: "The rate of a host is below 80 % of the median of the hosts whose jobs have the same names \
                and options. Only hosts with complete results count.",
    effect: "Eight hosts write 10 GB each, seven at 500 MB/s and one at 100 MB/s. All bytes over the whole \
             time is 800 MB/s, although the hosts wrote 3600 MB/s until the first ones were done.",
    remedy: "compare the findings and the devices of this host with those of the others; use the rate of \
             the time in which every host was running.",
    lint: None,
    before: None,
    after: None,
    hosts: Some(hosts),
};

fn hosts(report: &HostsReport, findings: &mut CollectedFindings) {
    for (_, alike) in by(report, jobs) {
        findings.report_if(slow_of(&alike));
    }
}

/// The name and the options of a job.
type JobText<'a> = (&'a str, &'a [(String, String)]);

/// What a host was asked to do. `None` without complete results.
fn jobs(host: &HostReport) -> Option<Vec<JobText<'_>>> {
    let report = host.report.as_ref().filter(|_| host.complete && host.total.is_some())?;
    Some(report.jobs.iter().map(|job| (job.name.as_str(), job.options.as_slice())).collect())
}

/// The rate of a host: bytes per second, or I/Os per second if no host moves data.
fn rate(total: &HostTotal, data: bool) -> f64 {
    if data { total.bw.as_f64() } else { total.iops }
}

fn slow_of(hosts: &[&HostReport]) -> Option<FindingBuilder> {
    let totals = || hosts.iter().filter_map(|host| host.total.as_ref());
    let data = totals().any(|total| total.bw > Bytes::ZERO);
    let mut rates: Vec<f64> = totals().map(|total| rate(total, data)).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    let median = match rates.len() {
        0 | 1 => return None,
        n if n % 2 == 0 => (rates[middle - 1] + rates[middle]) / 2.0,
        _ => rates[middle],
    };
    let own = |host: &HostReport| host.total.as_ref().map_or(0.0, |total| rate(total, data));
    let mut slow: Vec<&HostReport> =
        hosts.iter().copied().filter(|host| own(host) < SLOW * median).collect();
    slow.sort_by(|a, b| own(a).total_cmp(&own(b)));
    let slowest = *slow.first()?;
    let show = |rate: f64| match data {
        true => format!("{}/s", bytes(Bytes(rate as u64))),
        false => format!("{} IOPS", count(rate)),
    };
    let names = names(slow.iter().copied());
    let verb = if slow.len() == 1 { "is" } else { "are" };
    let finding = CHECK
        .for_run(format!("{names} {verb} much slower than the other hosts"))
        .evidence(format!(
            "{} has {}, {} of the median of {} hosts, {}",
            slowest.name,
            show(own(slowest)),
            percent(own(slowest) / median),
            hosts.len(),
            show(median)
        ))
        .remedy(format!("compare the findings and devices of {} with the others", slowest.name));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hosts::{found, host, run};

    #[test]
    fn only_hosts_far_below_the_median_are_stragglers() {
        let rates = [1000.0, 1010.0, 990.0, 810.0, 700.0];
        let named = |rates: &[f64]| {
            run(rates.iter().enumerate().map(|(n, r)| host(&format!("n{n}"), *r)).collect())
        };
        let finding = &found(&CHECK, &named(&rates))[0];
        assert_eq!(finding.what, "n4 is much slower than the other hosts");
        assert!(finding.evidence.contains("71 % of the median of 5 hosts"), "{}", finding.evidence);
        assert_eq!(found(&CHECK, &named(&rates[..4])), []);
        assert_eq!(found(&CHECK, &named(&[5.0])), []);
        let two = &found(&CHECK, &named(&[100.0, 900.0, 300.0, 1000.0, 950.0]))[0];
        assert!(two.what.starts_with("n0 and n2 are much slower"), "{}", two.what);
    }

    #[test]
    fn hosts_with_other_jobs_are_not_compared() {
        let mut report = run(vec![host("a", 1000.0), host("b", 10.0)]);
        assert_eq!(found(&CHECK, &report).len(), 1);
        report.hosts[1].report.as_mut().unwrap().jobs[0]
            .options
            .push(("rate".into(), "40k".into()));
        assert_eq!(found(&CHECK, &report), []);
    }
}
