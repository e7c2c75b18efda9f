//! `direct-not-direct`: `direct=1` on something that has no direct I/O of its own.

use fiord_job::option::table::DIRECT;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::page_cache::in_memory;
use crate::machine::FileState;

pub(crate) const CHECK: Check = Check {
    id: "direct-not-direct",
    severity: Severity::Invalid,
    title: "direct=1 although I/O goes through memory",
    about: "`O_DIRECT` is only a request. tmpfs accepts it and serves data from memory; FUSE \
            passes it to a daemon, which may ignore it; ZFS before 2.3 accepts it but caches; \
            btrfs, since Linux 6.15, writes data with checksums through the page cache; a loop \
            device does direct I/O itself while the file below it may go through the page cache.",
    detection: "fiord checks the type of the file system, what `statx(2)` says about direct I/O \
                on the file (`STATX_DIOALIGN`, Linux 6.1), and `loop/dio` of a loop device below \
                it; for jobs that write to btrfs also the kernel version, the flags of the file \
                (`chattr +C`) and the mount options (`nodatasum`, `nodatacow`). The finding is \
                invalid for file systems in memory and suspect for the others.",
    effect: "4 KiB random reads with `direct=1` and `psync` reached 321k IOPS on tmpfs and 18.0k \
             on ext4 of the same virtual machine. 64 KiB sequential writes with `direct=1` to \
             btrfs (Linux 6.18, a loop device over memory) reached 219 MB/s, and 1.56 GB/s to a \
             file with `chattr +C` (medians of three).",
    remedy: "use a file on a file system with direct I/O (ext4, XFS), or the device itself (a job \
             that writes to it destroys the data on it); for a loop device, use `losetup \
             --direct-io=on`; on btrfs, run `chattr +C` on the directory before the file is \
             created in it, which turns checksums and copy-on-write off.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    for job in known.sections().filter(|job| job.target.open.direct) {
        let files = job.target.files.iter().filter_map(|file| known.machine.file(&file.path));
        let writes = job.load.mix.has(Dir::Write);
        if let Some(state) = files.clone().find(|state| writes && state.direct_writes_cached) {
            findings.report(btrfs(job, state));
            continue;
        }
        if let Some((path, name)) = files.clone().find_map(buffered_loop_device) {
            findings.report(loop_device(job, &path, &name));
            continue;
        }
        let mut finding = files.filter_map(finding);
        if let Some((path, kind, why, severity)) = finding.next() {
            let finding: FindingBuilder = CHECK
                .for_job(job, format!("direct=1 has no effect on {path}, which is on {kind}"))
                .evidence(why)
                .remedy(
                    "use a file on ext4 or XFS, or a device (a job that writes destroys the data on it); for a loop device, losetup --direct-io=on",
                )
                .option(DIRECT)
                .at_most(severity);
            findings.report(finding);
        }
    }
}

/// Returns the path and the kernel's name of a loop device whose file is not read with direct I/O.
fn buffered_loop_device(state: &FileState) -> Option<(String, String)> {
    match &state.on_loop {
        Some((name, false)) if state.kind == FileKind::Block => {
            Some((state.path.display().to_string(), name.clone()))
        }
        _ => None,
    }
}

fn loop_device(job: &JobPlan, path: &str, name: &str) -> FindingBuilder {
    let what = match path == format!("/dev/{name}") {
        true => format!("direct=1 does not reach the file of the loop device {path}"),
        false => {
            format!("direct=1 on {path} does not reach the file of the loop device /dev/{name}")
        }
    };
    CHECK
        .for_job(job, what)
        .evidence(buffered(name))
        .remedy(format!("losetup --direct-io=on /dev/{name}"))
        .option(DIRECT)
        .at_most(Severity::Suspect)
}

fn buffered(name: &str) -> String {
    format!("/sys/block/{name}/loop/dio is 0: I/O to its file goes through the page cache")
}

fn btrfs(job: &JobPlan, state: &FileState) -> FindingBuilder {
    let path = state.path.display();
    CHECK
        .for_job(job, format!("direct=1 has no effect on writes to {path}, which is on btrfs"))
        .evidence("since Linux 6.15, btrfs writes data with checksums through the page cache")
        .remedy("use a new file in a directory with chattr +C, which has no checksums; or use ext4 or XFS")
        .option(DIRECT)
        .at_most(Severity::Suspect)
}

/// Returns the path, what holds it, the evidence and the severity.
fn finding(state: &FileState) -> Option<(String, String, String, Severity)> {
    let path = state.path.display().to_string();
    let kind = state.file_system.as_deref().unwrap_or("an unknown file system").to_owned();
    let regular = state.kind == FileKind::Regular;
    let refused = regular && matches!(state.direct, Ok(Some(None)));
    if regular && in_memory(&kind) {
        let why = format!("{kind} keeps its files in memory");
        return Some((path, kind, why, Severity::Invalid));
    }
    if regular && (kind.starts_with("fuse") || kind == "virtiofs") {
        let why = format!("the process that serves {kind} decides whether I/O is direct");
        return Some((path, kind, why, Severity::Suspect));
    }
    if let Some((name, false)) = &state.on_loop {
        return Some((path, format!("/dev/{name}"), buffered(name), Severity::Suspect));
    }
    // A file that does not exist yet has no answer about direct I/O.
    let silent = state.facts.is_ok() && !matches!(state.direct, Ok(Some(Some(_))));
    if refused || kind == "zfs" && silent {
        let why = "statx says that direct I/O is not possible on this file".to_owned();
        let why = if refused { why } else { "ZFS before 2.3 accepts O_DIRECT but caches".into() };
        return Some((path, kind, why, Severity::Suspect));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_before, plan};

    fn reported(kind: &str, on_loop: Option<(String, bool)>, line: &str) -> Vec<Severity> {
        let (plan, _) =
            plan(&format!("--name=a --rw=read --size=1m --filename=/tmp/fiord-x {line}"));
        let mut machine = Machine::survey(&plan);
        machine.files[0].file_system = Ok(kind.into());
        machine.files[0].on_loop = on_loop;
        machine.files[0].direct = Ok(None);
        machine.files[0].direct_writes_cached = kind == "btrfs";
        let found = found_before(&CHECK, &Before { plan: &plan, machine: &machine });
        found.into_iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn a_loop_device_is_not_told_to_use_a_device() {
        let line = "--name=a --rw=read --size=1m --filename=/tmp/fiord-x --direct=1";
        let (plan, _) = plan(line);
        let mut machine = Machine::survey(&plan);
        let state = &mut machine.files[0];
        (state.kind, state.path) = (FileKind::Block, "/dev/loop0".into());
        state.on_loop = Some(("loop0".into(), false));
        let finding = loop_device(&plan.jobs[0], "/dev/loop0", "loop0").finding;
        assert_eq!(buffered_loop_device(state), Some(("/dev/loop0".into(), "loop0".into())));
        assert_eq!(finding.what, "direct=1 does not reach the file of the loop device /dev/loop0");
        assert_eq!(finding.remedy, "losetup --direct-io=on /dev/loop0");
    }

    #[test]
    fn reports_file_systems_and_loop_devices_without_direct_io() {
        assert_eq!(reported("tmpfs", None, "--direct=1"), [Severity::Invalid]);
        assert_eq!(reported("fuse.sshfs", None, "--direct=1"), [Severity::Suspect]);
        assert_eq!(
            reported("ext4", Some(("loop0".into(), false)), "--direct=1"),
            [Severity::Suspect]
        );
        assert_eq!(reported("ext4", Some(("loop0".into(), true)), "--direct=1"), []);
        assert_eq!(reported("ext4", None, "--direct=1"), []);
        assert_eq!(reported("tmpfs", None, ""), []);
        assert_eq!(reported("btrfs", None, "--direct=1"), [], "reads are direct");
        assert_eq!(reported("btrfs", None, "--direct=1 --rw=randwrite"), [Severity::Suspect]);
    }
}
