//! The findings of all hosts as one list: a finding that several hosts have is written once.

use std::collections::HashMap;

use fiord_stat::finding::{Finding, Unchecked};
use fiord_stat::hosts::HostsReport;

/// Maximum number of hosts that are named.
const MAX_NAMES: usize = 4;

/// Returns the findings about the run as a whole and those of each host, the worst first, and what could not be checked.
pub(super) fn of_all(report: &HostsReport) -> (Vec<Finding>, Vec<Unchecked>) {
    let mut findings = report.all.extras.findings.clone();
    findings.extend(own_findings(report));
    findings.sort_by_key(|finding| finding.rank());
    let mut unchecked = report.all.extras.unchecked.clone();
    unchecked.extend(own_gaps(report));
    (findings, unchecked)
}

/// Items in the order in which they first occur, with the names of their hosts.
struct Merged<'a, T, K> {
    items: Vec<(&'a T, Vec<&'a str>)>,
    places: HashMap<K, usize>,
}

impl<'a, T, K: std::hash::Hash + Eq> Merged<'a, T, K> {
    fn of(all: impl Iterator<Item = (&'a str, &'a T)>, key: impl Fn(&'a T) -> K) -> Self {
        let mut merged = Merged { items: Vec::new(), places: HashMap::new() };
        for (host, item) in all {
            let next = merged.items.len();
            let place = *merged.places.entry(key(item)).or_insert(next);
            if place == next {
                merged.items.push((item, Vec::new()));
            }
            merged.items[place].1.push(host);
        }
        merged
    }
}

fn own_findings(report: &HostsReport) -> Vec<Finding> {
    let all = super::reports(report).flat_map(|(host, own)| {
        own.extras.findings.iter().map(move |finding| (host.name.as_str(), finding))
    });
    let key = |f: &'_ Finding| (f.id.clone(), f.severity, f.job.clone(), f.what.clone());
    let merged = Merged::of(all, key);
    let one = |(finding, hosts): (&Finding, Vec<&str>)| {
        let what = format!("{}: {}", names(&hosts), finding.what);
        let evidence = match hosts.as_slice() {
            [first, _, ..] if !finding.evidence.is_empty() => {
                format!("on {first}: {}", finding.evidence)
            }
            _ => finding.evidence.clone(),
        };
        Finding { what, evidence, ..finding.clone() }
    };
    merged.items.into_iter().map(one).collect()
}

fn own_gaps(report: &HostsReport) -> Vec<Unchecked> {
    let all = super::reports(report).flat_map(|(host, own)| {
        own.extras.unchecked.iter().map(move |gap| (host.name.as_str(), gap))
    });
    let merged = Merged::of(all, |gap: &Unchecked| (gap.id.clone(), gap.why.clone()));
    let hosts = super::reports(report).count();
    let one = |(gap, on): (&Unchecked, Vec<&str>)| match on.len() == hosts {
        true => gap.clone(),
        false => Unchecked { why: format!("{} on {}", gap.why, names(&on)), ..gap.clone() },
    };
    merged.items.into_iter().map(one).collect()
}

/// Names hosts: `n1, n2`, or `n1, n2, n3, n4 and 96 more hosts`.
fn names(hosts: &[&str]) -> String {
    match hosts.len().saturating_sub(MAX_NAMES) {
        0 => hosts.join(", "),
        more => format!("{} and {more} more", hosts[..MAX_NAMES].join(", ")),
    }
}
