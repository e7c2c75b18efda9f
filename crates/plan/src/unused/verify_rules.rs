//! The rules about options of verification.

use fiord_formats::verify::method::Method;
use fiord_job::option::table::nvme::VERIFY_MODE;
use fiord_job::option::table::{
    BUFFER_COMPRESS_PERCENTAGE, BUFFER_CRC, BUFFER_PATTERN, DEDUPE_PERCENTAGE, DO_VERIFY,
    EXPERIMENTAL_VERIFY, REFILL_BUFFERS, SCRAMBLE_BUFFERS, TRIM_BACKLOG, TRIM_BACKLOG_BATCH,
    TRIM_PERCENTAGE, TRIM_VERIFY_ZERO, VERIFY, VERIFY_ASYNC, VERIFY_ASYNC_CPUS, VERIFY_BACKLOG,
    VERIFY_BACKLOG_BATCH, VERIFY_COMPLETE, VERIFY_DUMP, VERIFY_EXTENTS, VERIFY_FATAL,
    VERIFY_HEADER_SEED, VERIFY_INTERVAL, VERIFY_JOURNAL, VERIFY_OFFSET, VERIFY_ONLY,
    VERIFY_PATTERN, VERIFY_PATTERN_INTERVAL, VERIFY_POLICY, VERIFY_STATE_LOAD, VERIFY_STATE_SAVE,
    VERIFY_WRITE_SEQUENCE, Verify, ZERO_BUFFERS,
};
use fiord_types::{Bytes, Dir};

use super::rules::{Reports, Rule};
use crate::model::{ContentPlan, EnginePlan, FileKind, JobPlan, Mix, VerifyMethod, VerifyPass};
use crate::options::reading::Reading;

/// The bytes in which storage looks for duplicates.
const DUPLICATE: Bytes = Bytes(4096);

/// The methods of fio without a header.
const HEADERLESS: [VerifyMethod; 2] =
    [VerifyMethod::Fio(Method::Pattern), VerifyMethod::Fio(Method::Null)];

fn pass(plan: &JobPlan) -> Option<VerifyPass> {
    plan.verify.as_ref().map(|verify| verify.pass)
}

fn method(plan: &JobPlan) -> Option<VerifyMethod> {
    plan.verify.as_ref().map(|verify| verify.method)
}

/// Whether the job verifies with a method that has no header of fio.
fn has_no_header(plan: &JobPlan) -> bool {
    method(plan).is_some_and(|method| HEADERLESS.contains(&method) || method == VerifyMethod::Fiord)
}

/// Whether verification fills all writes of the job, and the layout fills no file.
fn fills_all(plan: &JobPlan) -> bool {
    let fills = method(plan).is_some_and(|method| method != VerifyMethod::Fio(Method::Null));
    let reads_old_data = plan.load.mix.has(Dir::Read) || plan.target.layout.overwrite;
    let regular = plan.target.files.iter().any(|file| file.kind == FileKind::Regular);
    let lays_out = reads_old_data && regular;
    fills && pass(plan) != Some(VerifyPass::Reads) && !lays_out
}

/// Whether the options of contents decide what is below the headers.
fn keeps_contents(job: Reading, plan: &JobPlan) -> bool {
    !has_no_header(plan) && job.get(VERIFY_PATTERN).is_none_or(|parts| parts.is_empty())
}

fn is_zero<T: Default + PartialEq>(value: Option<T>) -> bool {
    value.unwrap_or_default() == T::default()
}

pub(crate) const VERIFY_RULES: &[Rule] = &[
    Rule {
        options: &[VERIFY.def(), VERIFY_PATTERN.def()],
        reports: Reports::FirstSet,
        unused: |job, plan| {
            let asked = job.get(VERIFY) != Verify::None || !job.is_set(VERIFY);
            plan.load.mix == Mix::Trim && asked
        },
        what: "`{option}` has no effect on a job that only trims",
        help: "To fix: leave it out, or use `rw=trimwrite`",
        example: "--rw=trim --verify=md5",
    },
    Rule {
        options: &[VERIFY.def(), VERIFY_PATTERN.def()],
        reports: Reports::FirstSet,
        unused: |job, plan| {
            plan.engine == EnginePlan::Null
                && plan.verify.is_some()
                && job.get(VERIFY) != Verify::Null
        },
        what: "`{option}` checks nothing: the engine `{engine}` moves no data",
        help: "To fix: leave it out, or use another engine",
        example: "--rw=write --verify=md5 --ioengine=null",
    },
    Rule {
        options: &[
            DO_VERIFY.def(),
            EXPERIMENTAL_VERIFY.def(),
            TRIM_BACKLOG.def(),
            TRIM_BACKLOG_BATCH.def(),
            TRIM_PERCENTAGE.def(),
            TRIM_VERIFY_ZERO.def(),
            VERIFY_ASYNC.def(),
            VERIFY_ASYNC_CPUS.def(),
            VERIFY_BACKLOG.def(),
            VERIFY_BACKLOG_BATCH.def(),
            VERIFY_COMPLETE.def(),
            VERIFY_DUMP.def(),
            VERIFY_EXTENTS.def(),
            VERIFY_FATAL.def(),
            VERIFY_HEADER_SEED.def(),
            VERIFY_INTERVAL.def(),
            VERIFY_JOURNAL.def(),
            VERIFY_OFFSET.def(),
            VERIFY_PATTERN_INTERVAL.def(),
            VERIFY_POLICY.def(),
            VERIFY_STATE_LOAD.def(),
            VERIFY_STATE_SAVE.def(),
            VERIFY_WRITE_SEQUENCE.def(),
            VERIFY_MODE.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.verify.is_none(),
        what: "`{option}` has no effect on a job that verifies nothing",
        help: "To fix: add `verify`, or leave out `{option}`",
        example: "--rw=write --verify_fatal=1",
    },
    Rule {
        options: &[DO_VERIFY.def()],
        reports: Reports::EachSet,
        unused: |job, plan| pass(plan) == Some(VerifyPass::Reads) && !job.get(DO_VERIFY),
        what: "`{option}` has no effect on a job that only reads: it checks each block that it reads",
        help: "To fix: leave out `verify` to read without checks",
        example: "--rw=read --verify=md5 --do_verify=0",
    },
    Rule {
        options: &[
            EXPERIMENTAL_VERIFY.def(),
            TRIM_BACKLOG.def(),
            TRIM_BACKLOG_BATCH.def(),
            TRIM_PERCENTAGE.def(),
            TRIM_VERIFY_ZERO.def(),
            VERIFY_BACKLOG.def(),
            VERIFY_BACKLOG_BATCH.def(),
            VERIFY_JOURNAL.def(),
            VERIFY_MODE.def(),
            VERIFY_ONLY.def(),
            VERIFY_POLICY.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| pass(plan) == Some(VerifyPass::Reads),
        what: "`{option}` has no effect on a job that only reads: it checks each block that it reads",
        help: "To fix: leave it out, or use a workload that writes",
        example: "--rw=read --verify=md5 --verify_backlog=3",
    },
    Rule {
        options: &[
            EXPERIMENTAL_VERIFY.def(),
            VERIFY_ASYNC.def(),
            VERIFY_ASYNC_CPUS.def(),
            VERIFY_BACKLOG.def(),
            VERIFY_BACKLOG_BATCH.def(),
            VERIFY_DUMP.def(),
            VERIFY_EXTENTS.def(),
            VERIFY_FATAL.def(),
            VERIFY_MODE.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| pass(plan) == Some(VerifyPass::WritesOnly),
        what: "`{option}` has no effect with `do_verify=0`: the job checks nothing",
        help: "To fix: set it in the job that checks the data",
        example: "--rw=write --verify=md5 --do_verify=0 --verify_async=2",
    },
    Rule {
        options: &[VERIFY_BACKLOG_BATCH.def()],
        reports: Reports::EachChanged,
        unused: |job, _| is_zero(job.get(VERIFY_BACKLOG)),
        what: "`{option}` has no effect without `verify_backlog`",
        help: "To fix: add `verify_backlog`, or leave out `{option}`",
        example: "--rw=write --verify=md5 --verify_backlog_batch=3",
    },
    Rule {
        options: &[VERIFY_ASYNC_CPUS.def()],
        reports: Reports::EachSet,
        unused: |job, _| job.get(VERIFY_ASYNC) == 0,
        what: "`{option}` has no effect without `verify_async`",
        help: "To fix: add `verify_async`, or leave out `{option}`",
        example: "--rw=write --verify=md5 --verify_async_cpus=1",
    },
    Rule {
        options: &[TRIM_PERCENTAGE.def(), TRIM_BACKLOG_BATCH.def()],
        reports: Reports::EachChanged,
        unused: |job, _| is_zero(job.get(TRIM_BACKLOG)),
        what: "`{option}` has no effect without `trim_backlog`",
        help: "To fix: add `trim_backlog`: the number of writes after which the job trims",
        example: "--rw=write --verify=md5 --trim_percentage=3",
    },
    Rule {
        options: &[TRIM_BACKLOG.def(), TRIM_BACKLOG_BATCH.def(), TRIM_VERIFY_ZERO.def()],
        reports: Reports::EachChanged,
        unused: |job, _| job.get(TRIM_PERCENTAGE) == 0,
        what: "`{option}` has no effect without `trim_percentage`",
        help: "To fix: add `trim_percentage`, or leave out `{option}`",
        example: "--rw=write --verify=md5 --trim_backlog=3",
    },
    Rule {
        options: &[VERIFY_PATTERN_INTERVAL.def()],
        reports: Reports::EachChanged,
        unused: |job, _| job.get(VERIFY_PATTERN).is_none_or(|pattern| pattern.is_empty()),
        what: "`{option}` has no effect without `verify_pattern`",
        help: "To fix: add `verify_pattern`, or leave out `{option}`",
        example: "--rw=write --verify=md5 --verify_pattern_interval=1k",
    },
    Rule {
        options: &[VERIFY_PATTERN.def(), VERIFY_PATTERN_INTERVAL.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| method(plan) == Some(VerifyMethod::Fiord),
        what: "`{option}` has no effect with `verify=fiord`, which defines every byte",
        help: "To fix: use `verify=pattern_hdr`, or leave out `{option}`",
        example: "--rw=write --verify=fiord --verify_pattern=0xff",
    },
    Rule {
        options: &[
            VERIFY_HEADER_SEED.def(),
            VERIFY_INTERVAL.def(),
            VERIFY_OFFSET.def(),
            VERIFY_WRITE_SEQUENCE.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| has_no_header(plan),
        what: "`{option}` has no effect: the blocks have no header of fio's format",
        help: "To fix: use another method, or leave out `{option}`",
        example: "--rw=write --verify=null --verify_offset=100",
    },
    Rule {
        options: &[VERIFY_INTERVAL.def()],
        reports: Reports::EachChanged,
        unused: |job, plan| {
            let configured = job.get(VERIFY_INTERVAL).unwrap_or(Bytes::ZERO);
            let used = plan.verify.as_ref().map(|verify| verify.interval);
            used.is_some_and(|used| used != Some(configured))
        },
        what: "`{option}` has no effect: an interval must divide every block size of the writes",
        help: "To fix: use a divisor of the block sizes, without `bs_unaligned`",
        example: "--rw=write --verify=md5 --verify_interval=1000",
    },
    Rule {
        options: &[VERIFY_WRITE_SEQUENCE.def()],
        reports: Reports::EachSet,
        unused: |job, plan| {
            let possible = pass(plan).is_none_or(|pass| plan.knows_write_numbers(pass));
            job.get(VERIFY_WRITE_SEQUENCE) && !possible
        },
        what: "`{option}` has no effect: the numbers of writes are checked only after writes of one size, \
               without `time_based`",
        help: "To fix: leave it out",
        example: "--rw=write --verify=md5 --bsrange=4k-8k --verify_write_sequence=1",
    },
    Rule {
        options: &[BUFFER_COMPRESS_PERCENTAGE.def(), DEDUPE_PERCENTAGE.def()],
        reports: Reports::EachChanged,
        unused: |job, plan| fills_all(plan) && !keeps_contents(job, plan),
        what: "`{option}` has no effect: `verify` decides what the blocks contain",
        help: "To fix: leave it out, or use a method with a header and without `verify_pattern`, such as `verify=crc32c`",
        example: "--rw=write --verify=fiord --dedupe_percentage=10",
    },
    Rule {
        options: &[DEDUPE_PERCENTAGE.def()],
        reports: Reports::EachChanged,
        unused: |job, plan| {
            let interval = plan.verify.as_ref().and_then(|verify| verify.interval);
            let all = interval.is_some_and(|interval| interval <= DUPLICATE);
            fills_all(plan) && keeps_contents(job, plan) && all
        },
        what: "`{option}` has no effect: every 4 KiB contain a header of `verify`, so that none are equal",
        help: "To fix: use blocks of more than 4 KiB without a shorter `verify_interval`, or leave it out",
        example: "--rw=write --verify=md5 --dedupe_percentage=10",
    },
    Rule {
        options: &[BUFFER_PATTERN.def()],
        reports: Reports::EachChanged,
        unused: |job, plan| {
            let shaped = matches!(plan.content, ContentPlan::Shaped(_));
            let has_pattern = plan.verify.as_ref().is_some_and(|verify| verify.pattern.is_some());
            fills_all(plan) && !(keeps_contents(job, plan) && (shaped || has_pattern))
        },
        what: "`{option}` has no effect: `verify` decides what the blocks contain",
        help: "To fix: use `verify_pattern` instead, or a method with a digest, such as `verify=crc32c`",
        example: "--rw=write --verify=meta --buffer_pattern=0xff",
    },
    Rule {
        options: &[
            BUFFER_CRC.def(),
            REFILL_BUFFERS.def(),
            SCRAMBLE_BUFFERS.def(),
            ZERO_BUFFERS.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| fills_all(plan),
        what: "`{option}` has no effect: `verify` decides what the blocks contain",
        help: "To fix: leave it out, or use `verify_pattern`",
        example: "--rw=write --verify=md5 --refill_buffers",
    },
];
