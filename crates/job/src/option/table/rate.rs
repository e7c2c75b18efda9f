//! Rates, think times and latency goals.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};

options_of!(Category::Rate);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "thinktime",
        Kind::MICROS,
        "Pauses after a block was completed, as a program does that works on its data. A bare number \
         is in microseconds.",
        "thinktime=500",
    )
    .default("0"),
    option(
        "thinktime_spin",
        Kind::MICROS,
        "How much of the think time is spent busy on the CPU; the rest is slept. A bare number is in \
         microseconds.",
        "thinktime_spin=100",
    )
    .default("0")
    .under("thinktime"),
    option(
        "thinkcycles",
        Kind::COUNT,
        "Spins for this many CPU cycles after each completed block, on top of any think time.",
        "thinkcycles=10000",
    )
    .default("0")
    .under("thinktime")
    .since("3.42"),
    option(
        "thinktime_blocks",
        Kind::COUNT,
        "How many blocks lie between two think times.",
        "thinktime_blocks=8",
    )
    .default("1")
    .under("thinktime"),
    option(
        "thinktime_blocks_type",
        Kind::words(&[
            Word::new("complete", "blocks are counted when they complete"),
            Word::new("issue", "blocks are counted when they are issued"),
        ]),
        "When a block counts for `thinktime_blocks`.",
        "thinktime_blocks_type=issue",
    )
    .default("complete")
    .under("thinktime"),
    option(
        "thinktime_iotime",
        Kind::SECONDS,
        "Does I/O for this long between two think times. A bare number is in seconds.",
        "thinktime_iotime=9s",
    )
    .default("0")
    .under("thinktime"),
    option(
        "rate",
        Kind::Ints { min: 0, max: u64::MAX, unit: Unit::Bytes },
        "The highest bandwidth in bytes a second. Up to three values, for reads, writes and trims; one \
         that is left empty is not limited.",
        "rate=100m,50m",
    ),
    option(
        "rate_min",
        Kind::Ints { min: 0, max: u64::MAX, unit: Unit::Bytes },
        "The lowest bandwidth in bytes a second that is acceptable: below it the job ends with an \
         error. Up to three values, for reads, writes and trims.",
        "rate_min=50m",
    )
    .alias(&["ratemin"])
    .under("rate"),
    option(
        "rate_iops",
        Kind::Ints { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The highest number of I/Os a second. Up to three values, for reads, writes and trims.",
        "rate_iops=7000,3000",
    ),
    option(
        "rate_iops_min",
        Kind::Ints { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The lowest number of I/Os a second that is acceptable: below it the job ends with an error. \
         Up to three values, for reads, writes and trims.",
        "rate_iops_min=500",
    )
    .under("rate_iops"),
    option(
        "rate_process",
        Kind::words(&[
            Word::new("linear", "evenly spaced"),
            Word::new("poisson", "at random, as independent clients would"),
        ]),
        "How the I/Os of a rate are spread over time.",
        "rate_process=poisson",
    )
    .default("linear")
    .under("rate"),
    option(
        "rate_cycle",
        Kind::MILLIS,
        "The window over which `rate_min` and `rate_iops_min` are checked. A bare number is in \
         milliseconds.",
        "rate_cycle=500",
    )
    .alias(&["ratecycle"])
    .default("1000")
    .under("rate"),
    option(
        "rate_ignore_thinktime",
        Kind::Bool,
        "Leaves think times out of the rate's account: what was not done in them is not made up for \
         later.",
        "rate_ignore_thinktime=1",
    )
    .under("rate"),
    option(
        "latency_target",
        Kind::MICROS,
        "Looks for the largest queue depth at which latencies stay below this. A bare number is in \
         microseconds.",
        "latency_target=2ms",
    ),
    option(
        "latency_window",
        Kind::MICROS,
        "How long each depth is tried by `latency_target`. A bare number is in microseconds.",
        "latency_window=500ms",
    ),
    option(
        "latency_percentile",
        Kind::Floats { min: 0.0, max: 100.0, max_len: 1 },
        "The share of I/Os, in per cent, that has to stay below `latency_target`.",
        "latency_percentile=99.9",
    )
    .default("100"),
    option(
        "latency_run",
        Kind::Bool,
        "Goes on adjusting the depth to `latency_target` until the job's normal end, in place of \
         ending when the best depth is found.",
        "latency_run=1",
    )
    .default("0"),
    option(
        "max_latency",
        Kind::Ints { min: 0, max: u64::MAX, unit: Unit::Micros },
        "Ends the job with an error when an I/O takes longer than this. Up to three values, for reads, \
         writes and trims. A bare number is in microseconds.",
        "max_latency=5s",
    ),
];
