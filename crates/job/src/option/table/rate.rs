//! Rates, think times and latency targets.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};

options_of!(Category::Rate);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "thinktime",
        Kind::MICROS,
        "How long the job pauses after each completed block, like a program that processes its \
         data. A bare number is in microseconds.",
        "thinktime=500",
    )
    .default("0"),
    option(
        "thinktime_spin",
        Kind::MICROS,
        "How much of the think time the job busy-waits; it sleeps the rest. A bare number is in \
         microseconds.",
        "thinktime_spin=100",
    )
    .default("0")
    .under("thinktime"),
    option(
        "thinkcycles",
        Kind::COUNT,
        "How many CPU cycles the job busy-waits after each completed block, in addition to any \
         think time.",
        "thinkcycles=10000",
    )
    .default("0")
    .under("thinktime")
    .since("3.42"),
    option(
        "thinktime_blocks",
        Kind::COUNT,
        "How many blocks the job does between two think times.",
        "thinktime_blocks=8",
    )
    .default("1")
    .under("thinktime"),
    option(
        "thinktime_blocks_type",
        Kind::words(&[
            Word::new("complete", "a block counts when it completes"),
            Word::new("issue", "a block counts when the job issues it"),
        ]),
        "When a block counts for `thinktime_blocks`.",
        "thinktime_blocks_type=issue",
    )
    .default("complete")
    .under("thinktime"),
    option(
        "thinktime_iotime",
        Kind::SECONDS,
        "How long the job does I/O between two think times. A bare number is in seconds.",
        "thinktime_iotime=9s",
    )
    .default("0")
    .under("thinktime"),
    option(
        "rate",
        Kind::Ints { min: 0, max: u64::MAX, unit: Unit::Bytes },
        "The maximum bandwidth in bytes per second. Up to three values, for reads, writes and \
         trims; an empty value means no limit.",
        "rate=100m,50m",
    ),
    option(
        "rate_min",
        Kind::Ints { min: 0, max: u64::MAX, unit: Unit::Bytes },
        "The minimum bandwidth in bytes per second. If the job falls below it, the job ends with \
         an error. Up to three values, for reads, writes and trims.",
        "rate_min=50m",
    )
    .alias(&["ratemin"])
    .under("rate"),
    option(
        "rate_iops",
        Kind::Ints { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The maximum number of I/Os per second. Up to three values, for reads, writes and trims.",
        "rate_iops=7000,3000",
    ),
    option(
        "rate_iops_min",
        Kind::Ints { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The minimum number of I/Os per second. If the job falls below it, the job ends with an \
         error. Up to three values, for reads, writes and trims.",
        "rate_iops_min=500",
    )
    .under("rate_iops"),
    option(
        "rate_process",
        Kind::words(&[
            Word::new("linear", "evenly spaced"),
            Word::new(
                "poisson",
                "at random times, like requests of independent clients (a Poisson \
                                  process)",
            ),
        ]),
        "How a job with a rate spreads its I/Os over time.",
        "rate_process=poisson",
    )
    .default("linear")
    .under("rate"),
    option(
        "rate_cycle",
        Kind::MILLIS,
        "The window over which fiord checks `rate_min` and `rate_iops_min`. A bare number is in \
         milliseconds.",
        "rate_cycle=500",
    )
    .alias(&["ratecycle"])
    .default("1000")
    .under("rate"),
    option(
        "rate_ignore_thinktime",
        Kind::Bool,
        "Excludes think times from the rate: the job does not catch up on the I/Os that it did not \
         issue during a think time.",
        "rate_ignore_thinktime=1",
    )
    .under("rate"),
    option(
        "latency_target",
        Kind::MICROS,
        "Searches for the largest queue depth at which latencies stay below this limit. A bare \
         number is in microseconds.",
        "latency_target=2ms",
    ),
    option(
        "latency_window",
        Kind::MICROS,
        "How long `latency_target` tries each depth. A bare number is in microseconds.",
        "latency_window=500ms",
    ),
    option(
        "latency_percentile",
        Kind::Floats { min: 0.0, max: 100.0, max_len: 1 },
        "How many per cent of the I/Os have to stay below `latency_target`.",
        "latency_percentile=99.9",
    )
    .default("100"),
    option(
        "latency_run",
        Kind::Bool,
        "Continues to adjust the depth to `latency_target` until the normal end of the job, \
         instead of ending the job when it finds the best depth.",
        "latency_run=1",
    )
    .default("0"),
    option(
        "max_latency",
        Kind::Ints { min: 0, max: u64::MAX, unit: Unit::Micros },
        "Ends the job with an error if an I/O takes longer than this. Up to three values, for \
         reads, writes and trims. A bare number is in microseconds.",
        "max_latency=5s",
    ),
];
