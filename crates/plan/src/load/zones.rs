//! `zonemode=zbd`: the zone options of a job, and the options that do not work with zones.

use std::collections::HashMap;
use std::path::Path;

use fiord_job::option::def::OptionDef;
use fiord_job::option::handle::{Opt, WordEnum};
use fiord_job::option::table::{
    EXPERIMENTAL_VERIFY, FILE_APPEND, IGNORE_ZONE_LIMITS, IO_SUBMIT_MODE, IOENGINE, IoSubmitMode,
    JOB_MAX_OPEN_ZONES, LOCKFILE, LockFile, MAX_OPEN_ZONES, READ_BEYOND_WP,
    RECOVER_ZBD_WRITE_ERROR, RW, TRIM_PERCENTAGE, WRITE_ZONE_REMAINDER, ZONE_RESET_FREQUENCY,
    ZONE_RESET_THRESHOLD, ZONEMODE, ZONESIZE, ZoneMode, nvme, sg,
};
use fiord_job::option::value::Amount;
use fiord_types::{Bytes, Dir};

use crate::load::write_commands;
use crate::model::{EnginePlan, JobPlan, Load, Mix, Resets, SgWrite, Step, WriteCommand, Zoned};
use crate::options::reading::Reading;
use crate::options::{errors, verification};

/// Whether the job sets `zonemode=zbd`.
pub(crate) fn wanted(job: Reading) -> bool {
    job.get(ZONEMODE) == ZoneMode::Zbd
}

/// The value of a size option in bytes or per cent where the plan of the job determines it. With
/// `zonemode=strided`, zones of `zonesize` bytes are converted to bytes here. With `zonemode=zbd`
/// the conversion happens where the device is known.
pub(crate) fn amount(job: Reading, value: Option<Amount>) -> Option<Amount> {
    match value? {
        Amount::Zones(count) if job.get(ZONEMODE) == ZoneMode::Strided => {
            Some(Amount::Bytes(count.saturating_mul(job.get(ZONESIZE).0)))
        }
        other => Some(other),
    }
}

/// Reads the zone options of a job. `None`: it does not set `zonemode=zbd`.
pub(crate) fn zoned(job: Reading, mix: Mix) -> Option<Zoned> {
    if !wanted(job) {
        return None;
    }
    let recover = job.get(RECOVER_ZBD_WRITE_ERROR);
    if recover && !errors::continue_on_error(job).writes.counts() {
        job.report(
            job.error(
                RECOVER_ZBD_WRITE_ERROR,
                "recover_zbd_write_error works only when continue_on_error is set",
            )
            .help("To fix: add `continue_on_error=write`"),
        );
    }
    let limit = |option| Some(job.get(option)).filter(|zones| *zones > 0);
    Some(Zoned {
        max_open: limit(MAX_OPEN_ZONES),
        job_max_open: limit(JOB_MAX_OPEN_ZONES),
        ignore_limits: job.get(IGNORE_ZONE_LIMITS),
        read_beyond: job.get(READ_BEYOND_WP),
        resets: resets(job, mix),
        recover,
        remainders: job.get(WRITE_ZONE_REMAINDER),
    })
}

/// Warns of jobs that write different ranges of one file if a threshold of written bytes applies.
pub(crate) fn write_ranges(jobs: &[Reading], plans: &[JobPlan]) {
    let counted = |plan: &&JobPlan| plan.load.zoned.is_some_and(|zoned| zoned.resets.is_some());
    let mut ranges: HashMap<&Path, (Bytes, Bytes)> = HashMap::new();
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
            let job = jobs[section];
            job.report(
                job.warning(
                    ZONE_RESET_THRESHOLD,
                    format!(
                        "jobs write different ranges of `{shown}`: fiord compares each range with the threshold \
                             separately"
                    ),
                )
                .help("To fix: give the jobs that share zones the same `offset` and `size`"),
            );
        }
    }
}

fn resets(job: Reading, mix: Mix) -> Option<Resets> {
    let ratio = |option: Opt<Option<f64>>| job.get(option).filter(|ratio| *ratio > 0.0);
    let (threshold, frequency) = (ratio(ZONE_RESET_THRESHOLD)?, ratio(ZONE_RESET_FREQUENCY)?);
    mix.has(Dir::Write)
        .then(|| Resets { threshold, every: (1.0 / frequency).round().max(1.0) as u64 })
}

/// Refuses options that do not work with zones on any target.
pub(crate) fn combinations(job: Reading, load: &Load, engine: &EnginePlan) {
    if load.zoned.is_none() {
        return;
    }
    let refuse = |option: &'static OptionDef, what: &str, help: &str| {
        job.report(job.error(option, what).help(help));
    };
    if job.get(EXPERIMENTAL_VERIFY) {
        let what = "zonemode=zbd does not support experimental verify: it would read at other \
                    offsets than it wrote";
        refuse(EXPERIMENTAL_VERIFY.def(), what, "To fix: leave out `experimental_verify`");
    }
    if verification::trims_writes(job, load.mix) {
        let what = "a zone can only be reset as a whole, so a job cannot trim a part of its blocks";
        refuse(TRIM_PERCENTAGE.def(), what, "To fix: leave out `trim_percentage`");
    }
    let changes = load.mix.has(Dir::Write) || load.mix.has(Dir::Trim);
    if changes && job.get(IO_SUBMIT_MODE) == IoSubmitMode::Offload {
        let what = "writes from separate threads cannot be kept in the order of a zone";
        refuse(IO_SUBMIT_MODE.def(), what, "To fix: leave out `io_submit_mode=offload`");
    }
    if job.get(LOCKFILE) != LockFile::None {
        let what = "`lockfile` does not work with `zonemode=zbd`, whose jobs wait for zones";
        refuse(
            LOCKFILE.def(),
            what,
            "To fix: leave out `lockfile`: zones are shared safely without",
        );
    }
    if job.get(FILE_APPEND) {
        let what = "`file_append` and `zonemode=zbd` both say where writes go";
        refuse(FILE_APPEND.def(), what, "To fix: leave out `file_append`");
    }
    if matches!(load.step, Step::Skip(_)) {
        let what = "a zone has no gaps: `zonemode=zbd` does not support the number after the colon";
        refuse(RW.def(), what, "To fix: leave out the number");
    }
    if engine.def().access.maps_files() && load.mix.has(Dir::Write) {
        let what =
            "a mapping writes its pages back in any order, but zones must be written in order";
        refuse(IOENGINE.def(), what, "To fix: use `ioengine=psync`");
    }
    if load.mix.has(Dir::Write)
        && let Some((option, word)) = bypasses_write_pointer(job, load, engine)
    {
        let name = option.name;
        let what = format!(
            "`{name}={word}` does not write at the write pointer of a zone and advance it: fiord \
             would lose track of the pointer"
        );
        refuse(option, &what, "To fix: leave it out, or leave out `zonemode=zbd`");
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
) -> Option<(&'static OptionDef, &'static str)> {
    if let EnginePlan::Sg(plan) = engine {
        let writes = matches!(plan.write, SgWrite::Write | SgWrite::WriteAndVerify);
        return (!writes).then(|| (sg::SG_WRITE_MODE.def(), job.get(sg::SG_WRITE_MODE).word()));
    }
    let moves =
        |form| matches!(form, WriteCommand::Data | WriteCommand::Append | WriteCommand::Zeroes);
    let (form, _) = load.write_commands.iter().find(|(form, _)| !moves(*form))?;
    Some((nvme::WRITE_MODE.def(), write_commands::word(*form)))
}
