//! `clock-source`: the kernel's clock is slow to read.

use fiord_stat::finding::Severity;

use crate::check::{After, Before, Check, CollectedFindings};
use crate::evidence::amount::SaidNumbers;

pub(crate) const CHECK: Check = Check {
    id: "clock-source",
    severity: Severity::Suspect,
    title: "a clock that is slow to read",
    about: "A kernel that does not trust the processor's time stamp counter reads a timer on the \
            mainboard instead, with a system call that takes a microsecond or more. Each I/O \
            whose latency is measured then takes longer by two such reads, and everything else \
            that reads the time is slower too.",
    detection: "`current_clocksource` is `hpet`, `acpi_pm`, `refined-jiffies` or `jiffies`, or \
                one read of the clock that the run uses took more than 300 ns when fiord measured \
                it at the start. The check is silent otherwise, and if all jobs select a clock \
                with `clocksource`.",
    effect: "Two reads per I/O: at 2 µs per read, one thread cannot exceed 250,000 IOPS. \
             (Computed; the machine used for measurements reads its clock in 9 ns.)",
    remedy: "boot with `tsc=reliable` on the kernel command line if the time stamp counters are \
             synchronized (`dmesg | grep -i tsc` says why the kernel does not use them), or \
             update the firmware.",
    lint: None,
    before: Some(before),
    after: Some(after),
    hosts: None,
};

/// Maximum cost of one clock read, in ns: about ten times the cost without a system call.
const SLOW: f64 = 300.0;
/// Clocks whose timer is on the mainboard.
const BOARD: [&str; 4] = ["hpet", "acpi_pm", "refined-jiffies", "jiffies"];
const REMEDY: &str = "boot with tsc=reliable on the kernel command line, or update the firmware";

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let Some((now, all)) = &known.machine.surroundings.clock else { return };
    let asked = known.plan.jobs.iter().all(|job| job.record.clock.is_some());
    if asked || !BOARD.contains(&now.as_str()) {
        return;
    }
    findings.report(
        CHECK
            .for_run(format!("the kernel's clock is {now}, which is slow to read"))
            .evidence(format!("current_clocksource is {now} of {}", all.join(", ")))
            .remedy(REMEDY),
    );
}

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let Some(clock) = &known.report.extras.clock else { return };
    let asked = known.plan.jobs.iter().all(|job| job.record.clock.is_some());
    if !asked && clock.cost_ns > SLOW {
        let mut said = SaidNumbers::default();
        findings.report(
            CHECK
                .for_run("the run's clock is slow to read")
                .evidence(format!(
                    "one read of {} takes {}",
                    clock.source,
                    said.time("read", clock.cost_ns.round())
                ))
                .numbers(said)
                .remedy(REMEDY),
        );
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::ClockReport;

    use super::*;
    use crate::tests::drives::{found_after, found_before, one_drive};

    #[test]
    fn slow_clocks() {
        let mut case = one_drive();
        let clock = |now: &str| Some((now.to_owned(), vec!["tsc".to_owned(), now.to_owned()]));
        case.machine.surroundings.clock = clock("kvm-clock");
        assert!(found_before(&CHECK, &case).is_empty());
        case.machine.surroundings.clock = clock("hpet");
        assert_eq!(
            found_before(&CHECK, &case)[0].evidence,
            "current_clocksource is hpet of tsc, hpet"
        );
        let cost = |cost_ns| {
            Some(ClockReport { source: "clock_gettime".into(), cost_ns, resolution_ns: 1.0 })
        };
        case.report.extras.clock = cost(25.0);
        assert!(found_after(&CHECK, &case).is_empty());
        case.report.extras.clock = cost(1400.0);
        assert!(found_after(&CHECK, &case)[0].evidence.contains("1.4 us"));
        case.job().record.clock = Some(fiord_plan::ClockSource::ClockGettime);
        assert!(found_after(&CHECK, &case).is_empty() && found_before(&CHECK, &case).is_empty());
    }
}
