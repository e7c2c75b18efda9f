//! `numa`: jobs run on CPUs far from the device.

use fiord_job::option::table::{CPUS_ALLOWED, NUMA_CPU_NODES};
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_sys::cpu::CpuSet;
use fiord_sys::survey::Disk;

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::setting::set;

pub(crate) const CHECK: Check = Check {
    id: "numa",
    severity: Severity::Suspect,
    title: "CPUs far from the device",
    about: "The device is attached to one processor and the job runs on another: every doorbell \
            write, every completion and all data cross the link between the processors.",
    detection: "fiord compares the device's `numa_node` with the CPUs that the job may use \
                (`cpus_allowed`, `numa_cpu_nodes`, or the affinity of the process). If none of \
                these CPUs is near, the finding is suspect; if some are near and some far, it is \
                a note. The check is silent on a machine with one node, if the device reports no \
                node, and if all CPUs of the job are near.",
    effect: "Not measured: the machine used for measurements has one node.",
    remedy: "set `numa_cpu_nodes=N` with the node of the device, or `cpus_allowed` with its CPUs.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let around = &known.machine.surroundings;
    if around.nodes.len() < 2 {
        return;
    }
    for job in known.sections() {
        let cpus = around.cpus_of(job);
        for disk in known.machine.devices.of(job) {
            let near = disk.numa_node.and_then(|node| {
                Some((node, &around.nodes.iter().find(|(known, _)| *known == node)?.1))
            });
            if let Some((node, near)) = near
                && let Some(finding) = far(job, disk, node, near, &cpus)
            {
                findings.report(finding);
            }
        }
    }
}

fn far(
    job: &JobPlan,
    disk: &Disk,
    node: u64,
    near: &CpuSet,
    cpus: &CpuSet,
) -> Option<FindingBuilder> {
    let away = cpus.difference(near);
    if away.is_empty() {
        return None;
    }
    let all = away.len() == cpus.len();
    let name = &job.identity.name;
    let what = match all {
        true => format!("job {name} runs far from {}", disk.name),
        false => format!("job {name} may run far from {}", disk.name),
    };
    let evidence = format!(
        "{} is next to node {node} with CPUs {near}; the job may use CPUs {cpus}",
        disk.name
    );
    let near = set(NUMA_CPU_NODES, node);
    let finding =
        CHECK.for_job(job, what).evidence(evidence).remedy(format!("set {near}")).settings([near]);
    Some(if all { finding.option(CPUS_ALLOWED) } else { finding.at_most(Severity::Note) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::drives::{found_before, one_drive};

    #[test]
    fn reports_jobs_on_far_cpus() {
        let mut case = one_drive();
        case.disks(|disk| disk.numa_node = Some(1));
        let around = &mut case.machine.surroundings;
        around.nodes = vec![(0, CpuSet::from_mask(0b0011)), (1, CpuSet::from_mask(0b1100))];
        around.allowed = CpuSet::from_mask(0b1111);
        assert_eq!(found_before(&CHECK, &case)[0].severity, Severity::Note);
        case.job().process.cpus = Some(vec![0, 1]);
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].severity, Severity::Suspect);
        assert_eq!(found[0].remedy, "set numa_cpu_nodes=1");
        assert!(found[0].evidence.contains("node 1 with CPUs 2-3; the job may use CPUs 0-1"));
        case.job().process.cpus = Some(vec![3]);
        assert!(found_before(&CHECK, &case).is_empty());
        case.job().process.cpus = None;
        case.machine.surroundings.nodes.pop();
        assert!(found_before(&CHECK, &case).is_empty(), "one node");
    }
}
