//! `shared-target`: hosts of a run use the same storage.

use fiord_stat::finding::Severity;
use fiord_stat::hosts::{HostTarget, HostsReport};
use fiord_types::Bytes;

use crate::check::{Check, CollectedFindings, FindingBuilder};
use crate::evidence::hosts::names;

pub(crate) const CHECK: Check = Check {
    id: "shared-target",
    severity: Severity::Suspect,
    title: "hosts that use the same bytes of one device or file",
    about: "Several hosts use the same bytes of one device or file. If one of them writes, their data \
            overwrite each other, and the storage must keep the hosts consistent, which costs time. If all \
            of them read, a cache of the storage can serve every host but the first.",
    detection: "Targets with the same WWID or UUID, the same file on one shared file system, or, for agents \
                on one machine, the same file or device, in ranges that overlap. Before a run, fiord refuses two hosts \
                that write to such targets unless `--hosts-data` says how they share them. There is no finding with \
                `--hosts-data=same`.",
    effect: "Four hosts that read the same 10 GiB move 40 GiB, of which a cache in the storage can serve \
             30 GiB.",
    remedy: "use `--hosts-data=split`, which gives each host its own part, or targets with `$rank` or \
             `$host` in their names; `--hosts-data=same` if the hosts are to share them.",
    lint: None,
    before: None,
    after: None,
    hosts: Some(hosts),
};

/// A range of a storage that a host uses.
struct Use<'a> {
    storage: &'a str,
    host: usize,
    target: &'a HostTarget,
}

impl Use<'_> {
    /// The byte after the last one.
    fn end(&self) -> Bytes {
        if self.target.end == Bytes::ZERO { Bytes(u64::MAX) } else { self.target.end }
    }
}

fn hosts(report: &HostsReport, findings: &mut CollectedFindings) {
    if report.shares_targets {
        return;
    }
    let mut uses: Vec<Use<'_>> = Vec::new();
    for (number, host) in report.hosts.iter().enumerate() {
        let named =
            host.targets.iter().filter_map(|target| Some((target.shared_id.as_deref()?, target)));
        uses.extend(named.map(|(storage, target)| Use { storage, host: number, target }));
    }
    uses.sort_by_key(|used| (used.storage, used.target.begin));
    for shared in uses.chunk_by(|a, b| a.storage == b.storage) {
        findings.report_if(overlap(shared, report));
    }
}

/// Reports hosts whose ranges of one storage overlap. The ranges are in the order of their first bytes.
fn overlap(uses: &[Use<'_>], report: &HostsReport) -> Option<FindingBuilder> {
    let mut together: Vec<usize> = Vec::new();
    let mut writes = false;
    // The range that reaches furthest so far, and the furthest one of another host.
    let mut reach: [Option<&Use<'_>>; 2] = [None, None];
    for one in uses {
        let others = reach.iter().flatten().filter(|other| other.host != one.host);
        if let Some(other) = others.into_iter().find(|other| other.end() > one.target.begin) {
            together.extend([other.host, one.host]);
            writes |= other.target.writes || one.target.writes;
        }
        reach = furthest(reach, one);
    }
    together.sort();
    together.dedup();
    if together.is_empty() {
        return None;
    }
    let path = &uses[0].target.path;
    let names = names(together.iter().map(|n| &report.hosts[*n]));
    let effect = match writes {
        true => "some of them write, so they overwrite each other's data",
        false => "all of them read, so a cache of the storage can serve all but the first",
    };
    let finding = CHECK
        .for_run(format!("{names} use the same bytes of {path}"))
        .evidence(format!("it is one storage for {} hosts; {effect}", together.len()))
        .remedy("use --hosts-data=split, or targets with $rank in their names");
    Some(finding.at_most(if writes { Severity::Suspect } else { Severity::Note }))
}

/// Keeps the range that reaches furthest, and the furthest of another host.
fn furthest<'a, 'b>(reach: [Option<&'a Use<'b>>; 2], one: &'a Use<'b>) -> [Option<&'a Use<'b>>; 2] {
    match reach {
        [None, _] => [Some(one), None],
        [Some(first), second] if first.host == one.host => {
            [Some(if one.end() > first.end() { one } else { first }), second]
        }
        [Some(first), _] if one.end() > first.end() => [Some(one), Some(first)],
        [first, Some(second)] if one.end() <= second.end() => [first, Some(second)],
        [first, _] => [first, Some(one)],
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::hosts::HostReport;

    use super::*;
    use crate::tests::hosts::{found, host, run};

    fn target(id: Option<&str>, (begin, end): (u64, u64), writes: bool) -> HostTarget {
        let shared_id = id.map(str::to_owned);
        let path = "/dev/sdx".to_owned();
        HostTarget {
            path,
            shared_id,
            begin: Bytes(begin),
            end: Bytes(end),
            writes,
            ..HostTarget::default()
        }
    }

    fn hosts_with(targets: Vec<HostTarget>) -> HostsReport {
        let with =
            |(n, target)| HostReport { targets: vec![target], ..host(&format!("n{n}"), 1.0) };
        run(targets.into_iter().enumerate().map(with).collect())
    }

    #[test]
    fn overlapping_ranges_of_one_device() {
        let id = Some("wwid:1");
        let ranges = [((0, 100), true), ((100, 200), true), ((150, 250), false)];
        let report = hosts_with(ranges.map(|(range, writes)| target(id, range, writes)).into());
        let findings = found(&CHECK, &report);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].what, "n1 and n2 use the same bytes of /dev/sdx");
        assert_eq!(findings[0].severity, Severity::Suspect);
        let meant = HostsReport { shares_targets: true, ..report };
        assert_eq!(found(&CHECK, &meant), []);
        let apart = hosts_with(vec![target(id, (0, 100), true), target(id, (100, 0), true)]);
        assert_eq!(found(&CHECK, &apart), []);
        let readers = hosts_with(vec![target(id, (0, 0), false), target(id, (50, 60), false)]);
        assert_eq!(found(&CHECK, &readers)[0].severity, Severity::Note);
    }

    #[test]
    fn a_long_range_is_compared_with_all_later_ones() {
        let id = Some("wwid:1");
        let ranges = [(0, 1000), (10, 20), (30, 40), (50, 60)];
        let mut report = hosts_with(ranges.map(|range| target(id, range, true)).into());
        assert!(found(&CHECK, &report)[0].what.starts_with("n0, n1, n2 and n3 use"));
        // A host does not share with itself.
        let own = report.hosts.pop().unwrap().targets;
        report.hosts.truncate(1);
        report.hosts[0].targets.extend(own);
        assert_eq!(found(&CHECK, &report), []);
    }

    #[test]
    fn targets_without_a_name_are_not_shared() {
        let report = hosts_with(vec![target(None, (0, 9), true), target(None, (0, 9), true)]);
        assert_eq!(found(&CHECK, &report), []);
    }
}
