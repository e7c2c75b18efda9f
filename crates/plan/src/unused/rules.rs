//! The table of reasons why an option has no effect on a job, for options that no other table is about. The
//! documentation of the parent module lists the tables.
//!
//! To add a reason, add a [`Rule`] to the table. Of two rules about one option, the first one that holds is reported.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    BLOCK_ERROR_PERCENTILES, BS_IS_SEQ_RAND, BUFFER_COMPRESS_CHUNK, BUFFER_COMPRESS_PERCENTAGE,
    BUFFER_CRC, BUFFER_PATTERN, BUFFERED, CGROUP_NODELETE, CGROUP_WEIGHT, DATAPLACEMENT,
    DEDUPE_GLOBAL, DEDUPE_MODE, DEDUPE_PERCENTAGE, DEDUPE_WORKING_SET_PERCENTAGE, DIRECT,
    DP_SCHEME, DedupeMode, END_FSYNC, END_SYNCFS, EXIT_WHAT, FADVISE_HINT, FDATASYNC, FDP,
    FLOW_SLEEP, FLOW_WATERMARK, FSYNC, FSYNC_ON_CLOSE, HUGEPAGE_SIZE, IGNORE_ZONE_LIMITS, IO_SIZE,
    IODEPTH_BATCH, IODEPTH_BATCH_COMPLETE_MAX, IODEPTH_LOW, IOSCHEDULER, JOB_MAX_OPEN_ZONES,
    LATENCY_PERCENTILE, LATENCY_RUN, LATENCY_SLICE, LATENCY_TEST, LATENCY_WINDOW, MAX_OPEN_ZONES,
    NORANDOMMAP, OVERWRITE, PERCENTAGE_RANDOM, PLID_SELECT, PLIDS, PlidSelect, RANDOM_DISTRIBUTION,
    RANDOM_GENERATOR, RATE, RATE_CYCLE, RATE_IGNORE_THINKTIME, RATE_IOPS_MIN, RATE_MIN,
    RATE_PROCESS, READ_BEYOND_WP, RECOVER_ZBD_WRITE_ERROR, REFILL_BUFFERS, RUNTIME, RWMIXREAD,
    RWMIXWRITE, SCRAMBLE_BUFFERS, SPR_CS, SPR_NUM_REGIONS, SPR_OP, SPRANDOM, STEADYSTATE,
    STEADYSTATE_CHECK_INTERVAL, STEADYSTATE_RAMP_TIME, SYNC, SYNC_FILE_RANGE, THINKTIME,
    THINKTIME_BLOCKS, THINKTIME_BLOCKS_TYPE, THINKTIME_IOTIME, THINKTIME_SPIN, TIME_BASED,
    VERIFYSORT, VERIFYSORT_NR, WRITE_BARRIER, WRITE_HINT, WRITE_ZONE_REMAINDER, ZERO_BUFFERS,
    ZONE_RESET_FREQUENCY, ZONE_RESET_THRESHOLD, ZONECAPACITY, ZONEMODE, ZONERANGE, ZONESIZE,
    ZONESKIP, ZoneMode,
};
use fiord_types::{Dir, Nanos, PerDir};

use super::conditions::{
    access, compresses, has_character_device, is_hinted, is_positive, makes_data, places,
    places_writes, rates_decide_mix, repeats,
};
use crate::model::{Advice, EngineAccess, JobPlan, Memory, Mix};
use crate::options::reading::Reading;

/// A reason why options have no effect.
pub(crate) struct Rule {
    /// The options that it is about.
    pub(crate) options: &'static [&'static OptionDef],
    /// Which of them the rule reports.
    pub(crate) reports: Reports,
    /// Whether they have no effect on a job.
    pub(crate) unused: fn(Reading, &JobPlan) -> bool,
    /// The warning, in which `{option}`, `{engine}` and `{device}` stand for their names.
    pub(crate) what: &'static str,
    /// The remedy, with the same placeholders. Empty: leave the option out.
    pub(crate) help: &'static str,
    /// Options of a job that this rule warns of once, and no other rule. A test plans it.
    #[cfg_attr(not(test), expect(dead_code, reason = "only a test reads it"))]
    pub(crate) example: &'static str,
}

/// Which settings a rule reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reports {
    /// Each option that the job sets to another value than the default and than 0.
    EachChanged,
    /// Each option that the job sets.
    EachSet,
    /// The first option that the job sets.
    FirstSet,
}

pub(crate) const RULES: &[Rule] = &[
    Rule {
        options: &[RWMIXREAD.def(), RWMIXWRITE.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !matches!(plan.load.mix, Mix::ReadWrite { .. }),
        what: "`{option}` has no effect on a job that does not both read and write",
        help: "To fix: use `rw=rw` or `rw=randrw` for a mix",
        example: "--rw=read --rwmixread=70",
    },
    Rule {
        options: &[RWMIXREAD.def(), RWMIXWRITE.def()],
        reports: Reports::FirstSet,
        unused: |job, plan| job.is_set(RATE) && rates_decide_mix(plan),
        what: "reads and writes have a rate each, and the rates decide the mix: `{option}` \
               has no effect",
        help: "To fix: give both rates: `rate=<reads>,<writes>`",
        example: "--rw=randrw --rwmixread=70 --rate=1m",
    },
    Rule {
        options: &[RWMIXREAD.def(), RWMIXWRITE.def()],
        reports: Reports::FirstSet,
        unused: |_, plan| rates_decide_mix(plan),
        what: "reads and writes have a rate each, and the rates decide the mix: `{option}` \
               has no effect",
        help: "To fix: give both rates: `rate_iops=<reads>,<writes>`",
        example: "--rw=randrw --rwmixread=70 --rate_iops=100",
    },
    Rule {
        options: &[BLOCK_ERROR_PERCENTILES.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.mix.has(Dir::Trim),
        what: "`{option}` has no effect on a job that trims nothing",
        help: "To fix: leave it out, or use a workload that trims, such as `rw=trimwrite`",
        example: "--rw=write --block_error_percentiles=1",
    },
    Rule {
        options: &[BS_IS_SEQ_RAND.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| {
            plan.load.seq_rand.as_ref().is_some_and(|both| both.sequential == both.random)
        },
        what: "`{option}` has no effect if the block sizes of reads and writes are equal",
        help: "To fix: write both sizes, first that of sequential I/O: `bs=64k,4k`",
        example: "--rw=randread --bs=8k --bs_is_seq_rand=1",
    },
    Rule {
        options: &[
            PERCENTAGE_RANDOM.def(),
            RANDOM_DISTRIBUTION.def(),
            NORANDOMMAP.def(),
            RANDOM_GENERATOR.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.random,
        what: "`{option}` has no effect on a job whose offsets are not random",
        help: "To fix: use a random workload, such as `rw=randread`",
        example: "--rw=read --norandommap",
    },
    Rule {
        options: &[
            FSYNC.def(),
            FDATASYNC.def(),
            WRITE_BARRIER.def(),
            SYNC_FILE_RANGE.def(),
            END_FSYNC.def(),
            END_SYNCFS.def(),
            FSYNC_ON_CLOSE.def(),
            OVERWRITE.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.mix.changes_data(),
        what: "`{option}` has no effect on a job that writes nothing",
        help: "To fix: leave it out, or use a workload that writes",
        example: "--rw=read --fsync=3",
    },
    Rule {
        options: &[
            BUFFER_COMPRESS_PERCENTAGE.def(),
            BUFFER_COMPRESS_CHUNK.def(),
            BUFFER_CRC.def(),
            BUFFER_PATTERN.def(),
            DEDUPE_PERCENTAGE.def(),
            REFILL_BUFFERS.def(),
            SCRAMBLE_BUFFERS.def(),
            ZERO_BUFFERS.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| !makes_data(plan),
        what: "`{option}` has no effect on a job that writes nothing and lays out no file",
        help: "To fix: leave it out, or use a workload that writes",
        example: "--rw=read --zero_buffers",
    },
    Rule {
        options: &[BUFFER_COMPRESS_CHUNK.def()],
        reports: Reports::EachSet,
        unused: |job, _| !compresses(job),
        what: "`{option}` has no effect without `buffer_compress_percentage`",
        help: "To fix: add `buffer_compress_percentage`, or leave out `{option}`",
        example: "--rw=write --buffer_compress_chunk=4k",
    },
    Rule {
        options: &[DEDUPE_MODE.def(), DEDUPE_WORKING_SET_PERCENTAGE.def(), DEDUPE_GLOBAL.def()],
        reports: Reports::EachSet,
        unused: |job, _| !repeats(job),
        what: "`{option}` has no effect without `dedupe_percentage`",
        help: "To fix: add `dedupe_percentage`, or leave out `{option}`",
        example: "--rw=write --dedupe_global=1",
    },
    Rule {
        options: &[DEDUPE_WORKING_SET_PERCENTAGE.def()],
        reports: Reports::EachSet,
        unused: |job, _| job.get(DEDUPE_MODE) != DedupeMode::WorkingSet,
        what: "`{option}` has no effect without `dedupe_mode=working_set`",
        help: "To fix: add `dedupe_mode=working_set`, or leave out `{option}`",
        example: "--rw=write --dedupe_percentage=10 --dedupe_working_set_percentage=10",
    },
    Rule {
        options: &[DEDUPE_PERCENTAGE.def()],
        reports: Reports::EachChanged,
        unused: |job, _| !compresses(job) && job.is_set(BUFFER_PATTERN),
        what: "with `buffer_pattern` all blocks are equal: `{option}` has no effect",
        help: "To fix: add `buffer_compress_percentage`, so that only a part of a block is \
               the pattern",
        example: "--rw=write --dedupe_percentage=10 --buffer_pattern=0xff",
    },
    Rule {
        options: &[ZERO_BUFFERS.def()],
        reports: Reports::EachChanged,
        unused: |job, _| compresses(job),
        what: "`{option}` has no effect with `buffer_compress_percentage`: the contents \
               follow that share",
        help: "",
        example: "--rw=write --buffer_compress_percentage=10 --zero_buffers",
    },
    Rule {
        options: &[ZERO_BUFFERS.def()],
        reports: Reports::EachChanged,
        unused: |job, _| repeats(job),
        what: "`{option}` has no effect with `dedupe_percentage`: the contents follow that share",
        help: "",
        example: "--rw=write --dedupe_percentage=10 --zero_buffers",
    },
    Rule {
        options: &[SPR_NUM_REGIONS.def(), SPR_OP.def(), SPR_CS.def()],
        reports: Reports::EachSet,
        unused: |job, _| !job.get(SPRANDOM),
        what: "`{option}` has no effect without `sprandom`",
        help: "To fix: add `sprandom=1`",
        example: "--rw=randwrite --spr_op=0.2",
    },
    Rule {
        options: &[IO_SIZE.def()],
        reports: Reports::EachSet,
        unused: |job, _| job.get(SPRANDOM),
        what: "`{option}` has no effect: `sprandom` writes what the drive has room for",
        help: "To fix: use `runtime` or `number_ios` to end it early",
        example: "--rw=randwrite --sprandom=1 --norandommap --random_generator=lfsr --io_size=1m",
    },
    Rule {
        options: &[DATAPLACEMENT.def(), FDP.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.mix.has(Dir::Write),
        what: "`{option}` has no effect: the job writes nothing",
        help: "To fix: use a workload that writes, such as `rw=write`",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=read --dataplacement=streams --plids=1",
    },
    Rule {
        options: &[PLIDS.def(), PLID_SELECT.def(), DP_SCHEME.def()],
        reports: Reports::EachSet,
        unused: |job, _| !places(job),
        what: "`{option}` has no effect without `dataplacement`",
        help: "To fix: add `dataplacement=fdp` or `dataplacement=streams`",
        example: "--rw=write --plids=1",
    },
    Rule {
        options: &[PLIDS.def()],
        reports: Reports::EachSet,
        unused: |job, plan| places_writes(job, plan) && job.get(PLID_SELECT) == PlidSelect::Scheme,
        what: "`{option}` has no effect: `dp_scheme` names the identifiers",
        help: "",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --dataplacement=streams \
                  --plid_select=scheme --dp_scheme=scheme --plids=1",
    },
    Rule {
        options: &[DP_SCHEME.def()],
        reports: Reports::EachSet,
        unused: |job, plan| places_writes(job, plan) && job.get(PLID_SELECT) != PlidSelect::Scheme,
        what: "`{option}` has no effect without `plid_select=scheme`",
        help: "To fix: add `plid_select=scheme`",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --dataplacement=streams --plids=1 --dp_scheme=scheme",
    },
    Rule {
        options: &[
            ZONECAPACITY.def(),
            READ_BEYOND_WP.def(),
            MAX_OPEN_ZONES.def(),
            JOB_MAX_OPEN_ZONES.def(),
            IGNORE_ZONE_LIMITS.def(),
            ZONE_RESET_THRESHOLD.def(),
            ZONE_RESET_FREQUENCY.def(),
            RECOVER_ZBD_WRITE_ERROR.def(),
            WRITE_ZONE_REMAINDER.def(),
        ],
        reports: Reports::EachSet,
        unused: |_, plan| plan.load.zoned.is_none(),
        what: "`{option}` has no effect without `zonemode=zbd`",
        help: "To fix: add `zonemode=zbd`, or leave it out",
        example: "--rw=write --max_open_zones=3",
    },
    Rule {
        options: &[ZONERANGE.def(), ZONESKIP.def()],
        reports: Reports::EachSet,
        unused: |job, _| job.get(ZONEMODE) == ZoneMode::None,
        what: "`{option}` has no effect without a `zonemode`",
        help: "To fix: add `zonemode=strided` and `zonesize`, or leave it out",
        example: "--rw=write --zonerange=1m",
    },
    Rule {
        options: &[ZONERANGE.def()],
        reports: Reports::EachSet,
        unused: |job, plan| plan.load.zoned.is_some() && job.get(ZONERANGE) != job.get(ZONESIZE),
        what: "`{option}` has no effect with `zonemode=zbd`",
        help: "To fix: set the size of a zone with `zonesize`",
        example: "--ioengine=psync --filename=f --rw=write --zonemode=zbd --zonesize=64k --zonerange=128k",
    },
    Rule {
        options: &[JOB_MAX_OPEN_ZONES.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.mix.has(Dir::Write),
        what: "'{option}' is valid only for write jobs: this one opens no zone",
        help: "To fix: leave it out",
        example: "--ioengine=psync --filename=f --rw=read --zonemode=zbd --zonesize=64k --job_max_open_zones=2",
    },
    Rule {
        options: &[ZONE_RESET_THRESHOLD.def()],
        reports: Reports::EachSet,
        unused: |job, _| {
            is_positive(job, ZONE_RESET_THRESHOLD) && !is_positive(job, ZONE_RESET_FREQUENCY)
        },
        what: "`{option}` resets no zone without zone_reset_frequency",
        help: "To fix: add zone_reset_frequency, or leave it out",
        example: "--ioengine=psync --filename=f --rw=write --zonemode=zbd --zonesize=64k --zone_reset_threshold=0.5",
    },
    Rule {
        options: &[ZONE_RESET_FREQUENCY.def()],
        reports: Reports::EachSet,
        unused: |job, _| {
            is_positive(job, ZONE_RESET_FREQUENCY) && !is_positive(job, ZONE_RESET_THRESHOLD)
        },
        what: "`{option}` resets no zone without zone_reset_threshold",
        help: "To fix: add zone_reset_threshold, or leave it out",
        example: "--ioengine=psync --filename=f --rw=write --zonemode=zbd --zonesize=64k --zone_reset_frequency=0.5",
    },
    Rule {
        options: &[ZONE_RESET_FREQUENCY.def()],
        reports: Reports::EachSet,
        unused: |job, plan| {
            is_positive(job, ZONE_RESET_FREQUENCY) && !plan.load.mix.has(Dir::Write)
        },
        what: "`{option}` resets no zone without a job that writes",
        help: "To fix: add a job that writes, or leave it out",
        example: "--ioengine=psync --filename=f --rw=read --zonemode=zbd --zonesize=64k --zone_reset_threshold=0.5 \
                  --zone_reset_frequency=0.5",
    },
    Rule {
        options: &[DIRECT.def(), BUFFERED.def()],
        reports: Reports::FirstSet,
        unused: |_, plan| plan.target.open.direct && access(plan) == EngineAccess::Mapping,
        what: "`ioengine={engine}` always goes through the page cache: `{option}` has no effect",
        help: "To fix: use another engine, such as `ioengine=psync`",
        example: "--ioengine=mmap --filename=f --direct=1",
    },
    Rule {
        options: &[DIRECT.def(), BUFFERED.def(), SYNC.def(), WRITE_HINT.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.uses_buffers,
        what: "`ioengine={engine}` moves no data: `{option}` has no effect",
        help: "To fix: leave it out",
        example: "--ioengine=falloc --filename=f --rw=write --direct=1",
    },
    Rule {
        options: &[DIRECT.def(), BUFFERED.def()],
        reports: Reports::FirstSet,
        unused: |_, plan| plan.target.open.direct && access(plan) == EngineAccess::Memory,
        what: "`ioengine={engine}` uses memory and no file: `{option}` has no effect",
        help: "",
        example: "--ioengine=page_fault --direct=1",
    },
    Rule {
        options: &[SYNC.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| access(plan) == EngineAccess::NvmeCommands,
        what: "`{option}` has no effect: the engine sends commands and does not write to a file",
        help: "To fix: use `writefua=1`, which is Force Unit Access, or `fsync=1`",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --sync=dsync",
    },
    Rule {
        options: &[SYNC.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| access(plan) == EngineAccess::ScsiCommands,
        what: "`{option}` has no effect on commands",
        help: "To fix: use `fsync=1`; with `ioengine=sg`, `writefua=1` sets Force Unit Access in the command",
        example: "--ioengine=sg --filename=/dev/sg0 --rw=write --sync=1",
    },
    Rule {
        options: &[WRITE_HINT.def()],
        reports: Reports::EachSet,
        unused: |job, plan| is_hinted(job) && access(plan) == EngineAccess::NvmeCommands,
        what: "`{option}` has no effect: the engine sends commands and does not write to a file",
        help: "To fix: use `dataplacement` to say where data belong",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --write_hint=short",
    },
    Rule {
        options: &[WRITE_HINT.def()],
        reports: Reports::EachSet,
        unused: |job, plan| is_hinted(job) && access(plan) == EngineAccess::ScsiCommands,
        what: "`{option}` has no effect with an engine that sends commands",
        help: "To fix: leave it out: it is for writes to files",
        example: "--ioengine=sg --filename=/dev/sg0 --rw=write --write_hint=short",
    },
    Rule {
        options: &[WRITE_HINT.def()],
        reports: Reports::EachSet,
        unused: |job, plan| {
            is_hinted(job) && matches!(access(plan), EngineAccess::Nothing | EngineAccess::Memory)
        },
        what: "`{option}` has no effect with `ioengine={engine}`",
        help: "To fix: leave it out: nothing is written",
        example: "--ioengine=null --rw=write --write_hint=short",
    },
    Rule {
        options: &[IOSCHEDULER.def()],
        reports: Reports::EachSet,
        unused: |_, plan| !plan.target.files.iter().any(|file| file.kind.has_path()),
        what: "`{option}` has no effect with `ioengine={engine}`",
        help: "To fix: leave it out: there is no device",
        example: "--ioengine=null --ioscheduler=none",
    },
    Rule {
        options: &[IOSCHEDULER.def()],
        reports: Reports::EachSet,
        unused: |_, plan| has_character_device(plan),
        what: "`{option}` has no effect on the character device `{device}`",
        help: "To fix: set it beforehand: echo NAME > /sys/block/DISK/queue/scheduler",
        example: "--ioengine=psync --filename=/dev/zero --ioscheduler=none",
    },
    Rule {
        options: &[FADVISE_HINT.def()],
        reports: Reports::EachSet,
        unused: |job, plan| has_character_device(plan) && job.get(FADVISE_HINT) != Advice::None,
        what: "`{option}` has no effect on the character device `{device}`",
        help: "To fix: leave it out: it is for the page cache of files",
        example: "--ioengine=psync --filename=/dev/zero --fadvise_hint=random",
    },
    Rule {
        options: &[IODEPTH_BATCH.def(), IODEPTH_BATCH_COMPLETE_MAX.def(), IODEPTH_LOW.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.depth.depth <= 1,
        what: "`{option}` has no effect with `iodepth=1`: there is one I/O at a time",
        help: "To fix: raise `iodepth`",
        example: "--iodepth_batch=4",
    },
    Rule {
        options: &[HUGEPAGE_SIZE.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| {
            !matches!(plan.process.memory, Memory::ShmHuge(_) | Memory::MmapHuge { .. })
        },
        what: "`{option}` has no effect on a job whose buffers are not in huge pages",
        help: "To fix: use `mem=mmaphuge` or `mem=shmhuge`",
        example: "--hugepage-size=1g",
    },
    Rule {
        options: &[CGROUP_WEIGHT.def(), CGROUP_NODELETE.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.process.cgroup.is_none(),
        what: "`{option}` has no effect without `cgroup`",
        help: "To fix: add `cgroup=NAME`",
        example: "--cgroup_weight=500",
    },
    Rule {
        options: &[EXIT_WHAT.def()],
        reports: Reports::EachSet,
        unused: |_, plan| !plan.end.exitall && !plan.end.exitall_on_error,
        what: "`{option}` has no effect without `exitall` or `exitall_on_error`",
        help: "To fix: add `exitall`, which ends the other jobs when this one ends",
        example: "--exit_what=all",
    },
    Rule {
        options: &[TIME_BASED.def()],
        reports: Reports::EachChanged,
        unused: |job, _| job.get(RUNTIME) == Nanos::ZERO,
        what: "{option} requires a runtime/timeout setting: the job does its work once",
        help: "To fix: add `runtime=30s`, or leave out `{option}`",
        example: "--time_based",
    },
    Rule {
        options: &[TIME_BASED.def()],
        reports: Reports::EachChanged,
        unused: |job, _| job.get(SPRANDOM),
        what: "`{option}` has no effect: `sprandom` ends when the drive is written",
        help: "",
        example: "--rw=randwrite --sprandom=1 --norandommap --random_generator=lfsr --time_based --runtime=3",
    },
    Rule {
        options: &[
            STEADYSTATE.def(),
            STEADYSTATE_RAMP_TIME.def(),
            STEADYSTATE_CHECK_INTERVAL.def(),
        ],
        reports: Reports::FirstSet,
        unused: |_, plan| plan.end.steady.is_none(),
        what: "{option} has no effect: steadystate_duration is not set",
        help: "To fix: add the length of the window, `ss_dur=300`",
        example: "--steadystate=iops:1% --steadystate_ramp_time=3",
    },
    Rule {
        options: &[RATE_PROCESS.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.pace.rate == PerDir::all(None),
        what: "`{option}` has no effect on a job that has no rate",
        help: "To fix: add `rate_iops=<I/Os a second>` or `rate=<bytes a second>`",
        example: "--rate_process=poisson",
    },
    Rule {
        options: &[RATE_CYCLE.def()],
        reports: Reports::EachSet,
        unused: |job, _| !job.is_set(RATE_MIN) && !job.is_set(RATE_IOPS_MIN),
        what: "`{option}` has no effect without `rate_min` or `rate_iops_min`",
        help: "To fix: leave it out; it is the interval at which minimum rates are checked",
        example: "--rate_cycle=500",
    },
    Rule {
        options: &[RATE_IGNORE_THINKTIME.def()],
        reports: Reports::EachChanged,
        unused: |job, _| job.get(THINKTIME) == Nanos::ZERO,
        what: "`{option}` has no effect without `thinktime`",
        help: "To fix: leave it out",
        example: "--rate=1m --rate_ignore_thinktime=1",
    },
    Rule {
        options: &[
            THINKTIME_SPIN.def(),
            THINKTIME_BLOCKS.def(),
            THINKTIME_BLOCKS_TYPE.def(),
            THINKTIME_IOTIME.def(),
        ],
        reports: Reports::FirstSet,
        unused: |job, _| job.get(THINKTIME) == Nanos::ZERO,
        what: "`{option}` has no effect without `thinktime`",
        help: "To fix: add `thinktime=<time>`",
        example: "--thinktime_spin=10 --thinktime_blocks=2",
    },
    Rule {
        options: &[FLOW_SLEEP.def()],
        reports: Reports::EachSet,
        unused: |_, plan| plan.pace.flow.is_none(),
        what: "`{option}` has no effect without `flow`",
        help: "To fix: add `flow=<weight>`",
        example: "--flow_sleep=3",
    },
    Rule {
        options: &[LATENCY_WINDOW.def(), LATENCY_PERCENTILE.def(), LATENCY_RUN.def()],
        reports: Reports::FirstSet,
        unused: |_, plan| plan.pace.latency_target.is_none(),
        what: "`{option}` has no effect without `latency_target`",
        help: "To fix: add `latency_target=<time>`",
        example: "--latency_window=10ms --latency_run=1",
    },
    Rule {
        options: &[LATENCY_SLICE.def(), LATENCY_TEST.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.record.slices.is_none(),
        what: "`{option}` has no effect without `latency_limits`",
        help: "To fix: add `latency_limits=1ms:5,8ms:1`: the shares of I/Os that may take longer",
        example: "--latency_slice=1m",
    },
    Rule {
        options: &[FLOW_WATERMARK.def(), VERIFYSORT.def(), VERIFYSORT_NR.def()],
        reports: Reports::EachSet,
        unused: |_, _| true,
        what: "`{option}` is deprecated: it has no effect, as in fio",
        help: "To fix: leave it out",
        example: "--flow_watermark=100",
    },
];
