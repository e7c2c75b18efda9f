//! `volatile-cache`: direct writes that nothing flushes end in a cache that forgets them.

use fiord_plan::{Dir, JobPlan, SyncMode};
use fiord_stat::finding::Severity;
use fiord_sys::survey::Disk;

use crate::{Before, Check, Findings};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "volatile-cache",
    severity: Severity::Note,
    title: "writes that end in a volatile cache",
    about: "The device has a cache that loses its contents with the power, and the job writes \
            without ever asking for a flush. `direct=1` passes the kernel's cache, not the \
            device's: the write is done when the device's memory has it. For a database or a \
            journal, which must flush, the number is too good.",
    seen: "`queue/write_cache` of the hardware under the job is `write back`, the job writes with \
           `direct=1`, and has neither `fsync`, `fdatasync`, `sync`, `write_barrier`, `end_fsync` \
           nor `sync_file_range`. Silent with any of them, and on devices that write through (those \
           with protection against power loss say so).",
    effect: "As large as the gap between the cache and the medium. Not measured here.",
    mend: "`fsync=1` or `sync=dsync` where durable writes are the question, `end_fsync=1` so that \
           the flush is in the time.",
    lint: None,
    before: Some(before),
    after: None,
};

fn before(known: &Before<'_>, findings: &mut Findings) {
    for job in known.sections().filter(|job| unflushed(job)) {
        let volatile = |disk: &&&Disk| {
            disk.bus.is_hardware() && disk.queue.write_cache.as_deref() == Some("write back")
        };
        let disks = known.machine.devices.of(job);
        let names: Vec<&str> =
            disks.iter().filter(volatile).map(|disk| disk.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let name = &job.identity.name;
        findings.tell(
            CHECK
                .of_job(job, format!("job {name} writes to a volatile cache and never flushes it"))
                .evidence(format!("queue/write_cache of {} is write back", names.join(", ")))
                .mend("end_fsync=1, or fsync=1 or sync=dsync where durable writes are meant"),
        );
    }
}

fn unflushed(job: &JobPlan) -> bool {
    let load = &job.load;
    load.mix.has(Dir::Write)
        && job.target.open.direct
        && job.target.open.sync == SyncMode::None
        && load.fsync == 0
        && load.fdatasync == 0
        && load.write_barrier == 0
        && load.sync_file_range.is_none()
        && !load.end_fsync
        && !load.end_syncfs
        && !load.fsync_on_close
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::{one_drive, told_before};

    #[test]
    fn told_of_writers_that_never_flush() {
        let mut case = one_drive().writing();
        assert!(told_before(&CHECK, &case).is_empty(), "it writes through");
        case.disks(|disk| disk.queue.write_cache = Some("write back".into()));
        assert!(told_before(&CHECK, &case)[0].evidence.contains("nvme0n1 is write back"));
        case.job().load.end_fsync = true;
        assert!(told_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn readers_do_not_care() {
        let mut case = one_drive();
        case.disks(|disk| disk.queue.write_cache = Some("write back".into()));
        assert!(told_before(&CHECK, &case).is_empty());
    }
}
