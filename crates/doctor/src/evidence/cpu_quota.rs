//! How long control groups had to wait for CPU time during the run.

use fiord_sys::conditions::CpuQuota;
use fiord_types::Nanos;

use crate::machine::MachineState;

/// How to keep the kernel from taking the CPUs away.
pub(crate) const REMEDY: &str = "run in another control group, or raise cpu.max";

/// A control group that the kernel kept from the CPUs because it had used up its quota.
pub(crate) struct ThrottledGroup<'a> {
    /// The group before and after the run.
    then: &'a CpuQuota,
    now: &'a CpuQuota,
}

impl ThrottledGroup<'_> {
    /// The path of the group.
    pub(crate) fn name(&self) -> &str {
        &self.now.group
    }

    /// In how many periods it was throttled.
    pub(crate) fn times(&self) -> u64 {
        self.now.throttled.saturating_sub(self.then.throttled)
    }

    /// For how long it was throttled.
    pub(crate) fn waited(&self) -> Nanos {
        self.now.throttled_time.saturating_sub(self.then.throttled_time)
    }

    /// Describes the quota in words.
    pub(crate) fn quota(&self) -> String {
        let period = self.now.period.as_micros();
        match self.now.quota {
            Some(quota) => {
                format!("{} µs of CPU time in each {period} µs", quota.as_micros())
            }
            None => "no quota of its own".into(),
        }
    }
}

/// Returns the groups of this process that had to wait for at least 1 ms between two snapshots.
pub(crate) fn throttled_groups<'a>(
    then: &'a MachineState,
    now: &'a MachineState,
) -> Vec<ThrottledGroup<'a>> {
    let earlier = &then.moment.quotas.cpu;
    let one = |now: &'a CpuQuota| {
        let then = earlier.iter().find(|then| then.group == now.group)?;
        let group = ThrottledGroup { then, now };
        (group.times() > 0 && group.waited() >= Nanos::from_millis(1)).then_some(group)
    };
    now.moment.quotas.cpu.iter().filter_map(one).collect()
}
