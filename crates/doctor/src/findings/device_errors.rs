//! `device-errors`: the device counted errors during the run.

use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};
use fiord_types::Errno;

use crate::check::{After, Check, CollectedFindings, Entry};
use crate::evidence::amount::SaidNumbers;
use crate::machine::Unavailable;

pub(crate) const CHECK: Check = Check {
    id: "device-errors",
    severity: Severity::Suspect,
    title: "the device reported errors",
    about: "The device retried or corrected something, or rejected commands, and counted that. \
            The time for it is in the latencies although no I/O failed, and the result describes \
            a device that should not be trusted.",
    detection: "fiord reads counters before and after the run: media errors and error log entries \
                in the SMART log of NVMe drives, and commands that ended with an error \
                (`ioerr_cnt`) of SCSI and ATA disks. An error log that grows without media errors \
                is a note, because drives also log commands that they do not support. The finding \
                also covers I/Os that failed in a job that continues after errors \
                (`continue_on_error`), if the first of them failed with an error that devices \
                cause: `EIO`, `ENODATA`, `EREMOTEIO`, `ENOLINK` or `ETIMEDOUT`.",
    effect: "A simulated SCSI disk (`scsi_debug`) that had to correct an error in every hundredth \
             of 4096 reads: `ioerr_cnt` grew by 40, and no I/O failed. A target that fails for \
             one second in three (`dm-flakey`): 200 of 600 I/Os at a rate of 200 per second \
             failed, and the latencies cover only the other 400.",
    remedy: "find the cause with `nvme error-log`, `smartctl -a` and `dmesg`, and measure on a \
             healthy drive.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

/// Errors that the block layer returns for failures of the device: medium, target, path, timeout.
const DEVICE: [&str; 5] = ["EIO", "ENODATA", "ENOLINK", "ETIMEDOUT", "EREMOTEIO"];

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    known.entries().iter().for_each(|entry| failed(known, entry, findings));
    for then in &known.before.devices.disks {
        if let Some(now) = known.after.devices.named(&then.name) {
            disk(then, now, findings);
        }
    }
}

/// Reports I/Os that failed in a job that continued.
fn failed(known: &After<'_>, entry: &Entry<'_>, findings: &mut CollectedFindings) {
    let Some(errors) = entry.report.errors.as_ref().filter(|errors| errors.total > 0) else {
        return;
    };
    let name = errors.first.map_or("", Errno::name);
    if !DEVICE.contains(&name) {
        return;
    }
    let mut disks: Vec<&str> = Vec::new();
    for disk in entry.jobs.iter().flat_map(|job| known.before.devices.of(job)) {
        // Only disks that consist of no other disks: one of them failed.
        if disk.members.is_empty() && !disks.contains(&disk.name.as_str()) {
            disks.push(&disk.name);
        }
    }
    if disks.is_empty() {
        return;
    }
    let ios: u64 = entry.report.dirs.iter().map(|row| row.total_ios).sum();
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_entry(entry, format!("I/Os of {} failed", entry.subject()))
        .evidence(format!(
            "{} failed and {} succeeded; the first failed with {name}; the latencies exclude failed I/Os",
            said.exact("failed", errors.total),
            said.exact("succeeded", ios)
        ))
        .numbers(said)
        .remedy(format!(
            "check `dmesg` for errors of {}, and use a healthy device",
            disks.join(", ")
        ));
    findings.report(finding);
}

fn disk(then: &Disk, now: &Disk, findings: &mut CollectedFindings) {
    let name = &now.name;
    if let (Some(a), Some(b)) = (then.health.scsi_errors, now.health.scsi_errors)
        && b > a
    {
        let finding = CHECK.for_run(format!("commands of {name} ended with errors during the run"));
        findings.report(
            finding
                .evidence(format!("ioerr_cnt went from {a} to {b}"))
                .remedy("check `dmesg` and `smartctl -a`, and use a healthy disk and cable"),
        );
    }
    match (then.health.smart, now.health.smart) {
        (Some(a), Some(b)) => {
            let media = b.media_errors.saturating_sub(a.media_errors);
            let entries = b.error_entries.saturating_sub(a.error_entries);
            if media + entries == 0 {
                return;
            }
            let finding = CHECK
                .for_run(format!("{name} counted errors during the run"))
                .evidence(format!("{media} media errors, {entries} new entries in its error log"))
                .remedy("check `nvme error-log` and `dmesg`, and use a healthy drive");
            findings.report(if media == 0 { finding.at_most(Severity::Note) } else { finding });
        }
        _ if then.bus == Bus::Nvme && !then.missing.is_empty() => {
            findings
                .unavailable(&CHECK, &Unavailable("SMART log of NVMe drives: needs root".into()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::survey::Smart;

    use fiord_stat::report::{DirKind, ErrorReport};

    use super::*;
    use crate::tests::drives::{found_after, one_drive};
    use crate::tests::fixture::row;

    #[test]
    fn reports_failed_ios() {
        let mut case = one_drive();
        let report = &mut case.report.jobs[0];
        report.name = "x".into();
        report.dirs = vec![row(DirKind::Read, 100.0, 10)];
        let ios = report.dirs[0].total_ios;
        let errors = |total, first| Some(ErrorReport { total, first, ..ErrorReport::default() });
        report.errors = errors(0, None);
        assert!(found_after(&CHECK, &case).is_empty());
        case.report.jobs[0].errors = errors(214, Some(Errno::EIO));
        let found = found_after(&CHECK, &case);
        assert_eq!(found[0].what, "I/Os of job x failed");
        let evidence = format!("214 failed and {ios} succeeded; the first failed with EIO");
        assert!(found[0].evidence.starts_with(&evidence), "{found:?}");
        // This error comes from verification, not from a device.
        case.report.jobs[0].errors = errors(3, Some(Errno::EILSEQ));
        assert!(found_after(&CHECK, &case).is_empty());
    }

    #[test]
    fn reports_error_counters_that_grow() {
        let mut case = one_drive();
        case.disks(|disk| {
            disk.health.smart = Some(Smart { error_entries: 3, ..Smart::default() });
            disk.health.scsi_errors = Some(4);
        });
        assert!(found_after(&CHECK, &case).is_empty(), "old errors are not this run's");
        case.after.devices.disks[0].health.scsi_errors = Some(6);
        assert!(found_after(&CHECK, &case)[0].evidence.ends_with("from 4 to 6"));
        case.after.devices.disks[0].health.scsi_errors = Some(4);
        let log = Smart { error_entries: 5, ..Smart::default() };
        case.after.devices.disks[0].health.smart = Some(log);
        assert_eq!(found_after(&CHECK, &case)[0].severity, Severity::Note);
        let media = Smart { media_errors: 1, ..log };
        case.after.devices.disks[0].health.smart = Some(media);
        let found = found_after(&CHECK, &case);
        assert_eq!(found[0].severity, Severity::Suspect);
        assert!(found[0].evidence.starts_with("1 media errors, 2 new"), "{found:?}");
    }
}
