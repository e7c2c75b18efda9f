//! When a job starts, how long it runs, and which clock measures it.

use crate::option::declare::*;

words! {
    /// The words of `clocksource`.
    pub enum ClockSource {
        Gettimeofday = new("gettimeofday", "the wall clock, in microseconds"),
        ClockGettime = new("clock_gettime", "the kernel's monotonic clock"),
        Cpu = new("cpu", "the CPU's time stamp counter, which must run at a constant rate"),
    }
}

options! {
    Category::Time;

    /// The longest time that the job does I/O. Unless `time_based` is set, the job ends earlier
    /// when its work is done. 0 means no limit. A bare number is in seconds. With `verify=fiord`, the
    /// job reads back after this time what it has written; with fio's methods of `verify` it does not.
    pub const RUNTIME: Opt<Nanos> = option("runtime", SECONDS, "runtime=30s")
        .alias(&["timeout"])
        .default("0");

    /// Repeats the job's work until `runtime` is over.
    pub const TIME_BASED: Opt<bool> = option("time_based", SWITCH, "time_based=1");

    /// How long the job waits before it starts. With a range (`5-10`), each worker chooses a random
    /// delay from it. A bare number is in seconds.
    pub const STARTDELAY: Opt<TimeRange> = option(
        "startdelay",
        custom("time or range of times", &Reader(read::time_range)),
        "startdelay=2",
    )
    .default("0");

    /// How long the job runs before fiord starts to measure, so that caches, queues and the device
    /// can settle. This time is in addition to `runtime`. A bare number is in seconds.
    pub const RAMP_TIME: Opt<Option<Nanos>> = option("ramp_time", SECONDS, "ramp_time=5s");

    /// How many bytes the job transfers before fiord starts to measure. With `group_reporting`, the
    /// jobs of a group count together.
    pub const RAMP_SIZE: Opt<Option<Bytes>> = option("ramp_size", bytes(1, u64::MAX), "ramp_size=1g")
        .since("3.42");

    /// The clock for timing I/Os. Without it, fiord uses the CPU's time stamp counter if the kernel
    /// trusts it, and otherwise the monotonic clock.
    pub const CLOCKSOURCE: Opt<Option<ClockSource>> =
        option("clocksource", one_of(), "clocksource=cpu");

    /// Reads the clock as rarely as possible. It turns off the measurement of latency and of
    /// bandwidth over time (`disable_lat`, `disable_clat`, `disable_slat`,
    /// `disable_bw_measurement`), and checks the end of the run less precisely.
    pub const GTOD_REDUCE: Opt<bool> = option("gtod_reduce", BOOL, "gtod_reduce=1").default("0");

    /// Reserves one CPU for a thread that writes the current time to shared memory, where the
    /// workers read it instead of calling a clock. The workers do not run on this CPU.
    pub const GTOD_CPU: Opt<Option<u32>> = option("gtod_cpu", COUNT, "gtod_cpu=1");

    /// The number of the clock (as in `clock_gettime(2)`) for `job_start` in JSON reports. 0 is the
    /// real-time clock.
    pub const JOB_START_CLOCK_ID: Opt<Option<u32>> =
        option("job_start_clock_id", COUNT, "job_start_clock_id=1").since("3.42");
}
