//! The key `fiord`.

use fiord_stat::finding::Finding;
use fiord_stat::report::{CpuIdleness, Extras, UnitWork};

use super::node::Node;

/// What is under the key, with the findings of all hosts.
pub(super) fn extras(node: Node<'_>) -> Extras {
    let mut extras: Extras = node.read();
    extras.findings.extend(findings_of_hosts(node));
    extras
}

/// The key `cpu_idleness`, which fio has, too.
pub(super) fn idleness(document: Node<'_>) -> Option<CpuIdleness> {
    const KEY: &str = "cpu_idleness";
    let node = document.find(KEY)?;
    let unit = UnitWork { mean_us: node.float("unit_mean"), stddev_us: node.float("unit_stddev") };
    let one = |(key, share): (&str, Node<'_>)| {
        Some((key.strip_prefix("cpu-")?.parse().ok()?, share.number()))
    };
    let cpus = document.entries(KEY).filter_map(one).collect();
    Some(CpuIdleness { system: node.float("system"), cpus, unit })
}

/// The findings of the hosts of a run, with the name of the host in front.
fn findings_of_hosts(node: Node<'_>) -> Vec<Finding> {
    let own = |host: Node<'_>| {
        let name = host.text("hostname");
        let named =
            move |found: Finding| Finding { what: format!("{name}: {}", found.what), ..found };
        let findings: Vec<Finding> = host.get("fiord").get("findings").read();
        findings.into_iter().map(named)
    };
    node.list("hosts").flat_map(own).collect()
}
