//! `thermal-throttle`: a drive or the CPUs slowed down because of heat during the run.

use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};

use crate::check::{After, Check, CollectedFindings};
use crate::machine::Unavailable;

pub(crate) const CHECK: Check = Check {
    id: "thermal-throttle",
    severity: Severity::Suspect,
    title: "a drive or CPU that slowed down because of heat",
    about: "A drive that gets too hot slows itself down, and so do CPUs. The result then depends \
            on the cooling: on a cooler day, or after a pause, it is different.",
    detection: "fiord reads counters before and after the run: transitions to thermal management \
                states, seconds in them and minutes above the warning temperature in the SMART \
                log of NVMe drives, and the throttle counts of CPU cores and packages. The check \
                is silent if none of them grew. The SMART log needs root.",
    effect: "Not measured: no drive was available that could be heated up.",
    remedy: "improve the airflow over the drive and pause between runs; `fiord devices` shows the \
             temperature.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for then in &known.before.devices.disks {
        if let Some(now) = known.after.devices.named(&then.name) {
            drive(then, now, findings);
        }
    }
    let throttles = |machine: &crate::machine::Machine| machine.surroundings.moment.cpu_throttles;
    if let (Some(then), Some(now)) = (throttles(known.before), throttles(known.after))
        && now > then
    {
        let finding = CHECK.for_run("CPUs were throttled because of heat during the run");
        findings.report(
            finding
                .evidence(format!("throttle counts of cores and packages grew by {}", now - then))
                .remedy(
                    "improve the cooling of the CPUs, or set a frequency limit that they can sustain",
                ),
        );
    }
}

fn drive(then: &Disk, now: &Disk, findings: &mut CollectedFindings) {
    let (Some(a), Some(b)) = (then.health.smart, now.health.smart) else {
        if then.bus == Bus::Nvme && !then.missing.is_empty() {
            findings
                .unavailable(&CHECK, &Unavailable("SMART log of NVMe drives: needs root".into()));
        }
        return;
    };
    let grown = |now: u32, then: u32| now.saturating_sub(then);
    let times: u32 = (0..2).map(|n| grown(b.throttled[n], a.throttled[n])).sum();
    let seconds: u32 = (0..2).map(|n| grown(b.throttled_seconds[n], a.throttled_seconds[n])).sum();
    let minutes = grown(b.warning_minutes, a.warning_minutes);
    if times + seconds + minutes == 0 {
        return;
    }
    let what = match times + seconds {
        0 => format!("{} became hotter than its warning temperature during the run", now.name),
        _ => format!("{} was throttled because of heat during the run", now.name),
    };
    let at = match now.health.temperature {
        Some(celsius) => format!(", now at {celsius:.0} °C"),
        None => String::new(),
    };
    findings.report(
        CHECK
            .for_run(what)
            .evidence(format!(
                "{times} transitions, {seconds} s slowed, {minutes} min above its warning \
                 temperature{at}"
            ))
            .remedy("improve the airflow over the drive, and pause before the run"),
    );
}

#[cfg(test)]
mod tests {
    use fiord_sys::survey::Smart;

    use super::*;
    use crate::tests::drives::{after, found_after, one_drive};

    #[test]
    fn reports_counters_that_grow() {
        let mut case = one_drive();
        case.disks(|disk| disk.health.smart = Some(Smart::default()));
        assert!(found_after(&CHECK, &case).is_empty());
        let hot = Smart { throttled: [2, 0], throttled_seconds: [31, 0], ..Smart::default() };
        case.after.devices.disks[0].health.smart = Some(hot);
        let found = found_after(&CHECK, &case);
        assert_eq!(found.len(), 1);
        assert!(found[0].evidence.starts_with("2 transitions, 31 s slowed"), "{found:?}");
        let warm = Smart { warning_minutes: 3, ..Smart::default() };
        let mut only_warm = one_drive();
        only_warm.disks(|disk| disk.health.smart = Some(Smart::default()));
        only_warm.after.devices.disks[0].health.smart = Some(warm);
        let found_warm = found_after(&CHECK, &only_warm);
        assert!(found_warm[0].what.contains("hotter than its warning"), "{found_warm:?}");
        case.machine.surroundings.moment.cpu_throttles = Some(5);
        case.after.surroundings.moment.cpu_throttles = Some(9);
        assert!(found_after(&CHECK, &case)[1].evidence.ends_with("grew by 4"));
    }

    #[test]
    fn a_missing_smart_log_is_reported_once() {
        let mut case = one_drive();
        assert!(after(&CHECK, &case).unchecked().is_empty(), "it may have none");
        case.disks(|disk| disk.missing.push("SMART"));
        let findings = after(&CHECK, &case);
        assert!(findings.is_empty() && findings.unchecked().len() == 1);
    }
}
