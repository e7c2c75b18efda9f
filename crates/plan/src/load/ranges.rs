//! `num_range`: trims of several ranges in one command.

use fiord_job::option::table::NUM_RANGE;
use fiord_types::Dir;

use crate::load::zones;
use crate::model::{EnginePlan, FileService, Load, Mix};
use crate::options::reading::Reading;

/// Refuses jobs whose trims cannot have several ranges.
pub(crate) fn check(job: Reading, engine: &EnginePlan, load: &Load) {
    let ranges = load.trim_ranges;
    if ranges < 2 {
        return;
    }
    let wrong = |what: &str, help: &str| {
        job.report(job.error(NUM_RANGE, what).help(help));
    };
    if load.mix != Mix::Trim {
        wrong("only trims have ranges", "To fix: use it with `rw=trim` or `rw=randtrim`");
    } else if !engine.def().trim_ranges {
        wrong(
            "this engine trims one range at a time",
            "To fix: use `ioengine=io_uring_cmd` on an NVMe generic device such as /dev/ng0n1",
        );
    } else if load.serialize_overlap {
        wrong(
            "`serialize_overlap` sees only the first of several ranges",
            "To fix: leave out `serialize_overlap` or `num_range`",
        );
    } else if zones::wanted(job) {
        wrong("a zone is reset, not trimmed in ranges", "To fix: leave out `num_range`");
    }
    let block = load.blocks[Dir::Trim].max();
    if block.checked_mul(ranges).is_none() {
        job.report(
            job.error(
                NUM_RANGE,
                format!("{ranges} ranges of {block} bytes are more than one I/O can have"),
            )
            .help("To fix: write a smaller `bs` or fewer ranges: together less than 4 GiB"),
        );
    }
}

/// Multiplies the turns of files by the number of ranges: the job draws the offset of each range as
/// if it were an I/O.
pub(crate) fn turns(service: FileService, ranges: u32) -> FileService {
    match service {
        FileService::RoundRobin(each) => FileService::RoundRobin(each.saturating_mul(ranges)),
        FileService::Random(each) => FileService::Random(each.saturating_mul(ranges)),
        other => other,
    }
}
