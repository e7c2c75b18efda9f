//! The machine around the devices: CPUs, clock, limits and pressure.

use fiord_plan::{JobPlan, Plan};
use fiord_sys::conditions::{self, Governors, Moment, Sleep, power};
use fiord_sys::cpu::{self, CpuSet};
use fiord_sys::root::Root;
use fiord_sys::usage::Usage;
use fiord_sys::{clock, numa};

/// A snapshot of CPUs, clock, limits and pressure.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The time of the snapshot, in ns of the monotonic clock.
    pub at: u64,
    /// CPU time in user mode of this process and its child processes, in ns.
    pub own_user: u64,
    /// Counters of the kernel.
    pub moment: Moment,
    /// Frequency governors; `None` if the kernel does not set frequencies.
    pub governors: Option<Governors>,
    /// The deepest enabled idle state.
    pub sleep: Option<Sleep>,
    /// The current clock source of the kernel, and the available ones.
    pub clock: Option<(String, Vec<String>)>,
    /// The CPUs of each NUMA node. Machines without NUMA have one node or none.
    pub nodes: Vec<(u64, CpuSet)>,
    /// The CPUs that this process may use.
    pub allowed: CpuSet,
}

impl Surroundings {
    /// Takes a snapshot. Returns the default for a plan without files and devices, which needs none.
    pub(super) fn survey(plan: &Plan) -> Surroundings {
        let mut files = plan.jobs.iter().flat_map(|job| &job.target.files);
        if !files.any(|file| file.kind.has_path()) {
            return Surroundings::default();
        }
        let root = Root::machine();
        let nodes = numa::nodes();
        let cpus = |node: usize| Some((node as u64, numa::cpus_of(node).ok()?));
        Surroundings {
            at: clock::monotonic(),
            own_user: own_user(),
            moment: Moment::now(&root),
            governors: Governors::read(&root),
            sleep: power::deepest_sleep(&root),
            clock: conditions::clock_source(&root),
            nodes: nodes.iter().filter_map(cpus).collect(),
            allowed: cpu::allowed().unwrap_or_default(),
        }
    }
}

impl Surroundings {
    /// Returns the CPUs that a job may use: those that it asks for, else those of this process.
    pub(crate) fn cpus_of(&self, job: &JobPlan) -> CpuSet {
        match &job.process.cpus {
            Some(cpus) => cpus.iter().map(|cpu| *cpu as usize).collect(),
            None => self.allowed.clone(),
        }
    }

    /// Returns the CPUs that at least one of these jobs may use.
    pub(crate) fn cpus_of_all<'j>(&self, jobs: impl IntoIterator<Item = &'j JobPlan>) -> CpuSet {
        jobs.into_iter().flat_map(|job| self.cpus_of(job).iter().collect::<Vec<_>>()).collect()
    }
}

/// Returns the CPU time in user mode of the process and its child processes, in ns.
fn own_user() -> u64 {
    let all = [Usage::of_process(), Usage::of_children()];
    all.into_iter().flatten().map(|usage| usage.user_ns).sum()
}
