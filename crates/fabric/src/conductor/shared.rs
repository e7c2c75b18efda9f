//! Finds storage that two hosts would write although each host is to have its own.

use fiord_types::{Bytes, HostIndex};

use crate::message::HostTarget;
use crate::outcome::HostOutcome;

/// Maximum number of hosts that are named.
const MAX_NAMES: usize = 8;

/// A part of shared storage that a host writes.
#[derive(Debug)]
struct Written<'a> {
    id: &'a str,
    begin: Bytes,
    end: Bytes,
    host: HostIndex,
    target: &'a HostTarget,
}

/// Hosts that would write storage that another host also writes, and a message for each.
///
/// Two parts overlap if they are on storage with one [`HostTarget::shared_id`] and have bytes in common. A part whose end is
/// unknown reaches to the end of the storage.
pub fn conflicts<'a>(
    hosts: impl Iterator<Item = &'a HostOutcome> + Clone,
) -> Vec<(HostIndex, String)> {
    let mut written: Vec<Written<'_>> = Vec::new();
    for (rank, outcome) in hosts.clone().enumerate() {
        let targets = outcome.checked.iter().flat_map(|checked| &checked.targets);
        written.extend(targets.filter_map(|target| Written::of(HostIndex::at(rank), target)));
    }
    written.sort_by_key(|part| (part.id, part.begin, part.host));
    let mut found: Vec<(HostIndex, String)> = Vec::new();
    // The parts that reach furthest so far: the first one, and the first of those that belong to another host.
    let mut furthest: [Option<&Written<'_>>; 2] = [None, None];
    for part in &written {
        if furthest[0].is_some_and(|other| other.id != part.id) {
            furthest = [None, None];
        }
        let other = furthest.into_iter().flatten().find(|other| other.host != part.host);
        let named = found.iter().any(|(host, _)| *host == part.host);
        if let Some(other) = other.filter(|other| other.end > part.begin && !named)
            && let Some(name) = hosts.clone().nth(other.host.get()).map(|host| &host.name)
        {
            found.push((part.host, part.conflict_with(other, name)));
            if found.len() == MAX_NAMES {
                break;
            }
        }
        furthest = match furthest {
            [Some(first), second] if first.host == part.host => {
                [Some(if part.end > first.end { part } else { first }), second]
            }
            [Some(first), _] if part.end > first.end => [Some(part), Some(first)],
            [Some(first), second] => {
                let longer = second.is_none_or(|second| part.end > second.end);
                [Some(first), if longer { Some(part) } else { second }]
            }
            [None, _] => [Some(part), None],
        };
    }
    found
}

impl<'a> Written<'a> {
    fn of(host: HostIndex, target: &'a HostTarget) -> Option<Self> {
        let id = target.shared_id.as_deref().filter(|_| target.writes)?;
        let end = if target.end == Bytes::ZERO { Bytes::MAX } else { target.end };
        (target.begin < end).then_some(Written { id, begin: target.begin, end, host, target })
    }

    fn conflict_with(&self, other: &Written<'_>, name: &str) -> String {
        let (path, others) = (&self.target.path, &other.target.path);
        format!(
            "it would write {path}, the same storage ({id}) as {others} on host {name}. Nothing was written. To fix: give \
             each host storage of its own ($host or $rank in the job file), or say how the hosts share it \
             (--hosts-data=split or --hosts-data=same)",
            id = self.id,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HostJobs;

    fn host(name: &str, parts: &[(&str, u64, u64, bool)]) -> HostOutcome {
        let target = |(id, begin, end, writes): &(&str, u64, u64, bool)| HostTarget {
            path: format!("/dev/{name}-{id}"),
            shared_id: (!id.is_empty()).then(|| (*id).to_owned()),
            begin: Bytes(*begin),
            end: Bytes(*end),
            writes: *writes,
            ..HostTarget::default()
        };
        let targets = parts.iter().map(target).collect();
        let checked = Some(HostJobs { targets, ..HostJobs::default() });
        HostOutcome { name: name.to_owned(), checked, ..HostOutcome::default() }
    }

    fn named(hosts: &[HostOutcome]) -> Vec<u32> {
        conflicts(hosts.iter()).into_iter().map(|(host, _)| host.0).collect()
    }

    #[test]
    fn only_overlapping_writes_of_different_hosts_are_conflicts() {
        let none = [
            host("a", &[("x", 0, 100, true), ("x", 50, 100, true), ("", 0, 0, true)]),
            host("b", &[("x", 100, 200, true), ("x", 0, 0, false), ("", 0, 0, true)]),
            host("c", &[("y", 0, 0, true), ("x", 60, 60, true)]),
            HostOutcome::default(),
        ];
        assert!(named(&none).is_empty());
        let unknown_end =
            [host("a", &[("x", 500, 0, true)]), host("b", &[("x", 1 << 40, 0, true)])];
        assert_eq!(named(&unknown_end), [1]);
    }

    #[test]
    fn a_long_part_is_remembered_behind_shorter_ones() {
        // The part of host a ends first, the one of host b is after it and reaches to the part of host c.
        let hosts = [
            host("a", &[("x", 0, 1000, true), ("x", 700, 800, true)]),
            host("b", &[("x", 5000, 6000, true)]),
            host("c", &[("x", 999, 1001, true), ("y", 0, 1, true)]),
        ];
        assert_eq!(named(&hosts), [2]);
        let (_, why) = &conflicts(hosts.iter())[0];
        assert!(
            why.starts_with("it would write /dev/c-x, the same storage (x) as /dev/a-x on host a.")
        );
    }

    #[test]
    fn few_of_many_conflicts_are_named() {
        let hosts: Vec<HostOutcome> =
            (0..100).map(|rank| host(&rank.to_string(), &[("x", 0, 0, true)])).collect();
        assert_eq!(named(&hosts), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
