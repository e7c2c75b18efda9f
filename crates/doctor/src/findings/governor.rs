//! `governor`: CPUs that may run below their full speed, or sleep deeply, between I/Os.

use fiord_types::Nanos;

use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_sys::survey::Disk;

use crate::check::{Before, Check, CollectedFindings};

pub(crate) const CHECK: Check = Check {
    id: "governor",
    severity: Severity::Note,
    title: "CPUs that do not run at full speed",
    about: "With a governor other than `performance`, the CPU frequency follows the load. A job \
            that waits for a fast device leaves the CPU idle most of the time, so the kernel \
            lowers the frequency, and each I/O takes longer than necessary. Deep idle states have \
            a similar effect: waking from one can take longer than a fast device takes for an I/O.",
    detection: "If a job uses a drive without moving parts, fiord reads \
                `cpufreq/scaling_governor` of the CPUs that the job may use. If such a job has at \
                most 4 I/Os in flight, fiord also reads how long the slowest enabled idle state \
                takes to wake from: 100 µs or more is reported. The check is silent with \
                `performance`, and if the kernel does not control frequencies, as in virtual \
                machines.",
    effect: "Largest at depth 1 on fast devices. Not measured: on the virtual machine used for \
             measurements, the host controls frequencies.",
    remedy: "run `cpupower frequency-set -g performance`; for idle states, run `cpupower idle-set \
             -D 10`.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

/// Time to wake that is as long as an I/O of a fast flash drive.
const SLOW_WAKE: Nanos = Nanos::from_micros(100);
/// Maximum depth at which a CPU is idle between I/Os.
const SHALLOW: u32 = 4;

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let around = &known.machine.surroundings;
    let fast = |disk: &&Disk| disk.bus.is_hardware() && disk.queue.rotational == Some(false);
    let on_fast = |job: &JobPlan| known.machine.devices.of(job).iter().any(fast);
    let jobs: Vec<&JobPlan> = known.sections().filter(|job| on_fast(job)).collect();
    if jobs.is_empty() {
        return;
    }
    if let Some(governors) = &around.governors {
        let slow = governors.variable().intersection(&around.cpus_of_all(jobs.iter().copied()));
        if !slow.is_empty() {
            let names: Vec<&str> = governors
                .by_name
                .iter()
                .filter(|(name, _)| *name != "performance")
                .map(|(name, _)| name.as_str())
                .collect();
            let range = match governors.range_khz {
                Some((low, high)) => {
                    format!(", {:.1} to {:.1} GHz", low as f64 / 1e6, high as f64 / 1e6)
                }
                None => String::new(),
            };
            findings.report(
                CHECK
                    .for_run(format!("CPUs {slow} may run below their full speed"))
                    .evidence(format!("their governor is {}{range}", names.join(", ")))
                    .remedy("run cpupower frequency-set -g performance"),
            );
        }
    }
    let shallow = jobs.iter().any(|job| job.depth.depth <= SHALLOW);
    if let Some(sleep) = around.sleep.as_ref().filter(|s| shallow && s.wake >= SLOW_WAKE) {
        findings.report(
            CHECK
                .for_run("CPUs enter an idle state that is slow to wake from")
                .evidence(format!(
                    "waking from {} takes {} µs",
                    sleep.state,
                    sleep.wake.as_micros()
                ))
                .remedy("run cpupower idle-set -D 10"),
        );
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::conditions::{Governors, Sleep};
    use fiord_sys::cpu::CpuSet;

    use fiord_types::Nanos;

    use super::*;
    use crate::tests::drives::{found_before, one_drive};

    #[test]
    fn reports_slow_cpus_that_the_run_may_use() {
        let mut case = one_drive();
        assert!(found_before(&CHECK, &case).is_empty());
        let mut governors = Governors::default();
        governors.by_name.insert("powersave".into(), CpuSet::from_mask(0b110));
        governors.by_name.insert("performance".into(), CpuSet::from_mask(0b001));
        governors.range_khz = Some((800_000, 3_600_000));
        case.machine.surroundings.governors = Some(governors);
        case.machine.surroundings.allowed = CpuSet::from_mask(0b011);
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].what, "CPUs 1 may run below their full speed");
        assert!(found[0].evidence.contains("powersave, 0.8 to 3.6 GHz"), "{found:?}");
        case.job().process.cpus = Some(vec![0]);
        assert!(found_before(&CHECK, &case).is_empty(), "the job stays away from them");
        case.job().process.cpus = None;
        case.machine.surroundings.allowed = CpuSet::from_mask(0b001);
        assert!(found_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn deep_sleep_matters_at_low_depth() {
        let mut case = one_drive();
        case.machine.surroundings.sleep =
            Some(Sleep { state: "C6".into(), wake: Nanos::from_micros(133) });
        assert!(found_before(&CHECK, &case)[0].evidence.contains("C6 takes 133"));
        case.job().depth.depth = 32;
        assert!(found_before(&CHECK, &case).is_empty());
    }
}
