//! NUMA nodes, their CPUs, and the memory policy of a thread.

use std::path::Path;

use fiord_types::Errno;

use crate::cpu::CpuSet;
use crate::error::check;
use crate::{Error, Result};

/// A set of NUMA node numbers.
pub type NodeSet = CpuSet;

/// Returns the nodes that are online; only node 0 on a kernel without NUMA.
#[must_use]
pub fn nodes() -> NodeSet {
    let text = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    match NodeSet::parse(&text) {
        Some(set) if !set.is_empty() => set,
        _ => [0].into_iter().collect(),
    }
}

/// Returns the CPUs of a node.
///
/// # Errors
/// `ENOENT` if the node does not exist.
pub fn cpus_of(node: usize) -> Result<CpuSet> {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    match std::fs::read_to_string(&path) {
        Ok(text) => CpuSet::parse(&text).ok_or_else(|| Error::new("parse", Errno::EINVAL).at(path)),
        // If the kernel has no NUMA support, node 0 is the whole machine.
        Err(_) if node == 0 && !Path::new("/sys/devices/system/node").exists() => {
            crate::cpu::online()
        }
        Err(error) => Err(Error::from_io("read", &error).at(path)),
    }
}

/// Returns the CPUs of several nodes together (`numa_cpu_nodes=`).
///
/// # Errors
/// `ENOENT` if a node does not exist.
pub fn cpus_of_all(nodes: &NodeSet) -> Result<CpuSet> {
    let mut cpus = CpuSet::new();
    for node in nodes.iter() {
        cpus.extend(cpus_of(node)?.iter());
    }
    Ok(cpus)
}

/// Memory policy of a thread; the values of `numa_mem_policy=`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The system's default.
    Default,
    /// Allocate on this node if it has free memory, else on others (`prefer`).
    Prefer(usize),
    /// Allocate on these nodes only.
    Bind(NodeSet),
    /// Allocate on these nodes in turn.
    Interleave(NodeSet),
    /// Allocate on the node of the CPU that first touches a page (Linux 3.8).
    Local,
}

/// Sets the calling thread's memory policy (`set_mempolicy(2)`), for pages that it touches from now on.
///
/// # Errors
/// `EINVAL` if a node does not exist; `ENOSYS` on a kernel without NUMA.
pub fn set_policy(policy: &Policy) -> Result<()> {
    // From <linux/mempolicy.h>.
    const MPOL_DEFAULT: libc::c_int = 0;
    const MPOL_PREFERRED: libc::c_int = 1;
    const MPOL_BIND: libc::c_int = 2;
    const MPOL_INTERLEAVE: libc::c_int = 3;
    const MPOL_LOCAL: libc::c_int = 4;
    let none = NodeSet::new();
    let preferred;
    let (mode, nodes) = match policy {
        Policy::Default => (MPOL_DEFAULT, &none),
        Policy::Local => (MPOL_LOCAL, &none),
        Policy::Bind(nodes) => (MPOL_BIND, nodes),
        Policy::Interleave(nodes) => (MPOL_INTERLEAVE, nodes),
        Policy::Prefer(node) => {
            preferred = [*node].into_iter().collect();
            (MPOL_PREFERRED, &preferred)
        }
    };
    let words = nodes.words();
    let pointer = if words.is_empty() { std::ptr::null() } else { words.as_ptr() };
    // The kernel expects the number of bits plus one.
    let bits = if words.is_empty() { 0 } else { words.len() * 64 + 1 };
    // SAFETY: the mask pointer is null with 0 bits, or points to words that contain all the bits.
    let rc = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, pointer, bits) };
    check("set_mempolicy", rc).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_its_cpus() {
        let nodes = nodes();
        assert!(!nodes.is_empty());
        assert!(!cpus_of_all(&nodes).unwrap().is_empty());
        assert_eq!(cpus_of(4000).unwrap_err().errno, Errno::ENOENT);
    }

    #[test]
    fn each_policy_is_set_or_not_supported() {
        let run = || {
            let node = nodes().iter().next().unwrap();
            let set: NodeSet = [node].into_iter().collect();
            for policy in [
                Policy::Bind(set.clone()),
                Policy::Interleave(set),
                Policy::Prefer(node),
                Policy::Local,
                Policy::Default,
            ] {
                match set_policy(&policy) {
                    Ok(()) => {}
                    Err(error) => {
                        eprintln!("{policy:?}: {error}");
                        assert!(matches!(error.errno, Errno::ENOSYS | Errno::EPERM), "{error}");
                    }
                }
            }
            assert!(set_policy(&Policy::Bind([900].into_iter().collect())).is_err());
        };
        std::thread::spawn(run).join().unwrap();
    }
}
