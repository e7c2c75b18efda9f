//! The CPUs that a job instance may use.

use crate::machine::facts::Facts;
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// The CPUs of a section, and whether its instances split them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuSet {
    cpus: Vec<u32>,
    split: bool,
}

impl CpuSet {
    /// Reads `cpus_allowed`, otherwise `cpumask`, otherwise `numa_cpu_nodes`, and removes the CPU
    /// that keeps the time (`gtod_cpu`). `None`: the job keeps the inherited CPUs.
    pub(crate) fn read(job: Reading, facts: &dyn Facts, messages: &mut Messages) -> Option<Self> {
        let online = facts.cpus();
        let (name, mut cpus) = named(job, facts, messages)?;
        let clock = job.set_count32("gtod_cpu");
        if let Some(cpu) = cpus.iter().find(|c| !online.contains(c)) {
            messages.push(
                job.error(name, format!("CPU {cpu} is not online"))
                    .help(format!("To fix: choose from the online CPUs: {}", ranges(&online))),
            );
        }
        cpus.retain(|c| Some(*c) != clock);
        if cpus.is_empty() {
            messages.push(
                job.error(name, "no CPU is left for the job")
                    .help("To fix: name at least one CPU that is not `gtod_cpu`"),
            );
            return None;
        }
        Some(CpuSet { cpus, split: job.plain_word("cpus_allowed_policy") == "split" })
    }

    /// The CPUs of the instance with this index in the whole run. With `cpus_allowed_policy=split`,
    /// the workers of all jobs with an equal set take its CPUs in turn.
    pub(crate) fn of(&self, index: usize) -> Vec<u32> {
        if self.split { vec![self.cpus[index % self.cpus.len()]] } else { self.cpus.clone() }
    }
}

fn named(
    job: Reading,
    facts: &dyn Facts,
    messages: &mut Messages,
) -> Option<(&'static str, Vec<u32>)> {
    if let Some(cpus) = job.set_numbers("cpus_allowed") {
        return Some(("cpus_allowed", cpus));
    }
    if job.is_set("cpumask") {
        let mask = job.count("cpumask").unwrap_or(0);
        return Some(("cpumask", (0..64).filter(|c| mask >> c & 1 == 1).collect()));
    }
    if let Some(nodes) = job.set_numbers("numa_cpu_nodes") {
        let mut cpus = Vec::new();
        for node in known_nodes(job, "numa_cpu_nodes", nodes, facts, messages) {
            cpus.extend(facts.cpus_of_node(node));
        }
        cpus.sort_unstable();
        cpus.dedup();
        return Some(("numa_cpu_nodes", cpus));
    }
    // Without such an option, the job only avoids the CPU that keeps the time.
    job.set_count32("gtod_cpu").map(|_| ("gtod_cpu", facts.cpus()))
}

/// Checks that NUMA nodes exist, and returns them. An empty list means all nodes.
pub(crate) fn known_nodes(
    job: Reading,
    option: &str,
    nodes: Vec<u32>,
    facts: &dyn Facts,
    messages: &mut Messages,
) -> Vec<u32> {
    let all = facts.nodes();
    if nodes.is_empty() {
        return all;
    }
    if let Some(node) = nodes.iter().find(|n| !all.contains(n)) {
        messages.push(
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
