//! `zonemode=zbd`: which zones a job works on, and what cannot be.

use std::path::Path;

use fiord_job::option::value::Amount;
use fiord_sys::nvme::CommandSet;

use crate::facts::{Passthrough, ZoneFacts};
use crate::forms;
use crate::messages::Messages;
use crate::model::{
    BlockSize, Dir, EnginePlan, FileKind, Load, Mix, Resets, SgWrite, Step, WriteForm, Zoned, Zones,
};
use crate::reading::Reading;
use crate::sizes::Region;
use crate::survey::Survey;

/// Options that say something only with `zonemode=zbd`.
const ONLY_WITH_ZONES: [&str; 9] = [
    "zonecapacity",
    "read_beyond_wp",
    "max_open_zones",
    "job_max_open_zones",
    "ignore_zone_limits",
    "zone_reset_threshold",
    "zone_reset_frequency",
    "recover_zbd_write_error",
    "write_zone_remainder",
];

/// Whether a job says that its target has zones.
pub(crate) fn wanted(job: Reading) -> bool {
    job.plain_word("zonemode") == "zbd"
}

/// The zone options of a job.
pub(crate) fn zoned(job: Reading, mix: Mix, messages: &mut Messages) -> Option<Zoned> {
    if !wanted(job) {
        for name in ONLY_WITH_ZONES.into_iter().filter(|name| job.is_set(name)) {
            messages.push(
                job.warning(name, format!("`{name}` has no effect without `zonemode=zbd`"))
                    .help("add `zonemode=zbd`, or leave it out"),
            );
        }
        return None;
    }
    if job.is_set("zonerange") && job.count("zonerange") != job.count("zonesize") {
        messages.push(
            job.warning("zonerange", "`zonerange` has no effect with `zonemode=zbd`")
                .help("the size of a zone is `zonesize`"),
        );
    }
    if !matches!(job.amount("zoneskip"), None | Some(Amount::Bytes(0))) {
        messages.push(
            job.error(
                "zoneskip",
                "no zones are left out with `zonemode=zbd`: `zoneskip` must be 0",
            )
            .help("leave it out, or use `zonemode=strided`"),
        );
    }
    let recover = job.flag("recover_zbd_write_error");
    let goes_on = matches!(job.plain_word("continue_on_error"), "write" | "io" | "all" | "1");
    if recover && !goes_on {
        messages.push(
            job.error(
                "recover_zbd_write_error",
                "recover_zbd_write_error works only when continue_on_error is set",
            )
            .help("add `continue_on_error=write`"),
        );
    }
    let limit = |name| job.set_count32(name).filter(|n| *n > 0);
    Some(Zoned {
        max_open: limit("max_open_zones"),
        job_max_open: limit("job_max_open_zones"),
        ignore_limits: job.flag("ignore_zone_limits"),
        read_beyond: job.flag("read_beyond_wp"),
        resets: resets(job, mix, messages),
        recover,
        remainders: job.flag("write_zone_remainder"),
    })
}

fn resets(job: Reading, mix: Mix, messages: &mut Messages) -> Option<Resets> {
    let ratio = |name| job.floats(name).first().copied().filter(|ratio| *ratio > 0.0);
    match (ratio("zone_reset_threshold"), ratio("zone_reset_frequency")) {
        (Some(threshold), Some(frequency)) if mix.has(Dir::Write) => {
            Some(Resets { threshold, every: (1.0 / frequency).round().max(1.0) as u64 })
        }
        (None, None) => None,
        (threshold, frequency) => {
            let (name, other) = match (threshold, frequency) {
                (Some(_), None) => ("zone_reset_threshold", "zone_reset_frequency"),
                (None, _) => ("zone_reset_frequency", "zone_reset_threshold"),
                _ => ("zone_reset_frequency", "a job that writes"),
            };
            messages.push(
                job.warning(name, format!("`{name}` resets no zone without {other}"))
                    .help(format!("add {other}, or leave it out")),
            );
            None
        }
    }
}

/// What does not go with zones, whatever the target is.
pub(crate) fn combinations(
    job: Reading,
    load: &Load,
    engine: &EnginePlan,
    messages: &mut Messages,
) {
    if load.zoned.is_none() {
        return;
    }
    let mut refuse = |name: &str, what: &str, help: &str| {
        messages.push(job.error(name, what).help(help));
    };
    if job.plain_word("io_submit_mode") == "offload" {
        let what = "writes made on threads of their own cannot be kept in the order of a zone";
        refuse("io_submit_mode", what, "leave out `io_submit_mode=offload`");
    }
    if !matches!(job.plain_word("lockfile"), "" | "none") {
        let what = "`lockfile` cannot be kept with `zonemode=zbd`, whose jobs wait for zones";
        refuse("lockfile", what, "leave out `lockfile`: zones are shared safely without");
    }
    if job.flag("file_append") {
        let what = "`file_append` and `zonemode=zbd` both say where writes go";
        refuse("file_append", what, "leave out `file_append`");
    }
    if matches!(load.step, Step::Skip(_)) {
        let what = "a zone has no gaps: the number after the colon cannot be kept in zones";
        refuse("rw", what, "leave out the number");
    }
    if matches!(engine, EnginePlan::Mmap { .. }) && load.mix.has(Dir::Write) {
        let what = "a mapping writes its pages back in no order that zones could follow";
        refuse("ioengine", what, "use `ioengine=psync`");
    }
    if load.mix.has(Dir::Write)
        && let Some((name, word)) = moves_no_pointer(job, load, engine)
    {
        let what = format!(
            "`{name}={word}` does not write at the pointer of a zone and move it on: after it nobody \
             would know where the pointer is"
        );
        refuse(name, &what, "leave it out, or leave out `zonemode=zbd`");
    }
}

/// The option and its word by which writes become commands that do not, or not surely, write at the
/// write pointer and move it on. Write and Zone Append do, and Write Zeroes (Linux counts it as a
/// zoned write, `bdev_op_is_zoned_write` of `linux/blkdev.h`); of SCSI WRITE, WRITE AND VERIFY.
fn moves_no_pointer(
    job: Reading,
    load: &Load,
    engine: &EnginePlan,
) -> Option<(&'static str, String)> {
    if let EnginePlan::Sg(plan) = engine {
        let writes = matches!(plan.write, SgWrite::Write | SgWrite::WriteAndVerify);
        return (!writes).then(|| ("sg_write_mode", job.plain_word("sg_write_mode").to_owned()));
    }
    let moves = |form| matches!(form, WriteForm::Data | WriteForm::Append | WriteForm::Zeroes);
    let (form, _) = load.forms.iter().find(|(form, _)| !moves(*form))?;
    Some(("write_mode", forms::word(*form).to_owned()))
}

/// The zones of a file. `None`: it has none, or (with a message) none that can be used.
pub(crate) fn of_file(
    job: Reading,
    path: &Path,
    kind: FileKind,
    load: (&Load, bool),
    survey: &mut Survey,
    messages: &mut Messages,
) -> Option<Zones> {
    let (load, direct) = load;
    let real = match real(path, kind, survey) {
        Real::Zoned(facts) => Some(facts),
        Real::Plain => None,
        Real::Unknown(_) if load.zoned.is_none() => None,
        Real::Unknown(why) => {
            messages.push(
                job.error(
                    "filename",
                    format!("the zones of `{}` cannot be told: {why}", path.display()),
                )
                .help("name its block device, or leave out `zonemode=zbd`"),
            );
            return None;
        }
    };
    let writes = load.mix.has(Dir::Write);
    let Some(zoned) = load.zoned else {
        if real.is_some() && (writes || load.mix.has(Dir::Trim)) {
            messages.push(
                job.warning(
                    "zonemode",
                    format!(
                        "`{}` is a zoned device: writes fail that are not at the write pointer of \
                         a zone",
                        path.display()
                    ),
                )
                .help("add `zonemode=zbd`"),
            );
        }
        return None;
    };
    let zones = match real {
        Some(facts) => device(job, path, facts, &zoned, messages)?,
        None => emulated(job, path, messages)?,
    };
    if real.is_some() && writes && !direct && kind == FileKind::Block {
        messages.push(
            job.error(
                "direct",
                format!(
                    "`{}` is a zoned device: writes through the page cache reach it in no order \
                     that its zones could follow",
                    path.display()
                ),
            )
            .help("add `direct=1`"),
        );
    }
    blocks(job, load, zones, messages);
    Some(zones)
}

/// What is known of the zones of a target itself.
enum Real {
    Zoned(ZoneFacts),
    /// It has none.
    Plain,
    /// It takes commands that go past the block layer, and whether it has zones nobody says: made
    /// believe zones would write over the real ones.
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
            Some(block) if survey.facts.zones(&block).is_none() => Real::Plain,
            Some(_) => Real::Unknown("a SCSI generic device has no zone reports here".into()),
            None => Real::Unknown("it has no block device that would tell".into()),
        },
    }
}

/// A namespace without a block device (the kernel cannot use it as one) or without sysfs says itself
/// what it is.
fn of_namespace(path: &Path, survey: &mut Survey) -> Real {
    let device = match survey.namespace(path) {
        Ok(device) => device,
        Err(why) => return Real::Unknown(why),
    };
    let block = u64::from(device.namespace.format.data);
    match (device.command_set, device.zoned) {
        (_, Some(zoned)) => match zoned.zone_blocks.checked_mul(block).filter(|size| *size > 0) {
            Some(zone_size) => Real::Zoned(ZoneFacts {
                zone_size,
                max_open: zoned.max_open,
                max_active: zoned.max_active,
            }),
            None => Real::Unknown("it says that its zones have no size".into()),
        },
        (CommandSet::Zoned, None) => Real::Unknown("it does not say how large they are".into()),
        _ => Real::Plain,
    }
}

fn device(
    job: Reading,
    path: &Path,
    facts: ZoneFacts,
    zoned: &Zoned,
    messages: &mut Messages,
) -> Option<Zones> {
    let asked = job.count("zonesize").unwrap_or(0);
    if asked > 0 && asked != facts.zone_size {
        messages.push(
            job.error(
                "zonesize",
                format!(
                    "`zonesize={asked}` is not the size of the zones of `{}`: they have {} bytes",
                    path.display(),
                    facts.zone_size
                ),
            )
            .help("leave it out: the device tells it"),
        );
        return None;
    }
    if let (Some(most), Some(limit)) = (zoned.max_open, facts.limit())
        && most > limit
        && !zoned.ignore_limits
    {
        messages.push(
            job.error(
                "max_open_zones",
                format!(
                    "`max_open_zones={most}` is more than the {limit} zones that `{}` can have open",
                    path.display()
                ),
            )
            .help(format!("write {limit} or less, or add `ignore_zone_limits=1`")),
        );
    }
    Some(Zones { size: facts.zone_size, emulated: None })
}

fn emulated(job: Reading, path: &Path, messages: &mut Messages) -> Option<Zones> {
    let size = job.count("zonesize").unwrap_or(0);
    if size == 0 {
        messages.push(
            job.error(
                "zonesize",
                format!(
                    "specifying the zone size is mandatory with `zonemode=zbd`: `{}` is no zoned \
                     device",
                    path.display()
                ),
            )
            .help("write the size of the zones to emulate: `zonesize=256m`"),
        );
        return None;
    }
    let capacity = job.count("zonecapacity").filter(|c| *c > 0).unwrap_or(size);
    if capacity > size {
        messages.push(
            job.error(
                "zonecapacity",
                format!("job parameter zonecapacity {capacity} is larger than zone size {size}"),
            )
            .help("write no more than `zonesize`"),
        );
        return None;
    }
    Some(Zones { size, emulated: Some(capacity) })
}

/// Blocks that no zone can take.
fn blocks(job: Reading, load: &Load, zones: Zones, messages: &mut Messages) {
    let capacity = zones.emulated.unwrap_or(zones.size);
    let dirs = [Dir::Read, Dir::Write].into_iter().filter(|dir| load.mix.has(*dir));
    let most = dirs.map(|dir| load.blocks[dir as usize].max()).max().unwrap_or(0);
    if u64::from(most) > capacity {
        messages.push(
            job.error(
                "bs",
                format!(
                    "I/O buflen exceeds zone size: blocks of {most} bytes, and zones of {capacity}"
                ),
            )
            .help(format!("write `bs={capacity}` or less")),
        );
    }
    let trim = &load.blocks[Dir::Trim as usize];
    if load.mix.has(Dir::Trim) && *trim != BlockSize::Fixed(zones.size.try_into().unwrap_or(0)) {
        messages.push(
            job.error(
                "bs",
                format!("trim block size {} is not the zone size {}", trim.max(), zones.size),
            )
            .help(format!("a trim resets a zone: write `bs=,,{}`", zones.size)),
        );
    }
}

/// Makes a region begin and end with a zone. `None`: a message says why it cannot.
pub(crate) fn whole(
    job: Reading,
    path: &Path,
    region: Region,
    zones: Option<Zones>,
    messages: &mut Messages,
) -> Option<Region> {
    let Some(zones) = zones else { return Some(region) };
    let shown = path.display();
    if let Some(asked) = region.asked {
        messages.push(
            job.error(
                "size",
                format!(
                    "the range of {asked} bytes from {} on reaches past the end of `{shown}`, \
                     which has {} there",
                    region.offset, region.len
                ),
            )
            .help(format!("`{shown}` has {} zones from there on", region.len / zones.size)),
        );
        return None;
    }
    let end = region.offset.saturating_add(region.len);
    let offset = region.offset.checked_next_multiple_of(zones.size).unwrap_or(end);
    let last = end / zones.size * zones.size;
    if offset >= last {
        messages.push(
            job.error("size", format!("{shown}: io_size must be at least one zone"))
                .help(format!("zones of `{shown}` have {} bytes", zones.size)),
        );
        return None;
    }
    let mut note = |name: &str, what: String| {
        messages
            .push(job.warning(name, format!("{shown}: {what}: zones have {} bytes", zones.size)));
    };
    if offset != region.offset {
        note("offset", format!("rounded up offset from {} to {offset}", region.offset));
    }
    let (len, rest) = (last - offset, end - offset);
    if len != rest {
        note("size", format!("rounded down io_size from {rest} to {len}"));
    }
    Some(Region { offset, len, ..region })
}
