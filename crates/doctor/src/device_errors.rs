//! `device-errors`: the device counted errors during the run.

use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};

use crate::{After, Check, Findings, Gap};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "device-errors",
    severity: Severity::Suspect,
    title: "errors that the device counted",
    about: "The device repeated or mended something, or refused commands, and counted it. The time \
            that took is in the latencies although no I/O failed, and the number is one of a device \
            that should not be trusted.",
    seen: "Counters that are read before and after the run: media errors and entries of the error \
           log in the SMART log of NVMe drives, commands that ended with an error (`ioerr_cnt`) of \
           SCSI and ATA disks. A growing error log without media errors is a note: commands that a \
           drive does not know end there too. Silent when none grew.",
    effect: "Not measured here: no failing drive was at hand.",
    mend: "Find out which with `nvme error-log`, `smartctl -a` and `dmesg`; measure on a sound drive.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    for then in &known.before.devices.disks {
        if let Some(now) = known.after.devices.named(&then.name) {
            disk(then, now, findings);
        }
    }
}

fn disk(then: &Disk, now: &Disk, findings: &mut Findings) {
    let name = &now.name;
    if let (Some(a), Some(b)) = (then.health.scsi_errors, now.health.scsi_errors)
        && b > a
    {
        let told = CHECK.of_run(format!("commands of {name} ended with errors during the run"));
        findings.tell(
            told.evidence(format!("ioerr_cnt went from {a} to {b}"))
                .mend("a look at `dmesg` and `smartctl -a`, and a sound disk or cable"),
        );
    }
    match (then.health.smart, now.health.smart) {
        (Some(a), Some(b)) => {
            let media = b.media_errors.saturating_sub(a.media_errors);
            let entries = b.error_entries.saturating_sub(a.error_entries);
            if media + entries == 0 {
                return;
            }
            let told = CHECK
                .of_run(format!("{name} counted errors during the run"))
                .evidence(format!("{media} media errors, {entries} new entries in its error log"))
                .mend("a look at `nvme error-log` and `dmesg`, and a sound drive");
            findings.tell(if media == 0 { told.only(Severity::Note) } else { told });
        }
        _ if then.bus == Bus::Nvme && !then.missing.is_empty() => {
            findings.gap(&CHECK, &Gap("SMART log of NVMe drives: needs root".into()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::survey::Smart;

    use super::*;
    use crate::drives::{one_drive, told_after};

    #[test]
    fn counters_that_grow() {
        let mut case = one_drive();
        case.disks(|disk| {
            disk.health.smart = Some(Smart { error_entries: 3, ..Smart::default() });
            disk.health.scsi_errors = Some(4);
        });
        assert!(told_after(&CHECK, &case).is_empty(), "old errors are not this run's");
        case.after.devices.disks[0].health.scsi_errors = Some(6);
        assert!(told_after(&CHECK, &case)[0].evidence.ends_with("from 4 to 6"));
        case.after.devices.disks[0].health.scsi_errors = Some(4);
        let log = Smart { error_entries: 5, ..Smart::default() };
        case.after.devices.disks[0].health.smart = Some(log);
        assert_eq!(told_after(&CHECK, &case)[0].severity, Severity::Note);
        let media = Smart { media_errors: 1, ..log };
        case.after.devices.disks[0].health.smart = Some(media);
        let found = told_after(&CHECK, &case);
        assert_eq!(found[0].severity, Severity::Suspect);
        assert!(found[0].evidence.starts_with("1 media errors, 2 new"), "{found:?}");
    }
}
