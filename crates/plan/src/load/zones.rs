//! `zonemode=zbd`: the zone options of a job, and the options that do not work with zones.

use std::collections::HashMap;
use std::path::Path;

use fiord_job::option::value::Amount;
use fiord_types::Dir;

use crate::load::forms;
use crate::model::{
    Access, EnginePlan, JobPlan, Load, Mix, Resets, SgWrite, Step, WriteForm, Zoned,
};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Options that have an effect only with `zonemode=zbd`.
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

/// Whether the job sets `zonemode=zbd`.
pub(crate) fn wanted(job: Reading) -> bool {
    job.plain_word("zonemode") == "zbd"
}

/// The value of a size option. With `zonemode=strided`, zones of `zonesize` bytes are converted to
/// bytes here. With `zonemode=zbd` the conversion happens where the device is known.
pub(crate) fn amount(job: Reading, name: &str) -> Option<Amount> {
    match job.amount(name)? {
        Amount::Zones(count) if job.plain_word("zonemode") == "strided" => {
            Some(Amount::Bytes(count.saturating_mul(job.count("zonesize").unwrap_or(0))))
        }
        other => Some(other),
    }
}

/// Reads the zone options of a job. `None`: it does not set `zonemode=zbd`.
pub(crate) fn zoned(job: Reading, mix: Mix, messages: &mut Messages) -> Option<Zoned> {
    if !wanted(job) {
        for name in ONLY_WITH_ZONES.into_iter().filter(|name| job.is_set(name)) {
            messages.push(
                job.no_effect(name, format!("`{name}` has no effect without `zonemode=zbd`"))
                    .help("To fix: add `zonemode=zbd`, or leave it out"),
            );
        }
        return None;
    }
    if job.is_set("zonerange") && job.count("zonerange") != job.count("zonesize") {
        messages.push(
            job.no_effect("zonerange", "`zonerange` has no effect with `zonemode=zbd`")
                .help("To fix: set the size of a zone with `zonesize`"),
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
            .help("To fix: add `continue_on_error=write`"),
        );
    }
    let limit = |name| job.set_count32(name).filter(|n| *n > 0);
    if limit("job_max_open_zones").is_some() && !mix.has(Dir::Write) {
        messages.push(
            job.no_effect(
                "job_max_open_zones",
                "'job_max_open_zones' is valid only for write jobs: this one opens no zone",
            )
            .help("To fix: leave it out"),
        );
    }
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

/// Warns of jobs that write different ranges of one file if a threshold of written bytes applies.
pub(crate) fn write_ranges(jobs: &[Reading], plans: &[JobPlan], messages: &mut Messages) {
    let counted = |plan: &&JobPlan| plan.load.zoned.is_some_and(|zoned| zoned.resets.is_some());
    let mut ranges: HashMap<&Path, (u64, u64)> = HashMap::new();
    let mut warned = None;
    for plan in plans.iter().filter(counted) {
        for file in &plan.target.files {
            let range = (file.offset, file.len);
            let section = plan.identity.section;
            if *ranges.entry(&file.path).or_insert(range) == range || warned == Some(section) {
                continue;
            }
            warned = Some(section);
            let shown = file.path.display();
            messages.push(
                jobs[section]
                    .warning(
                        "zone_reset_threshold",
                        format!(
                            "jobs with different write ranges on `{shown}`: each range is compared \
                             with the threshold by itself"
                        ),
                    )
                    .help("To fix: give the jobs that share zones the same `offset` and `size`"),
            );
        }
    }
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
                job.no_effect(name, format!("`{name}` resets no zone without {other}"))
                    .help(format!("To fix: add {other}, or leave it out")),
            );
            None
        }
    }
}

/// Refuses options that do not work with zones on any target.
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
    if job.flag("experimental_verify") {
        let what = "zonemode=zbd does not support experimental verify: it would read at other \
                    offsets than it wrote";
        refuse("experimental_verify", what, "To fix: leave out `experimental_verify`");
    }
    if job.plain_word("io_submit_mode") == "offload" {
        let what = "writes from separate threads cannot be kept in the order of a zone";
        refuse("io_submit_mode", what, "To fix: leave out `io_submit_mode=offload`");
    }
    if !matches!(job.plain_word("lockfile"), "" | "none") {
        let what = "`lockfile` does not work with `zonemode=zbd`, whose jobs wait for zones";
        refuse("lockfile", what, "To fix: leave out `lockfile`: zones are shared safely without");
    }
    if job.flag("file_append") {
        let what = "`file_append` and `zonemode=zbd` both say where writes go";
        refuse("file_append", what, "To fix: leave out `file_append`");
    }
    if matches!(load.step, Step::Skip(_)) {
        let what = "a zone has no gaps: `zonemode=zbd` does not support the number after the colon";
        refuse("rw", what, "To fix: leave out the number");
    }
    if engine.def().access == Access::Mapping && load.mix.has(Dir::Write) {
        let what =
            "a mapping writes its pages back in any order, but zones must be written in order";
        refuse("ioengine", what, "To fix: use `ioengine=psync`");
    }
    if load.mix.has(Dir::Write)
        && let Some((name, word)) = bypasses_write_pointer(job, load, engine)
    {
        let what = format!(
            "`{name}={word}` does not write at the write pointer of a zone and advance it: fiord \
             would lose track of the pointer"
        );
        refuse(name, &what, "To fix: leave it out, or leave out `zonemode=zbd`");
    }
}

/// The option and value that select write commands which do not reliably advance the write pointer.
/// Write, Zone Append and Write Zeroes advance it (Linux counts Write Zeroes as a zoned write,
/// `bdev_op_is_zoned_write` in `linux/blkdev.h`); of the SCSI commands, WRITE and WRITE AND VERIFY
/// do.
fn bypasses_write_pointer(
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
