//! The thread around a job.

/// The thread around a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// CPUs this very instance may use (`cpus_allowed` after `cpus_allowed_policy`, `cpumask`,
    /// `numa_cpu_nodes`); `None`: as inherited.
    pub cpus: Option<Vec<u32>>,
    /// `numa_mem_policy`.
    pub mem_policy: Option<MemPolicy>,
    /// `nice`.
    pub nice: i32,
    /// `prioclass`, `prio`, `priohint`.
    pub ioprio: Option<IoPrio>,
    /// `uid`, `gid`.
    pub uid: Option<u32>,
    /// See `uid`.
    pub gid: Option<u32>,
    /// `cgroup` with weight.
    pub cgroup: Option<Cgroup>,
    /// `comm`.
    pub comm: Option<String>,
    /// `mem`/`iomem`.
    pub memory: Memory,
    /// Buffer alignment in bytes (`iomem_align`), a power of two.
    pub memory_align: u64,
    /// `lockmem`: bytes pinned.
    pub lock_memory: u64,
}

/// `numa_mem_policy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemPolicy {
    /// The kernel's own.
    Default,
    /// The node that runs the thread.
    Local,
    /// Rather this node.
    Prefer(u32),
    /// Only these nodes.
    Bind(Vec<u32>),
    /// In turn over these nodes.
    Interleave(Vec<u32>),
}

/// I/O priority (`ioprio_set(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPrio {
    /// 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// 0 (highest) to 7.
    pub level: u8,
    /// 0 to 1023.
    pub hint: u16,
}

/// A control group for the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path below the mount of the hierarchy.
    pub name: String,
    /// `cgroup_weight`.
    pub weight: Option<u32>,
    /// `cgroup_nodelete`.
    pub keep: bool,
}

/// `mem`.
pub use fiord_sys::memory::Source as Memory;
