//! `hosts-differ`: the hosts of a run are not alike.

use fiord_stat::finding::Severity;
use fiord_stat::hosts::{HostFacts, HostReport, HostTarget, HostsReport};

use crate::check::{Check, CollectedFindings};
use crate::evidence::hosts::{by, names};

pub(crate) const CHECK: Check = Check {
    id: "hosts-differ",
    severity: Severity::Suspect,
    title: "hosts with different kernels, CPUs, devices or schedulers",
    about: "The hosts of a run are not alike: they differ in what decides how fast I/O is. The sum of their \
            rates then is not that of N equal hosts, and a slow host may be slow because of this difference.",
    detection: "fiord compares the versions of fiord and of the kernel, the architecture, the number of CPUs \
                and the size of memory (more than 10 %), and, for jobs with the same number of targets, the kind and \
                the I/O scheduler of each target. A difference of devices or schedulers is suspect, the \
                others are notes.",
    effect: "It depends on the difference. Not measured.",
    remedy: "make the hosts alike, or run groups of equal hosts one after another.",
    lint: None,
    before: None,
    after: None,
    hosts: Some(hosts),
};

/// The name of a property, and how to read it.
type Property<T> = (&'static str, fn(&T) -> String);

const MACHINE: [Property<HostFacts>; 5] = [
    ("fiord", |facts| facts.version.clone()),
    ("kernel", |facts| facts.kernel.clone()),
    ("architecture", |facts| facts.arch.clone()),
    ("CPUs", |facts| facts.cpus.map_or_else(String::new, |cpus| cpus.to_string())),
    ("operating system", |facts| facts.os.clone()),
];

const TARGET: [Property<HostTarget>; 2] =
    [("device", |target| target.kind.clone()), ("scheduler", |target| target.scheduler.clone())];

fn hosts(report: &HostsReport, findings: &mut CollectedFindings) {
    let mut machines: Vec<String> = Vec::new();
    for (name, read) in MACHINE {
        machines.extend(differing(report, name, |host| host.facts.as_ref().map(read)));
    }
    machines.extend(memory(report));
    let most = report.hosts.iter().map(|host| host.targets.len()).max().unwrap_or(0);
    let mut targets: Vec<String> = Vec::new();
    for (name, read) in TARGET {
        // Hosts with different numbers of targets have different jobs.
        let of = |n: usize| {
            move |host: &HostReport| {
                Some(&host.targets).filter(|all| all.len() == most).map(|all| read(&all[n]))
            }
        };
        targets.extend((0..most).filter_map(|n| differing(report, name, of(n))));
    }
    targets.dedup();
    for (parts, worst) in [(targets, Severity::Suspect), (machines, Severity::Note)] {
        if parts.is_empty() {
            continue;
        }
        let what = match worst {
            Severity::Note => "the hosts differ as machines",
            _ => "the hosts use different storage",
        };
        let more = parts.len().saturating_sub(MAX_PARTS);
        let mut evidence = parts[..parts.len().min(MAX_PARTS)].join("; ");
        if more > 0 {
            evidence.push_str(&format!("; and {more} more differences"));
        }
        let remedy = "make the hosts alike, or run groups of equal hosts one after another";
        findings.report(CHECK.for_run(what).evidence(evidence).remedy(remedy).at_most(worst));
    }
}

/// Maximum number of differences that are described.
const MAX_PARTS: usize = 6;

/// Describes a property that is not the same on all hosts. Hosts where it is unknown are left out.
fn differing<'a>(
    report: &'a HostsReport,
    name: &str,
    read: impl Fn(&'a HostReport) -> Option<String>,
) -> Option<String> {
    let known = |host: &'a HostReport| read(host).filter(|value| !value.is_empty());
    let sets = by(report, known);
    if sets.len() < 2 {
        return None;
    }
    let one = |(value, hosts): &(String, Vec<&HostReport>)| {
        format!("{value} on {}", names(hosts.iter().copied()))
    };
    let shown: Vec<String> = sets.iter().take(MAX_PARTS).map(one).collect();
    Some(format!("{name}: {}", shown.join(", ")))
}

/// Memory sizes differ a little between equal machines, because firmware keeps some.
fn memory(report: &HostsReport) -> Option<String> {
    let known = report.hosts.iter().filter_map(|host| Some((host.facts.as_ref()?.memory, host)));
    let known = known.filter(|(size, _)| size.0 > 0);
    let (least, small) = known.clone().min_by_key(|(size, _)| *size)?;
    let (most, large) = known.max_by_key(|(size, _)| *size)?;
    (most.as_f64() > 1.1 * least.as_f64()).then(|| {
        let show = crate::evidence::amount::bytes;
        format!("memory: {} on {}, {} on {}", show(least), small.name, show(most), large.name)
    })
}

#[cfg(test)]
mod tests {
    use fiord_types::Bytes;

    use super::*;
    use crate::tests::hosts::{found, host, run};

    #[test]
    fn equal_hosts_and_unknown_facts_are_silent() {
        let mut report = run(vec![host("a", 1.0), host("b", 1.0)]);
        report.hosts[0].facts.as_mut().unwrap().memory = Bytes(100 << 30);
        report.hosts[1].facts.as_mut().unwrap().memory = Bytes(101 << 30);
        assert_eq!(found(&CHECK, &report), []);
        report.hosts[1].facts = None;
        assert_eq!(found(&CHECK, &report), []);
    }

    #[test]
    fn machines_are_a_note_and_storage_is_suspect() {
        let mut report = run(vec![host("a", 1.0), host("b", 1.0), host("c", 1.0)]);
        report.hosts[2].facts.as_mut().unwrap().kernel = "6.1".into();
        report.hosts[2].facts.as_mut().unwrap().memory = Bytes(1 << 30);
        for (host, scheduler) in report.hosts.iter_mut().zip(["none", "bfq", "none"]) {
            let kind = "QEMU 10 GiB".into();
            let scheduler = scheduler.into();
            host.targets = vec![HostTarget { kind, scheduler, ..HostTarget::default() }];
        }
        let findings = found(&CHECK, &report);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_eq!(findings[0].evidence, "scheduler: none on a and c, bfq on b");
        assert_eq!(findings[0].severity, Severity::Suspect);
        assert_eq!(
            findings[1].evidence,
            "kernel: 6.12 on a and b, 6.1 on c; memory: 1.0 GiB on c, 64 GiB on b"
        );
        assert_eq!(findings[1].severity, Severity::Note);
    }
}
