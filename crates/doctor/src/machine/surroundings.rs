//! The machine around the devices: CPUs, clock, limits and pressure.

use fiord_plan::{JobPlan, Plan};
use fiord_sys::conditions::{self, Governors, Moment, Sleep, power};
use fiord_sys::cpu::{self, CpuSet};
use fiord_sys::root::Root;
use fiord_sys::usage::ResourceUsage;
use fiord_sys::{clock, numa};
use fiord_types::Nanos;

/// A snapshot of CPUs, clock, limits and pressure.
#[derive(Debug, Clone, Default)]
pub struct MachineState {
    /// The time of the snapshot on the monotonic clock.
    pub at: Nanos,
    /// CPU time in user mode of this process and its child processes.
    pub own_user: Nanos,
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

impl MachineState {
    /// Takes a snapshot. Returns the default for a plan on virtual time, which does not depend on the machine. For a plan
    /// without files, devices and CPU load, it contains only what limits CPU time.
    pub(super) fn survey(plan: &Plan) -> MachineState {
        let depends = |job: &JobPlan| {
            let on_paths = job.target.files.iter().any(|file| file.kind.has_path());
            on_paths || job.engine.cpu_load().is_some()
        };
        if plan.jobs.iter().all(|job| job.engine.def().virtual_time) {
            return MachineState::default();
        }
        let root = Root::machine();
        if !plan.jobs.iter().any(depends) {
            return MachineState {
                at: Nanos(clock::monotonic()),
                own_user: own_user(),
                moment: Moment::now(&root),
                allowed: cpu::allowed().unwrap_or_default(),
                ..MachineState::default()
            };
        }
        let nodes = numa::nodes();
        let cpus = |node: usize| Some((node as u64, numa::cpus_of(node).ok()?));
        MachineState {
            at: Nanos(clock::monotonic()),
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

impl MachineState {
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

/// Returns the CPU time in user mode of the process and its child processes.
fn own_user() -> Nanos {
    let all = [ResourceUsage::of_process(), ResourceUsage::of_children()];
    all.into_iter().flatten().fold(Nanos::ZERO, |sum, usage| sum.saturating_add(usage.user))
}
