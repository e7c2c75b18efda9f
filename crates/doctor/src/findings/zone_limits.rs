//! `zone-limits`: more writers than zones may be open, ranges that are not whole zones, writes that
//! are overtaken on their way to a zone.

use std::collections::BTreeMap;
use std::path::Path;

use fiord_job::option::table::{IODEPTH, NUMJOBS, OFFSET, OFFSET_INCREMENT, SIZE};
use fiord_job::option::value::Amount;
use fiord_job::spec::JobSpec;
use fiord_plan::{FilePlan, JobPlan, Plan, WriteCommand};
use fiord_stat::finding::Severity;
use fiord_sys::limits::{Kernel, kernel};
use fiord_sys::survey::{Disk, QueueZones};
use fiord_types::{Bytes, Dir};

use crate::check::{Before, Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::bytes;
use crate::evidence::setting::set;
use crate::evidence::synchronous::synchronous;
use crate::evidence::timing::{Concurrency, concurrent};
use crate::machine::Unavailable;

/// From this version on, the kernel itself keeps writes to a zone in order (zone write plugging).
const KEEPS_ORDER: Kernel = Kernel::new(6, 10);

pub(crate) const CHECK: Check = Check {
    id: "zone-limits",
    severity: Severity::Suspect,
    title: "jobs that do not match the zones of the device",
    about: "A zoned device limits how many zones can be written at a time (open or active zones). \
            If more jobs write than that, some wait for a zone of another job: they take turns, \
            and the waiting time is in their latencies. A range that does not consist of whole \
            zones is made smaller, so the job writes less than it says. Without `zonemode=zbd`, \
            nothing keeps the writes within a zone in order, and writes that arrive out of order \
            fail.",
    detection: "More jobs write to a file or device at the same time than `max_open_zones` \
                permits, or, without it, than the smaller of `queue/max_open_zones` and \
                `queue/max_active_zones` permits (the check also counts jobs that write to \
                conventional zones, although these zones have no limit). A `size`, `offset` or \
                `offset_increment` in bytes that is not a multiple of the zone size is a note, or \
                suspect if a job without `zonemode=zbd` writes to a zoned device. Also without \
                `zonemode=zbd`: several writes in flight on a kernel before 6.10 with a scheduler \
                other than `mq-deadline`. The check ignores the device's limits with \
                `ignore_zone_limits`, and the order for zone appends.",
    effect: "With four jobs on two open zones, two jobs wait at any time, which is in their \
             latencies. Not measured on a zoned drive.",
    remedy: "set `numjobs` to at most `max_open_zones`; state sizes in zones (`size=8z`, \
             `offset=2z`, `offset_increment=8z`); or set `zonemode=zbd`.",
    lint: Some(lint),
    before: Some(before),
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    for (path, jobs) in writers(known.plan) {
        let limits = jobs.iter().filter_map(|job| job.load.zoned.and_then(|zoned| zoned.max_open));
        if let Some(limit) = limits.min() {
            let who = format!("max_open_zones={limit}");
            findings.report_if(crowd(known.plan, path, &jobs, u64::from(limit), &who));
        }
    }
    for job in known.sections().filter(|job| job.load.zoned.is_some()) {
        if let Some(spec) = known.spec(job) {
            findings.report_if(rounded(job, spec));
        }
    }
}

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let disk_of = |path: &Path| {
        let node = known.machine.devices.node(path);
        known.machine.devices.under(path).find(|disk| disk.node() == node)
    };
    for (path, jobs) in writers(known.plan) {
        let said = |job: &&JobPlan| {
            job.load.zoned.is_some_and(|zoned| zoned.ignore_limits || zoned.max_open.is_some())
        };
        let disk = disk_of(path);
        let limit = disk.and_then(|disk| disk.queue.zones.as_ref()).and_then(limit);
        if let (Some(limit), false) = (limit, jobs.iter().any(said)) {
            findings.report_if(crowd(known.plan, path, &jobs, limit, "the device"));
        }
    }
    // Jobs with `zonemode=zbd` keep the order and use whole zones by themselves.
    for job in known.sections().filter(|job| job.load.zoned.is_none() && writes(job)) {
        for file in &job.target.files {
            let Some(disk) = disk_of(&file.path) else { continue };
            if let Some(zones) = &disk.queue.zones {
                findings.report_if(in_pieces(job, file, zones));
            }
            if overtaking(job, disk) {
                let version = kernel().map_err(|error| Unavailable::of(&error));
                if let Some(version) = findings.available(&CHECK, &version) {
                    findings.report_if(out_of_order(job, disk, *version));
                }
            }
        }
    }
}

/// Returns the jobs that write to each file or device.
fn writers(plan: &Plan) -> BTreeMap<&Path, Vec<&JobPlan>> {
    let mut writers: BTreeMap<&Path, Vec<&JobPlan>> = BTreeMap::new();
    for job in plan.jobs.iter().filter(|job| writes(job)) {
        for file in &job.target.files {
            writers.entry(&file.path).or_default().push(job);
        }
    }
    writers
}

fn writes(job: &JobPlan) -> bool {
    job.load.mix.has(Dir::Write)
}

/// Returns how many zones can be written at a time; `None` without a limit.
fn limit(zones: &QueueZones) -> Option<u64> {
    [zones.max_open, zones.max_active].into_iter().filter(|most| *most > 0).min()
}

/// Reports more concurrent writers than zones that may be open.
fn crowd(
    plan: &Plan,
    path: &Path,
    jobs: &[&JobPlan],
    limit: u64,
    who: &str,
) -> Option<FindingBuilder> {
    let at_once = |one: &JobPlan| {
        let others = jobs.iter().filter(|job| job.identity.index != one.identity.index);
        1 + others.filter(|job| concurrent(plan, one, job) == Concurrency::Yes).count() as u64
    };
    let (most, job) = jobs.iter().map(|job| (at_once(job), *job)).max_by_key(|(n, _)| *n)?;
    if most <= limit {
        return None;
    }
    let shown = path.display();
    let finding = CHECK
        .for_job(
            job,
            format!("{most} jobs write to {shown} at once, and {limit} zones may be open"),
        )
        .evidence(format!(
            "{who} permits {limit}: {} jobs wait for a zone of another job",
            most - limit
        ))
        .remedy(format!("run at most {limit} jobs at a time (numjobs={limit})"))
        .option(NUMJOBS);
    Some(finding)
}

/// Reports a size in bytes that is not whole zones. The plan has already shortened the range.
fn rounded(job: &JobPlan, spec: &JobSpec) -> Option<FindingBuilder> {
    let file = job.target.files.first()?;
    let zone = file.zones?.size.max(Bytes(1));
    let one = job.target.files.len() == 1;
    // The files of a job share its `size`.
    let size = spec.get(SIZE).filter(|_| one);
    let sizes = [
        (OFFSET.def(), spec.explicit(OFFSET)),
        (SIZE.def(), size),
        (OFFSET_INCREMENT.def(), spec.explicit(OFFSET_INCREMENT)),
    ];
    let (option, typed) = sizes.into_iter().find_map(|(option, size)| match size {
        Some(Amount::Bytes(n)) if !n.is_multiple_of(zone.0) => Some((option, n)),
        _ => None,
    })?;
    let name = option.name;
    let whole = set(option, format!("{}z", typed.div_ceil(zone.0)));
    let finding = CHECK
        .for_job(job, format!("{name} of job {} is not whole zones", job.identity.name))
        .evidence(format!(
            "{name}={typed}, zones of {zone} bytes: the job uses {} from byte {} on",
            bytes(file.len),
            file.offset
        ))
        .remedy(format!("set {whole}"))
        .settings([whole])
        .at_most(Severity::Note)
        .option(option);
    Some(finding)
}

/// Reports a job without `zonemode=zbd` whose range of a zoned device begins or ends within a zone.
fn in_pieces(job: &JobPlan, file: &FilePlan, zones: &QueueZones) -> Option<FindingBuilder> {
    let size = zones.size.max(Bytes(1));
    if file.offset.is_multiple_of(size) && (file.offset + file.len).is_multiple_of(size) {
        return None;
    }
    let (name, path) = (&job.identity.name, file.path.display());
    let finding = CHECK
        .for_job(job, format!("job {name} writes parts of zones of {path}"))
        .evidence(format!("{} bytes from byte {} on, zones of {size} bytes", file.len, file.offset))
        .remedy("set zonemode=zbd, and state sizes in zones (size=8z)")
        .option(SIZE);
    Some(finding)
}

/// Returns whether a job can have several writes to a zone in flight.
fn overtaking(job: &JobPlan, disk: &Disk) -> bool {
    let commands = &job.load.write_commands;
    let appends = !commands.is_empty()
        && commands.iter().all(|(command, _)| *command == WriteCommand::Append);
    let queues = synchronous(job).is_none() && job.depth.depth > 1;
    disk.queue.zones.is_some() && queues && !appends
}

fn out_of_order(job: &JobPlan, disk: &Disk, version: Kernel) -> Option<FindingBuilder> {
    let (scheduler, _) = disk.queue.scheduler.as_ref()?;
    if version >= KEEPS_ORDER || scheduler == "mq-deadline" {
        return None;
    }
    let name = &job.identity.name;
    let finding = CHECK
        .for_job(job, format!("writes of job {name} may overtake each other on {}", disk.name))
        .evidence(format!(
            "iodepth={}, Linux {version} with queue/scheduler {scheduler}: before Linux {KEEPS_ORDER}, only \
             mq-deadline keeps the order in a zone",
            job.depth.depth
        ))
        .remedy("set zonemode=zbd, or ioscheduler=mq-deadline")
        .option(IODEPTH);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_sys::zone::Model;
    use fiord_types::JobIndex;

    use super::*;
    use crate::tests::drives::{Case, found_before, one_drive};
    use crate::tests::fixture::{found_once, lint};

    const MIB: u64 = 1 << 20;

    #[test]
    fn reports_more_writers_than_open_zones() {
        let job = "--name=a --filename=f --zonemode=zbd --zonesize=1m --rw=write --bs=64k --size=2m \
                   --offset_increment=2m --max_open_zones=2";
        let found = found_once(
            &CHECK,
            &format!("{job} --numjobs=4"),
            &[
                &format!("{job} --numjobs=2"),
                &format!("{job} --numjobs=4 --rw=read --read_beyond_wp=1"),
                &format!("{job} {}", format!("{job} --stonewall ").repeat(2)),
            ],
        );
        assert_eq!(found.what, "4 jobs write to f at once, and 2 zones may be open");
        assert_eq!(found.severity, Severity::Suspect);
    }

    #[test]
    fn reports_ranges_that_are_not_whole_zones() {
        let job = "--name=a --filename=f --zonemode=zbd --zonesize=1m --rw=write --bs=64k";
        let found = found_once(
            &CHECK,
            &format!("{job} --size=2560k"),
            &[&format!("{job} --size=2m"), &format!("{job} --size=2z --offset=1z")],
        );
        assert_eq!((found.severity, found.remedy.as_str()), (Severity::Note, "set size=3z"));
        let odd = lint(&CHECK, &format!("{job} --size=2m --offset=100k"));
        assert!(odd[0].evidence.starts_with("offset=102400"), "{odd:?}");
    }

    /// Returns a drive with zones of 1 MiB, of which two may be active, and a job that writes two zones.
    fn zoned_drive() -> Case {
        let mut case = one_drive().writing();
        case.disks(|disk| {
            disk.queue.zones = Some(QueueZones {
                model: Model::HostManaged,
                count: 64,
                size: Bytes(MIB),
                max_open: 4,
                max_active: 2,
                max_append: None,
            });
        });
        let file = &mut case.job().target.files[0];
        (file.offset, file.len) = (Bytes::ZERO, Bytes(2 * MIB));
        case
    }

    #[test]
    fn the_limits_of_the_device_count() {
        let mut case = zoned_drive();
        assert!(found_before(&CHECK, &case).is_empty());
        let one = case.plan.jobs[0].clone();
        for index in 1..3 {
            let mut job = one.clone();
            (job.identity.index, job.identity.instance) = (JobIndex(index), index as u32);
            case.plan.jobs.push(job);
        }
        let found = found_before(&CHECK, &case);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].evidence.starts_with("the device permits 2: 1 jobs wait"), "{found:?}");
    }

    #[test]
    fn reports_parts_of_zones_without_zonemode() {
        let mut case = zoned_drive();
        case.job().target.files[0].len += Bytes(4096);
        assert!(found_before(&CHECK, &case)[0].what.contains("parts of zones"));
    }

    #[test]
    fn old_kernels_keep_the_order_only_with_mq_deadline() {
        let mut case = zoned_drive();
        let set = |name: &str| Some((name.to_owned(), vec![name.to_owned()]));
        case.disks(|disk| disk.queue.scheduler = set("none"));
        case.job().depth.depth = 1;
        assert!(!overtaking(&case.plan.jobs[0], &case.machine.devices.disks[0]));
        case.job().depth.depth = 8;
        let reported = |case: &Case, version| {
            let (job, disk) = (&case.plan.jobs[0], &case.machine.devices.disks[0]);
            assert!(overtaking(job, disk));
            out_of_order(job, disk, version).is_some()
        };
        assert!(reported(&case, Kernel::new(6, 1)));
        assert!(!reported(&case, Kernel::new(6, 10)));
        case.disks(|disk| disk.queue.scheduler = set("mq-deadline"));
        assert!(!reported(&case, Kernel::new(6, 1)));
    }
}
