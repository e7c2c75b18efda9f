//! Whether other programs used the CPUs of the jobs during the run, and how these CPUs spent their time.

use fiord_sys::conditions::CpuTime;
use fiord_sys::cpu::CpuSet;
use fiord_types::Nanos;

use crate::machine::{Evidence, MachineState, Unavailable};

/// Maximum share of CPU time in which other programs computed, and of the elapsed time in which
/// something waited for a CPU.
const OTHERS: f64 = 0.10;
const WAITED: f64 = 0.10;
/// If the CPUs were idle for a larger share of the time, the jobs had enough of them.
const IDLE: f64 = 0.10;
/// Converts ticks of `USER_HZ`.
#[cfg(test)]
pub(crate) fn ticks(count: u64) -> Nanos {
    Nanos::from_millis(10).saturating_mul(count)
}

/// Returns the CPU time between two snapshots; `None` below one second, because the kernel counts in
/// ticks of 10 ms.
pub(crate) fn cpu_time(then: &MachineState, now: &MachineState) -> Option<CpuTime> {
    let cpu = now.moment.cpu?.since(then.moment.cpu?);
    (cpu.total >= Nanos::from_secs(1)).then_some(cpu)
}

/// Other programs that computed, and the evidence that they slowed the run.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    /// Share of the other programs in the time of the CPUs that the jobs may use.
    pub share: f64,
    /// The CPUs that the jobs may use, if these are not all CPUs of the machine.
    pub cpus: Option<CpuSet>,
    /// The evidence that CPU time was short, in words.
    pub short: String,
}

/// Returns the time of the CPUs that the jobs may use, between two snapshots; `None` if they may use
/// all CPUs of the machine.
fn part_time(then: &MachineState, now: &MachineState, own: &CpuSet) -> Option<CpuTime> {
    let cpus = &now.moment.cpus;
    let mine = |cpu: &&(usize, CpuTime)| own.contains(cpu.0);
    if own.is_empty() || cpus.iter().all(|cpu| mine(&cpu)) {
        return None;
    }
    let since = |(number, time): &(usize, CpuTime)| {
        let before = then.moment.cpus.iter().find(|(known, _)| known == number)?;
        Some(time.since(before.1))
    };
    cpus.iter().filter(mine).map(since).try_fold(CpuTime::default(), |sum, one| Some(sum.and(one?)))
}

/// How the CPUs that jobs may use spent their time, as shares of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuShares {
    /// The hypervisor ran other virtual machines.
    pub stolen: f64,
    /// Other programs computed in user mode.
    pub others: f64,
    /// Nothing was there to run.
    pub idle: f64,
}

/// Returns how the CPUs `own` spent their time between two snapshots; `None` below one second.
pub(crate) fn cpu_shares(
    then: &MachineState,
    now: &MachineState,
    own: &CpuSet,
) -> Option<CpuShares> {
    let cpu = part_time(then, now, own).or_else(|| cpu_time(then, now))?;
    let share = |time: Nanos| time.0 as f64 / cpu.total.0 as f64;
    (cpu.total >= Nanos::from_secs(1)).then(|| CpuShares {
        stolen: cpu.stolen_share(),
        others: share(cpu.user.saturating_sub(own_time(then, now))),
        idle: share(cpu.idle),
    })
}

/// Returns the other programs that used the CPUs of the jobs between two snapshots, if any; an error if
/// the kernel does not report waiting times.
pub(crate) fn crowd(
    then: &MachineState,
    now: &MachineState,
    own: &CpuSet,
) -> Evidence<Option<Crowd>> {
    if let Some(cpu) = part_time(then, now, own) {
        return Ok(crowd_of_part(cpu, own_time(then, now), own));
    }
    let Some(cpu) = cpu_time(then, now) else { return Ok(None) };
    let share = cpu.user.saturating_sub(own_time(then, now)).0 as f64 / cpu.total.0 as f64;
    if share <= OTHERS {
        return Ok(None);
    }
    let (Some(a), Some(b)) = (then.moment.pressure.cpu, now.moment.pressure.cpu) else {
        return Err(Unavailable("waiting time for CPUs: /proc/pressure is off".into()));
    };
    let (waited, elapsed) =
        (b.since(a).some.as_millis(), now.at.saturating_sub(then.at).as_millis());
    let long = waited as f64 > WAITED * elapsed as f64;
    let short = format!("tasks waited for a CPU for {waited} of {elapsed} ms");
    Ok(long.then_some(Crowd { share, cpus: None, short }))
}

/// Returns the user time of the run between two snapshots.
fn own_time(then: &MachineState, now: &MachineState) -> Nanos {
    now.own_user.saturating_sub(then.own_user)
}

/// Returns other programs on the CPUs of jobs that may use only some CPUs of the machine. Waiting on
/// other CPUs does not affect the jobs, so the CPUs of the jobs must have been busy.
fn crowd_of_part(cpu: CpuTime, own: Nanos, cpus: &CpuSet) -> Option<Crowd> {
    let share = cpu.user.saturating_sub(own).0 as f64 / cpu.total.0.max(1) as f64;
    let idle = cpu.idle.0 as f64 / cpu.total.0.max(1) as f64;
    let short = format!("these were idle for {:.0} % of the time", idle * 100.0);
    let finding = cpu.total >= Nanos::from_secs(1) && share > OTHERS && idle < IDLE;
    finding.then(|| Crowd { share, cpus: Some(cpus.clone()), short })
}
