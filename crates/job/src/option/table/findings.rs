//! What is found out about a run beside its numbers.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word};

const CATEGORY: Category = Category::Results;

/// The findings by name, sorted; `crates/doctor` tells them.
pub const NAMES: &[Word] = &[
    Word::new("buffered-not-synced", "buffered writes that nothing flushes"),
    Word::new("cache-hits", "the page cache answered instead of the device"),
    Word::new("cache-under-direct", "cached pages under direct I/O"),
    Word::new("cached-working-set", "everything fits into a cache"),
    Word::new("clock-source", "the machine's clock is slow to read"),
    Word::new("compressible-data", "contents that storage makes smaller"),
    Word::new("contents-cost", "making contents costs as much as the I/O"),
    Word::new("depth-ignored", "a depth on a synchronous engine"),
    Word::new("depth-not-reached", "fewer I/Os in flight than asked for"),
    Word::new("device-errors", "errors that the device counted"),
    Word::new("direct-not-direct", "a file system that has no direct I/O"),
    Word::new("doubtful-job", "something that is probably not meant"),
    Word::new("drive-letter", "a colon that separates files"),
    Word::new("empty-zones", "zones that hold no data to read"),
    Word::new("file-extended", "a read job that makes an existing file longer"),
    Word::new("generator-bound", "the generator is the bottleneck"),
    Word::new("governor", "CPUs that do not run at full speed"),
    Word::new("hidden-stalls", "stalls that latencies from the actual start hide"),
    Word::new("link-degraded", "a PCIe link below its best"),
    Word::new("misaligned", "I/Os that straddle the device's blocks"),
    Word::new("no-effect", "options that change nothing"),
    Word::new("noisy-neighbour", "others who use the device"),
    Word::new("not-preconditioned", "a drive that was not written in full"),
    Word::new("not-steady", "a result that is still changing"),
    Word::new("numa", "memory or CPUs far from the device"),
    Word::new("overlapping-writers", "jobs that write the same range"),
    Word::new("oversubscribed-path", "targets that share too narrow a path"),
    Word::new("rate-and-rwmix", "a rate for each direction beside a mix"),
    Word::new("rate-missed", "a rate that was not reached"),
    Word::new("reads-beyond-pointer", "reads that may go beyond the write pointers of zones"),
    Word::new("run-warning", "what the run could not do as asked"),
    Word::new("same-start-offset", "jobs that read the same range"),
    Word::new("scheduler", "an I/O scheduler in the way"),
    Word::new("size-per-job", "a size that counts for each job"),
    Word::new("spec-exceeded", "far above the specification"),
    Word::new("spec-missed", "far below the specification"),
    Word::new("split-or-merged", "I/Os that reach the device in other sizes"),
    Word::new("submission-blocks", "a submitting call that waits for I/Os"),
    Word::new("target-in-use", "a target that somebody else uses"),
    Word::new("thermal-throttle", "a device or CPU that grew hot"),
    Word::new("throttled-by-cgroup", "a control group that limits"),
    Word::new("too-short", "too few I/Os to tell"),
    Word::new("uneven-targets", "one slow target that holds back the others"),
    Word::new("unit-surprise", "a unit that means something else"),
    Word::new("unwritten-data", "reads of what was never written"),
    Word::new("value-adjusted", "values that count as others"),
    Word::new("volatile-cache", "writes that end in a volatile cache"),
    Word::new("zero-data", "reads that return only zeros"),
    Word::new("zone-limits", "more zones than the device can have open"),
];

pub(super) const OPTIONS: &[OptionDef] = &[OptionDef::new(
    "ignore_findings",
    Kind::WordList { words: NAMES, suffix: Suffix::None },
    CATEGORY,
    "Findings that are not told about this job, by commas. What concerns the whole run is not told \
     when all of its jobs ignore it.",
    "ignore_findings=size-per-job,too-short",
)
.since("fiord")];
