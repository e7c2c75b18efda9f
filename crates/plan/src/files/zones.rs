//! The zones of a file (`zonemode=zbd`): those that the device reports or that fiord emulates, and
//! the rounding of regions to whole zones.

use std::path::Path;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    BS, DIRECT, FILENAME, MAX_OPEN_ZONES, OFFSET, SIZE, ZONECAPACITY, ZONEMODE, ZONESIZE, ZONESKIP,
};
use fiord_job::option::value::Amount;
use fiord_sys::nvme::CommandSet;
use fiord_types::{Bytes, Dir};

use crate::files::region::Region;
use crate::files::usage::Candidate;
use crate::machine::facts::{Passthrough, ZoneFacts};
use crate::machine::survey::Survey;
use crate::model::{BlockSize, FileKind, Load, Zoned, Zones};
use crate::options::reading::Reading;

/// The smallest size of a zone in bytes.
const SECTOR: u64 = 512;

/// The zones of a file. `None`: it has no zones, or none that the job can use, and a message says
/// why.
pub(crate) fn of_file(
    candidate: Candidate,
    kind: FileKind,
    load: &Load,
    survey: &mut Survey,
) -> Option<Zones> {
    let Candidate { job, path, usage } = candidate;
    let real = match real(path, kind, survey) {
        Real::Zoned(facts) => Some(facts),
        Real::Plain if job.spec.engine().needs_zones => {
            job.report(without_zones(job, path));
            return None;
        }
        Real::Plain => None,
        Real::Unknown(_) if load.zoned.is_none() => None,
        Real::Unknown(why) => {
            job.report(
                job.error(
                    FILENAME,
                    format!("cannot determine the zones of `{}`: {why}", path.display()),
                )
                .help("To fix: name its block device, or leave out `zonemode=zbd`"),
            );
            return None;
        }
    };
    let writes = load.mix.has(Dir::Write);
    let Some(zoned) = load.zoned else {
        if real.is_some() && (writes || load.mix.has(Dir::Trim)) {
            job.report(
                job.warning(
                    ZONEMODE,
                    format!(
                        "`{}` is a zoned device: writes that are not at the write pointer of \
                         a zone fail",
                        path.display()
                    ),
                )
                .help("To fix: add `zonemode=zbd`"),
            );
        }
        return None;
    };
    let zones = match real {
        Some(facts) => device(job, path, facts, &zoned)?,
        None => emulated(job, path)?,
    };
    skips(job, zones);
    let commands = job.spec.engine().access.sends_commands();
    if real.is_some() && writes && !usage.access.direct && !commands && kind == FileKind::Block {
        job.report(
            job.error(
                DIRECT,
                format!(
                    "Using direct I/O is mandatory for writing to ZBD drives: writes through the \
                     page cache reach `{}` in a different order than its zones require",
                    path.display()
                ),
            )
            .help("To fix: add `direct=1`"),
        );
    }
    blocks(job, load, zones);
    Some(zones)
}

/// The error for a device without zones and an engine that needs them.
fn without_zones(job: Reading, path: &Path) -> Diagnostic {
    let engine = job.spec.engine().name;
    let what = format!(
        "`{}` is not a zoned device, and `ioengine={engine}` works only on zoned disks",
        path.display()
    );
    job.error(FILENAME, what).help("To fix: use `ioengine=sg`, or name a zoned disk")
}

/// Refuses `zoneskip`, which does not work with zones that are written sequentially.
fn skips(job: Reading, zones: Zones) {
    let (asked, whole) = match job.get(ZONESKIP) {
        Amount::Bytes(0) => return,
        Amount::Bytes(bytes) => (bytes.to_string(), Bytes(bytes).is_multiple_of(zones.size)),
        Amount::Zones(count) => (format!("{count}z"), true),
        Amount::Percent(percent) => (format!("{percent}%"), true),
    };
    let what = match whole {
        true => {
            format!("`zoneskip` must be 0 with `zonemode=zbd`, not {asked}: the job skips no zone")
        }
        false => {
            format!("zoneskip {asked} is not a multiple of the device zone size {}", zones.size)
        }
    };
    job.report(job.error(ZONESKIP, what).help("To fix: leave it out, or use `zonemode=strided`"));
}

/// The zones of a target itself, without emulation.
enum Real {
    Zoned(ZoneFacts),
    /// The target has no zones.
    Plain,
    /// The target accepts commands that bypass the block layer, and it is unknown whether it has
    /// zones. Emulated zones would overwrite the real ones.
    Unknown(String),
}

fn real(path: &Path, kind: FileKind, survey: &mut Survey) -> Real {
    if !matches!(kind, FileKind::Block | FileKind::Char) {
        return Real::Plain;
    }
    if let Some(facts) = survey.facts.zones(path) {
        return Real::Zoned(facts);
    }
    match survey.facts.passthrough(path).filter(|_| kind == FileKind::Char) {
        None => Real::Plain,
        Some(Passthrough::Nvme) => of_namespace(path, survey),
        Some(Passthrough::Scsi) => match survey.facts.block_sibling(path) {
            Some(_) => Real::Plain,
            None => Real::Unknown("it has no block device, and reports none itself".into()),
        },
    }
}

/// The zones of an NVMe namespace, according to its Identify data. Used if the namespace has no
/// block device or no entry in sysfs.
fn of_namespace(path: &Path, survey: &mut Survey) -> Real {
    let device = match survey.namespace(path) {
        Ok(device) => device,
        Err(why) => return Real::Unknown(why.to_string()),
    };
    let block = device.namespace.format.data.0;
    match (device.command_set, device.zoned) {
        (_, Some(zoned)) => match zoned.zone_blocks.checked_mul(block).filter(|size| *size > 0) {
            Some(zone_size) => Real::Zoned(ZoneFacts {
                zone_size,
                max_open: zoned.max_open,
                max_active: zoned.max_active,
            }),
            None => Real::Unknown("it reports zones without a size".into()),
        },
        (CommandSet::Zoned, None) => Real::Unknown("it does not report their size".into()),
        _ => Real::Plain,
    }
}

fn device(job: Reading, path: &Path, facts: ZoneFacts, zoned: &Zoned) -> Option<Zones> {
    let asked = job.get(ZONESIZE).0;
    if asked > 0 && asked != facts.zone_size {
        job.report(
            job.error(
                ZONESIZE,
                format!(
                    "job parameter zonesize {asked} does not match disk zone size {}, which `{}` \
                     reports",
                    facts.zone_size,
                    path.display()
                ),
            )
            .help("To fix: leave it out: fiord reads it from the device"),
        );
        return None;
    }
    if let (Some(most), Some(limit)) = (zoned.max_open, facts.limit())
        && most > limit
        && !zoned.ignore_limits
    {
        // Name the limit of the device that the job exceeds.
        let which = match facts.max_active {
            Some(active) if active < most => "Exceeded max_active_zones limit: ",
            _ => "",
        };
        job.report(
            job.error(
                MAX_OPEN_ZONES,
                format!(
                    "{which}`max_open_zones={most}` is more than the {limit} zones that `{}` can \
                     have open",
                    path.display()
                ),
            )
            .help(format!("To fix: write {limit} or less, or add `ignore_zone_limits=1`")),
        );
    }
    Some(Zones { size: Bytes(facts.zone_size), emulated: None })
}

fn emulated(job: Reading, path: &Path) -> Option<Zones> {
    let size = job.get(ZONESIZE);
    if size == Bytes::ZERO {
        job.report(
            job.error(
                ZONESIZE,
                format!(
                    "Specifying the zone size is mandatory for regular file/block device with \
                     --zonemode=zbd: `{}` is not a zoned device",
                    path.display()
                ),
            )
            .help("To fix: write the size of the zones to emulate: `zonesize=256m`"),
        );
        return None;
    }
    if size < Bytes(SECTOR) {
        job.report(
            job.error(
                ZONESIZE,
                format!(
                    "zone size must be at least 512 bytes for --zonemode=zbd: `zonesize={size}` is \
                     less than a sector"
                ),
            )
            .help("To fix: write a multiple of 512: `zonesize=256m`"),
        );
        return None;
    }
    let capacity = Some(job.get(ZONECAPACITY)).filter(|c| *c > Bytes::ZERO).unwrap_or(size);
    if capacity > size {
        job.report(
            job.error(
                ZONECAPACITY,
                format!("job parameter zonecapacity {capacity} is larger than zone size {size}"),
            )
            .help("To fix: write no more than `zonesize`"),
        );
        return None;
    }
    Some(Zones { size, emulated: Some(capacity) })
}

/// Refuses block sizes of which none fits a zone. Larger blocks of a range are cut.
fn blocks(job: Reading, load: &Load, zones: Zones) {
    let capacity = zones.emulated.unwrap_or(zones.size);
    let dirs = [Dir::Read, Dir::Write].into_iter().filter(|dir| load.mix.has(*dir));
    let least = dirs.map(|dir| load.blocks[dir].min()).max().unwrap_or(0);
    if Bytes::from(least) > capacity {
        job.report(
            job.error(
                BS,
                format!(
                    "I/O buflen exceeds zone size: blocks of {least} bytes, and zones of {capacity}"
                ),
            )
            .help(format!("To fix: write `bs={capacity}` or less")),
        );
    }
    let trim = &load.blocks[Dir::Trim];
    if load.mix.has(Dir::Trim) && *trim != BlockSize::Fixed(zones.size.0.try_into().unwrap_or(0)) {
        job.report(
            job.error(
                BS,
                format!("trim block size {} is not the zone size {}", trim.max(), zones.size),
            )
            .help(format!("To fix: write `bs=,,{}`: a trim resets a whole zone", zones.size)),
        );
    }
}

/// Shrinks a region to whole zones. `None`: it contains no zone, or extends past the end of the
/// target, and a message says so.
pub(crate) fn whole(candidate: Candidate, region: Region, zones: Option<Zones>) -> Option<Region> {
    let Candidate { job, path, .. } = candidate;
    let Some(zones) = zones else { return Some(region) };
    let shown = path.display();
    if let Some(asked) = region.asked {
        job.report(
            job.error(
                SIZE,
                format!(
                    "the range of {asked} bytes at offset {} extends past the end of \
                     `{shown}`, which has {} bytes there",
                    region.offset, region.len
                ),
            )
            .help(format!(
                "To fix: use a smaller `size`: `{shown}` has {} zones from there",
                region.len / zones.size
            )),
        );
        return None;
    }
    let end = region.offset.saturating_add(region.len);
    let offset = region.offset.round_up(zones.size);
    let last = end.round_down(zones.size);
    if offset >= last {
        job.report(job.error(SIZE, format!("{shown}: io_size must be at least one zone")).help(
            format!("To fix: use a larger `size`: zones of `{shown}` have {} bytes", zones.size),
        ));
        return None;
    }
    let note = |option: &'static OptionDef, what: String| {
        job.report(
            job.adjusted(option, format!("{shown}: {what}: zones have {} bytes", zones.size)),
        );
    };
    if offset != region.offset {
        note(OFFSET.def(), format!("rounded up offset from {} to {offset}", region.offset));
    }
    let (len, rest) = (last - offset, end - offset);
    if len != rest {
        note(SIZE.def(), format!("rounded down io_size from {rest} to {len}"));
    }
    Some(Region { offset, len, ..region })
}
