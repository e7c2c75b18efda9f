//! The table of reasons why an option has no effect on a job that replays a trace, and why an option about traces has
//! no effect.

use fiord_job::option::table::{
    BA, BS, BS_IS_SEQ_RAND, BS_UNALIGNED, BSRANGE, BSSPLIT, FDATASYNC, FILE_APPEND,
    FILE_SERVICE_TYPE, FILENAME, FILESIZE, FSYNC, IO_SIZE, LOOPS, NORANDOMMAP, NRFILES, NUMBER_IOS,
    OFFSET, OFFSET_ALIGN, OFFSET_INCREMENT, OPENFILES, PERCENTAGE_RANDOM, RANDOM_DISTRIBUTION,
    RANDOM_GENERATOR, RATE, RATE_IOPS, READ_IOLOG_CHUNKED, REPLAY_ALIGN, REPLAY_BEYOND,
    REPLAY_INVALID, REPLAY_MAP, REPLAY_NO_STALL, REPLAY_REDIRECT, REPLAY_SCALE, REPLAY_SKIP,
    REPLAY_TIME_SCALE, RW, RW_SEQUENCER, SIZE, SPRANDOM, SYNC_FILE_RANGE, TIME_BASED,
    WRITE_BARRIER, WRITE_IOLOG_AT,
};

use super::rules::{Reports, Rule};
use crate::model::JobPlan;

fn replays(plan: &JobPlan) -> bool {
    plan.replay.is_some()
}

pub(crate) const REPLAY_RULES: &[Rule] = &[
    Rule {
        options: &[LOOPS.def(), TIME_BASED.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| replays(plan),
        what: "a trace is replayed once (`read_iolog`): `{option}` has no effect",
        help: "",
        example: "--read_iolog=trace --loops=2",
    },
    Rule {
        options: &[
            RW.def(),
            BSRANGE.def(),
            BSSPLIT.def(),
            SIZE.def(),
            IO_SIZE.def(),
            NUMBER_IOS.def(),
            OFFSET.def(),
            OFFSET_INCREMENT.def(),
            NRFILES.def(),
            FILENAME.def(),
            FILESIZE.def(),
            RATE.def(),
            RATE_IOPS.def(),
            FSYNC.def(),
            FDATASYNC.def(),
        ],
        reports: Reports::EachSet,
        unused: |_, plan| replays(plan),
        what: "the trace decides (`read_iolog`): `{option}` has no effect",
        help: "",
        example: "--read_iolog=trace --rw=write",
    },
    Rule {
        options: &[
            PERCENTAGE_RANDOM.def(),
            RANDOM_DISTRIBUTION.def(),
            RANDOM_GENERATOR.def(),
            NORANDOMMAP.def(),
            RW_SEQUENCER.def(),
            BA.def(),
            BS_UNALIGNED.def(),
            BS_IS_SEQ_RAND.def(),
            OFFSET_ALIGN.def(),
            SPRANDOM.def(),
            FILE_SERVICE_TYPE.def(),
            FILE_APPEND.def(),
            OPENFILES.def(),
            SYNC_FILE_RANGE.def(),
            WRITE_BARRIER.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| replays(plan),
        what: "the trace decides which I/O comes next (`read_iolog`): `{option}` has no effect",
        help: "",
        example: "--read_iolog=trace --norandommap",
    },
    Rule {
        options: &[BS.def()],
        reports: Reports::EachSet,
        unused: |_, plan| plan.replay.as_ref().is_some_and(|replay| replay.contents.is_some()),
        what: "the trace decides how large I/Os are (`read_iolog`): `{option}` has no effect",
        help: "",
        example: "--read_iolog=trace --bs=8k",
    },
    Rule {
        options: &[REPLAY_TIME_SCALE.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.replay.as_ref().is_some_and(|replay| !replay.timed),
        what: "`replay_no_stall` ignores recorded times: `{option}` has no effect",
        help: "To fix: leave out one of the two",
        example: "--read_iolog=trace --replay_no_stall=1 --replay_time_scale=50",
    },
    Rule {
        options: &[
            READ_IOLOG_CHUNKED.def(),
            REPLAY_NO_STALL.def(),
            REPLAY_REDIRECT.def(),
            REPLAY_MAP.def(),
            REPLAY_SCALE.def(),
            REPLAY_ALIGN.def(),
            REPLAY_BEYOND.def(),
            REPLAY_INVALID.def(),
            REPLAY_TIME_SCALE.def(),
            REPLAY_SKIP.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| !replays(plan),
        what: "`{option}` has no effect on a job that replays no trace",
        help: "To fix: name a trace with `read_iolog`",
        example: "--replay_no_stall=1",
    },
    Rule {
        options: &[REPLAY_MAP.def()],
        reports: Reports::EachSet,
        unused: |job, plan| replays(plan) && job.is_set(REPLAY_REDIRECT),
        what: "`replay_redirect` replays all I/Os on one target: `{option}` has no effect",
        help: "To fix: leave out `replay_redirect`",
        example: "--read_iolog=trace --replay_redirect=f --replay_map=x:y",
    },
    Rule {
        options: &[WRITE_IOLOG_AT.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.iolog.is_none(),
        what: "`{option}` has no effect on a job that records no I/Os",
        help: "To fix: name a file with `write_iolog`",
        example: "--write_iolog_at=completion",
    },
];
