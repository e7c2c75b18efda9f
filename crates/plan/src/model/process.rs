//! Properties of a worker thread: CPUs, priority, control group and memory.

use fiord_types::Bytes;

/// Properties of a worker thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// CPUs that this instance may use: `cpus_allowed`, `cpumask` or `numa_cpu_nodes`, after
    /// `cpus_allowed_policy`. `None`: the inherited CPUs.
    pub cpus: Option<Vec<u32>>,
    /// `numa_mem_policy`: the nodes to allocate memory from. `None`: the inherited policy.
    pub mem_policy: Option<MemPolicy>,
    /// `nice`: the nice value of the thread, -20 to 19.
    pub nice: i32,
    /// `prioclass`, `prio`, `priohint`: the I/O priority. `None`: the inherited priority.
    pub ioprio: Option<IoPrio>,
    /// `uid`: the user that the job runs as. `None`: the current user.
    pub uid: Option<u32>,
    /// `gid`: the group that the job runs as. `None`: the current group.
    pub gid: Option<u32>,
    /// `cgroup`: the control group to run in.
    pub cgroup: Option<Cgroup>,
    /// `comm`: the name of the thread.
    pub comm: Option<String>,
    /// `mem`: where the buffers come from.
    pub memory: Memory,
    /// `iomem_align`: alignment of the buffers in bytes; a power of two.
    pub memory_align: Bytes,
    /// `lockmem`: bytes of memory to lock.
    pub lock_memory: Bytes,
}

/// `numa_mem_policy`: the NUMA nodes that memory comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemPolicy {
    /// The kernel's default policy.
    Default,
    /// The node that the thread runs on.
    Local,
    /// This node if it has free memory.
    Prefer(u32),
    /// Only these nodes.
    Bind(Vec<u32>),
    /// These nodes in turn.
    Interleave(Vec<u32>),
}

/// I/O priority (`ioprio_set(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPrio {
    /// Class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// Level in the class, 0 (highest) to 7.
    pub level: u8,
    /// Hint to the device, 0 to 1023.
    pub hint: u16,
}

/// The control group that a job runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// `cgroup`: path below the mount point of the hierarchy.
    pub name: String,
    /// `cgroup_weight`: the I/O weight to set.
    pub weight: Option<u32>,
    /// `cgroup_nodelete`: the group stays after the job.
    pub keep: bool,
}

/// `mem`: where buffers come from.
pub use fiord_sys::memory::MemorySource as Memory;
