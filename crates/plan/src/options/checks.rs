//! Checks of combinations of options that make a job impossible or doubtful.

use fiord_job::option::table::{ATOMIC, BS, DIRECT, RW, SIZE, UNLINK, UNLINK_EACH_LOOP, io_uring};
use fiord_job::option::value::Amount;

use crate::model::{Access, EnginePlan, Mix, OpenPlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Refuses jobs that write, trim or remove files if the run is `--readonly`.
pub(crate) fn read_only_run(job: Reading, mix: Mix, readonly: bool, messages: &mut Messages) {
    if readonly && mix.changes_data() {
        messages.push(
            job.error(RW, "--readonly permits no job that writes or trims")
                .help("To fix: leave out --readonly, or use `rw=read` or `rw=randread`"),
        );
    }
    for option in [UNLINK, UNLINK_EACH_LOOP] {
        if readonly && job.get(option) {
            let name = option.name();
            let what = format!("--readonly permits no job that removes its files (`{name}`)");
            let help = format!("To fix: leave out --readonly or `{name}`");
            messages.push(job.error(option, what).help(help));
        }
    }
}

/// Refuses or warns of options that the engine does not support or that need another option.
pub(crate) fn without_effect(
    job: Reading,
    engine: &EnginePlan,
    open: &OpenPlan,
    messages: &mut Messages,
) {
    let def = engine.def();
    if open.atomic && !def.atomic {
        messages.push(
            job.error(ATOMIC, "the engine does not support atomic writes")
                .help("To fix: use `ioengine=io_uring`, `libaio` or `pvsync2`"),
        );
    }
    if open.direct && def.access == Access::Mapping {
        let name = def.name;
        messages.push(
            job.no_effect(
                DIRECT,
                format!(
                    "`ioengine={name}` always goes through the page cache: `direct` has no effect"
                ),
            )
            .help("To fix: use another engine, such as `ioengine=psync`"),
        );
    }
    if let EnginePlan::IoUring(ring) = engine
        && job.is_set(io_uring::SQTHREAD_POLL_CPU)
        && !ring.sqpoll
    {
        messages.push(
            job.no_effect(
                io_uring::SQTHREAD_POLL_CPU,
                "`sqthread_poll_cpu` has no effect without `sqthread_poll`",
            )
            .help("To fix: add `sqthread_poll`"),
        );
    }
}

/// Refuses a `size` smaller than the smallest block, which has `block` bytes.
pub(crate) fn size_holds_block(job: Reading, block: u32, messages: &mut Messages) {
    if let Some(Amount::Bytes(size)) = job.get(SIZE)
        && size > 0
        && size < u64::from(block)
    {
        messages.push(
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
pub(crate) fn room(
    job: Reading,
    lens: impl Iterator<Item = u64>,
    block: u32,
    messages: &mut Messages,
) {
    let (mut total, mut small, mut files) = (0u64, 0u64, 0u64);
    for len in lens {
        files += 1;
        total = total.saturating_add(len);
        small += u64::from(len < u64::from(block));
    }
    if files == 0 || small == 0 {
        return;
    }
    if total < u64::from(block) {
        messages.push(
            job.error(
                BS,
                format!("blocksize is larger than data set range: {block} bytes, and the files have {total}"),
            )
            .help("To fix: write a smaller `bs` or a larger `size`"),
        );
    } else {
        let which = if small == files { "none" } else { "some" };
        messages.push(job.warning(
            BS,
            format!(
                "{which} of the files can hold a block of {block} bytes: {small} of {files} files \
                 are smaller and get no I/O"
            ),
        ));
    }
}
