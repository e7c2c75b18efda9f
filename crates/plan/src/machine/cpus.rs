//! The CPUs that a job instance may use.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    CPUMASK, CPUS_ALLOWED, CPUS_ALLOWED_POLICY, CpuPolicy, GTOD_CPU, NUMA_CPU_NODES,
};

use crate::machine::facts::Facts;
use crate::options::reading::Reading;

/// The CPUs of a section, and whether its instances split them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SectionCpus {
    cpus: Vec<u32>,
    split: bool,
}

impl SectionCpus {
    /// Reads `cpus_allowed`, otherwise `cpumask`, otherwise `numa_cpu_nodes`, and removes the CPU
    /// that keeps the time (`gtod_cpu`). `None`: the job keeps the inherited CPUs.
    pub(crate) fn read(job: Reading, facts: &dyn Facts) -> Option<Self> {
        let (option, mut cpus) = named(job, facts)?;
        let clock = job.get(GTOD_CPU);
        refuse_offline(job, option, &cpus, facts);
        cpus.retain(|c| Some(*c) != clock);
        if cpus.is_empty() {
            job.report(
                job.error(option, "no CPU is left for the job")
                    .help("To fix: name at least one CPU that is not `gtod_cpu`"),
            );
            return None;
        }
        Some(SectionCpus { cpus, split: job.get(CPUS_ALLOWED_POLICY) == CpuPolicy::Split })
    }

    /// The CPUs of the instance with this index in the whole run. With `cpus_allowed_policy=split`,
    /// the workers of all jobs with an equal set take its CPUs in turn.
    pub(crate) fn of(&self, index: usize) -> Vec<u32> {
        if self.split { vec![self.cpus[index % self.cpus.len()]] } else { self.cpus.clone() }
    }
}

/// Refuses CPUs that are not online.
pub(crate) fn refuse_offline(
    job: Reading,
    option: impl Into<&'static OptionDef>,
    cpus: &[u32],
    facts: &dyn Facts,
) {
    if cpus.is_empty() {
        return;
    }
    let online = facts.cpus();
    if let Some(cpu) = cpus.iter().find(|cpu| !online.contains(cpu)) {
        job.report(
            job.error(option, format!("CPU {cpu} is not online"))
                .help(format!("To fix: choose from the online CPUs: {}", ranges(&online))),
        );
    }
}

fn named(job: Reading, facts: &dyn Facts) -> Option<(&'static OptionDef, Vec<u32>)> {
    if let Some(cpus) = job.get(CPUS_ALLOWED) {
        return Some((CPUS_ALLOWED.def(), cpus));
    }
    if let Some(mask) = job.get(CPUMASK) {
        return Some((CPUMASK.def(), (0..64).filter(|c| mask >> c & 1 == 1).collect()));
    }
    if let Some(nodes) = job.get(NUMA_CPU_NODES) {
        let mut cpus = Vec::new();
        for node in known_nodes(job, NUMA_CPU_NODES.def(), nodes, facts) {
            cpus.extend(facts.cpus_of_node(node));
        }
        cpus.sort();
        cpus.dedup();
        return Some((NUMA_CPU_NODES.def(), cpus));
    }
    // Without such an option, the job only avoids the CPU that keeps the time.
    job.get(GTOD_CPU).map(|_| (GTOD_CPU.def(), facts.cpus()))
}

/// Checks that NUMA nodes exist, and returns them. An empty list means all nodes.
pub(crate) fn known_nodes(
    job: Reading,
    option: &'static OptionDef,
    nodes: Vec<u32>,
    facts: &dyn Facts,
) -> Vec<u32> {
    let all = facts.nodes();
    if nodes.is_empty() {
        return all;
    }
    if let Some(node) = nodes.iter().find(|n| !all.contains(n)) {
        job.report(
            job.error(option, format!("there is no NUMA node {node}"))
                .help(format!("To fix: choose from the nodes of this machine: {}", ranges(&all))),
        );
    }
    nodes
}

/// Formats numbers as a list of ranges, such as `0-3,8`.
fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for n in numbers {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == *n => *end = *n,
            _ => parts.push((*n, *n)),
        }
    }
    let texts: Vec<String> = parts
        .iter()
        .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    texts.join(",")
}
