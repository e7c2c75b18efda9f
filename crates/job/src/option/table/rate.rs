//! Rates, think times and latency targets.

use crate::option::declare::*;

words! {
    /// `thinktime_blocks_type`: when a block counts.
    pub enum ThinktimeBlocksType {
        Complete = new("complete", "a block counts when it completes"),
        Issue = new("issue", "a block counts when the job issues it"),
    }

    /// `rate_process`: how I/Os of a rate are spaced in time.
    pub enum RateProcess {
        Linear = new("linear", "evenly spaced"),
        Poisson = new(
            "poisson",
            "at random times, like requests of independent clients (a Poisson process)",
        ),
    }
}

options! {
    Category::Rate;

    /// How long the job pauses after each completed block, like a program that processes its data.
    /// A bare number is in microseconds.
    pub const THINKTIME: Opt<Nanos> = option("thinktime", MICROS, "thinktime=500").default("0");

    /// How much of the think time the job busy-waits; it sleeps the rest. A bare number is in
    /// microseconds.
    pub const THINKTIME_SPIN: Opt<Nanos> = option("thinktime_spin", MICROS, "thinktime_spin=100")
        .default("0")
        .under("thinktime");

    /// How many CPU cycles the job busy-waits after each completed block, in addition to any think
    /// time.
    pub const THINKCYCLES: Opt<u32> = option("thinkcycles", COUNT, "thinkcycles=10000")
        .default("0")
        .under("thinktime")
        .since("3.42");

    /// How many blocks the job does between two think times.
    pub const THINKTIME_BLOCKS: Opt<u32> = option("thinktime_blocks", COUNT, "thinktime_blocks=8")
        .default("1")
        .under("thinktime");

    /// When a block counts for `thinktime_blocks`.
    pub const THINKTIME_BLOCKS_TYPE: Opt<ThinktimeBlocksType> =
        option("thinktime_blocks_type", one_of(), "thinktime_blocks_type=issue")
            .default("complete")
            .under("thinktime");

    /// How long the job does I/O between two think times. A bare number is in seconds.
    pub const THINKTIME_IOTIME: Opt<Nanos> =
        option("thinktime_iotime", SECONDS, "thinktime_iotime=9s").default("0").under("thinktime");

    /// The maximum bandwidth in bytes per second. Up to three values, for reads, writes and trims;
    /// an empty value means no limit.
    pub const RATE: Opt<Option<PerDir<Option<Bytes>>>> =
        option("rate", per_dir(0, u64::MAX, Unit::BytesPerSecond), "rate=100m,50m");

    /// The minimum bandwidth in bytes per second. If the job falls below it, the job ends with an
    /// error. Up to three values, for reads, writes and trims.
    pub const RATE_MIN: Opt<Option<PerDir<Option<Bytes>>>> =
        option("rate_min", per_dir(0, u64::MAX, Unit::BytesPerSecond), "rate_min=50m")
            .alias(&["ratemin"])
            .under("rate");

    /// The maximum number of I/Os per second. Up to three values, for reads, writes and trims.
    pub const RATE_IOPS: Opt<Option<PerDir<Option<u32>>>> =
        option("rate_iops", per_dir(0, u32::MAX as u64, Unit::Count), "rate_iops=7000,3000");

    /// The minimum number of I/Os per second. If the job falls below it, the job ends with an
    /// error. Up to three values, for reads, writes and trims.
    pub const RATE_IOPS_MIN: Opt<Option<PerDir<Option<u32>>>> =
        option("rate_iops_min", per_dir(0, u32::MAX as u64, Unit::Count), "rate_iops_min=500")
            .under("rate_iops");

    /// How a job with a rate spreads its I/Os over time.
    pub const RATE_PROCESS: Opt<RateProcess> =
        option("rate_process", one_of(), "rate_process=poisson").default("linear").under("rate");

    /// The window over which fiord checks `rate_min` and `rate_iops_min`. A bare number is in
    /// milliseconds.
    pub const RATE_CYCLE: Opt<Nanos> = option("rate_cycle", MILLIS, "rate_cycle=500")
        .alias(&["ratecycle"])
        .default("1000")
        .under("rate");

    /// Excludes think times from the rate: the job does not catch up on the I/Os that it did not
    /// issue during a think time.
    pub const RATE_IGNORE_THINKTIME: Opt<bool> =
        option("rate_ignore_thinktime", BOOL, "rate_ignore_thinktime=1").under("rate");

    /// Searches for the largest queue depth at which latencies stay below this limit. A bare number
    /// is in microseconds.
    pub const LATENCY_TARGET: Opt<Option<Nanos>> =
        option("latency_target", MICROS, "latency_target=2ms");

    /// How long `latency_target` tries each depth. A bare number is in microseconds.
    pub const LATENCY_WINDOW: Opt<Option<Nanos>> =
        option("latency_window", MICROS, "latency_window=500ms");

    /// How many per cent of the I/Os have to stay below `latency_target`.
    pub const LATENCY_PERCENTILE: Opt<f64> =
        option("latency_percentile", float(0.0, 100.0), "latency_percentile=99.9").default("100");

    /// Continues to adjust the depth to `latency_target` until the normal end of the job, instead
    /// of ending the job when it finds the best depth.
    pub const LATENCY_RUN: Opt<bool> = option("latency_run", BOOL, "latency_run=1").default("0");

    /// Ends the job with an error if an I/O takes longer than this. Up to three values, for reads,
    /// writes and trims. A bare number is in microseconds.
    pub const MAX_LATENCY: Opt<Option<PerDir<Option<u64>>>> =
        option("max_latency", per_dir(0, u64::MAX, Unit::Micros), "max_latency=5s");
}
