//! Checks of combinations of options that make a job impossible or doubtful.

use fiord_job::option::table::{
    ATOMIC, BS, IOENGINE, RW, SIZE, TRIM_PERCENTAGE, UNLINK, UNLINK_EACH_LOOP,
};
use fiord_job::option::value::Amount;
use fiord_types::{Bytes, Dir};

use crate::files::usage::Usage;
use crate::model::{EnginePlan, Mix, OpenPlan, SupportedDirections};
use crate::options::reading::Reading;
use crate::options::verification::{trims_requested, trims_writes};

/// Refuses jobs that write, trim, create or remove files if the run is `--readonly`.
pub(crate) fn read_only_run(job: Reading, usage: Usage) {
    let Usage { changes, readonly, engine, .. } = usage;
    if readonly && changes && engine.access.reads_change_files() {
        let what = format!("--readonly forbids jobs with `ioengine={}`", engine.name);
        job.report(
            job.error(IOENGINE, what)
                .help("To fix: leave out --readonly: even reads of this engine change files"),
        );
    } else if readonly && changes {
        job.report(
            job.error(RW, "--readonly forbids jobs that write or trim")
                .help("To fix: leave out --readonly, or use `rw=read` or `rw=randread`"),
        );
    }
    if readonly && trims_requested(job) {
        // fio refuses it, too, although a job that only reads trims nothing.
        job.report(
            job.error(TRIM_PERCENTAGE, "--readonly forbids jobs that trim what was written")
                .help("To fix: leave out --readonly, or `trim_percentage` and `trim_backlog`"),
        );
    }
    for option in [UNLINK, UNLINK_EACH_LOOP] {
        if readonly && job.get(option) {
            let name = option.name();
            let what = format!("--readonly forbids jobs that remove their files (`{name}`)");
            let help = format!("To fix: leave out --readonly or `{name}`");
            job.report(job.error(option, what).help(help));
        }
    }
}

/// Refuses a workload that the engine does not have.
pub(crate) fn directions(job: Reading, mix: Mix, engine: &EnginePlan) {
    let (option, supported, help) = match engine.def().directions {
        SupportedDirections::ReadsAndWrites if mix.has(Dir::Trim) => {
            (RW.def(), "no trims", "To fix: use `rw=read` or `rw=write`")
        }
        SupportedDirections::ReadsAndWrites if trims_writes(job, mix) => {
            (TRIM_PERCENTAGE.def(), "no trims", "To fix: leave out `trim_percentage`")
        }
        SupportedDirections::Writes if mix != Mix::Write => {
            (RW.def(), "only writes", "To fix: use `rw=write` or `rw=randwrite`")
        }
        SupportedDirections::All
        | SupportedDirections::ReadsAndWrites
        | SupportedDirections::Writes => return,
    };
    let what = format!("`ioengine={}` supports {supported}", engine.def().name);
    job.report(job.error(option, what).help(help));
}

/// Refuses `atomic` if the engine does not support it.
pub(crate) fn atomic_writes(job: Reading, engine: &EnginePlan, open: &OpenPlan) {
    let def = engine.def();
    if open.atomic && !def.atomic {
        job.report(
            job.error(ATOMIC, "the engine does not support atomic writes")
                .help("To fix: use `ioengine=io_uring`, `libaio` or `pvsync2`"),
        );
    }
}

/// Refuses a `size` smaller than the smallest block, which has `block` bytes.
pub(crate) fn size_holds_block(job: Reading, block: u32) {
    if let Some(Amount::Bytes(size)) = job.get(SIZE)
        && size > 0
        && size < u64::from(block)
    {
        job.report(
            job.error(
                SIZE,
                format!(
                    "size too small, must not be less than minimum block size: {size} < {block}"
                ),
            )
            .help(format!("To fix: write a size of {block} bytes or more, or a smaller `bs`")),
        );
    }
}

/// Refuses regions that are too small for a block, and warns if only some of them are. `lens` are
/// the lengths of the regions in bytes.
pub(crate) fn room(job: Reading, lens: impl Iterator<Item = Bytes>, block: u32) {
    let (mut total, mut small, mut files) = (Bytes::ZERO, 0u64, 0u64);
    for len in lens {
        files += 1;
        total = total.saturating_add(len);
        small += u64::from(len < Bytes::from(block));
    }
    if files == 0 || small == 0 {
        return;
    }
    if total < Bytes::from(block) {
        job.report(
            job.error(
                BS,
                format!("blocksize is larger than data set range: {block} bytes, and the files have {total}"),
            )
            .help("To fix: write a smaller `bs` or a larger `size`"),
        );
    } else {
        job.report(job.warning(
            BS,
            format!(
                "{small} of {files} files are smaller than a block of {block} bytes and get no I/O"
            ),
        ));
    }
}
