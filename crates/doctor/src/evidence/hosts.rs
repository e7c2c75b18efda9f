//! Names and sets of hosts.

use fiord_job::option::table::IGNORE_FINDINGS;
use fiord_stat::hosts::{HostReport, HostsReport};
use fiord_types::{HostIndex, Nanos};

/// Maximum number of hosts that are named.
const MAX_NAMES: usize = 4;

/// Names hosts: `n1`, `n1 and n2`, `n1, n2, n3, n4 and 12 more`.
pub(crate) fn names<'a>(hosts: impl IntoIterator<Item = &'a HostReport>) -> String {
    let names: Vec<&str> = hosts.into_iter().map(|host| host.name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] if names.len() <= MAX_NAMES => format!("{} and {last}", all.join(", ")),
        _ => format!("{} and {} more", names[..MAX_NAMES].join(", "), names.len() - MAX_NAMES),
    }
}

/// The name of the host with an index.
pub(crate) fn name(report: &HostsReport, host: HostIndex) -> &str {
    report.hosts.get(host.get()).map_or("?", |host| &host.name)
}

/// The shortest time that a host with complete results ran, from its first I/O to the end of its last job. `None` if no
/// such time is known.
pub(crate) fn shortest_run(report: &HostsReport) -> Option<Nanos> {
    let complete = report.hosts.iter().filter(|host| host.complete);
    let spans = complete.filter_map(|host| host.finished?.checked_sub(host.started?));
    spans.filter(|span| *span > Nanos::ZERO).min()
}

/// Divides hosts by a property, in the order in which each value first occurs. Hosts without it are left out.
pub(crate) fn by<'a, K: PartialEq>(
    report: &'a HostsReport,
    property: impl Fn(&'a HostReport) -> Option<K>,
) -> Vec<(K, Vec<&'a HostReport>)> {
    let mut sets: Vec<(K, Vec<&HostReport>)> = Vec::new();
    for host in &report.hosts {
        let Some(value) = property(host) else { continue };
        match sets.iter_mut().find(|(known, _)| *known == value) {
            Some((_, hosts)) => hosts.push(host),
            None => sets.push((value, vec![host])),
        }
    }
    sets
}

/// The ids of the findings that all jobs of all hosts ignore.
pub(crate) fn ignored_by_all(report: &HostsReport) -> Vec<&str> {
    let name = IGNORE_FINDINGS.name();
    let own = report.hosts.iter().filter_map(|host| host.report.as_ref());
    let mut jobs = own.flat_map(|own| {
        own.jobs.iter().map(|job| {
            let mut options = job.options.iter().chain(&own.global_options);
            options.find(|(option, _)| option == name).map_or("", |(_, value)| value.as_str())
        })
    });
    let mut common: Vec<&str> = ids(jobs.next().unwrap_or_default()).collect();
    jobs.for_each(|job| common.retain(|id| ids(job).any(|own| own == *id)));
    common
}

/// The ids in the value of `ignore_findings`.
fn ids(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::tests::hosts::{host, run};

    #[test]
    fn a_finding_is_ignored_if_all_jobs_ignore_it() {
        let mut report = run(vec![host("a", 1000.0), host("b", 10.0)]);
        assert_eq!(crate::of_hosts(&report).findings().count(), 1);
        let ignore = |ids: &str| ("ignore_findings".to_owned(), ids.to_owned());
        let own = |report: &mut fiord_stat::hosts::HostsReport, host: usize| {
            report.hosts[host].report.as_mut().unwrap().global_options =
                vec![ignore("too-short, host-straggler")];
        };
        own(&mut report, 0);
        assert_eq!(crate::of_hosts(&report).findings().count(), 1);
        own(&mut report, 1);
        assert_eq!(crate::of_hosts(&report).findings().count(), 0);
    }
}
