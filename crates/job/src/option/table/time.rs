//! When a job starts, how long it runs, and which clock measures it.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word};
use crate::option::read;

const CATEGORY: Category = Category::Time;

pub(super) const OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "runtime",
        Kind::SECONDS,
        CATEGORY,
        "The longest time that the job does I/O. Unless `time_based` is set, the job ends earlier \
         when its work is done. 0 means no limit. A bare number is in seconds.",
        "runtime=30s",
    )
    .alias(&["timeout"])
    .default("0"),
    OptionDef::new(
        "time_based",
        Kind::Switch,
        CATEGORY,
        "Repeats the job's work until `runtime` is over.",
        "time_based=1",
    ),
    OptionDef::new(
        "startdelay",
        Kind::Custom { name: "time or range of times", read: read::time_range },
        CATEGORY,
        "How long the job waits before it starts. With a range (`5-10`), each worker chooses a \
         random delay from it. A bare number is in seconds.",
        "startdelay=2",
    )
    .default("0"),
    OptionDef::new(
        "ramp_time",
        Kind::SECONDS,
        CATEGORY,
        "How long the job runs before fiord starts to measure, so that caches, queues and the \
         device can settle. This time is in addition to `runtime`. A bare number is in seconds.",
        "ramp_time=5s",
    ),
    OptionDef::new(
        "ramp_size",
        Kind::Int { min: 1, max: u64::MAX, unit: Unit::Bytes },
        CATEGORY,
        "How many bytes the job transfers before fiord starts to measure. With `group_reporting`, \
         the jobs of a group count together.",
        "ramp_size=1g",
    )
    .since("3.42"),
    OptionDef::new(
        "clocksource",
        Kind::words(&[
            Word::new("gettimeofday", "the wall clock, in microseconds"),
            Word::new("clock_gettime", "the kernel's monotonic clock"),
            Word::new("cpu", "the CPU's time stamp counter, which must run at a constant rate"),
        ]),
        CATEGORY,
        "The clock for timing I/Os. Without it, fiord uses the CPU's time stamp counter if the \
         kernel trusts it, and otherwise the monotonic clock.",
        "clocksource=cpu",
    ),
    OptionDef::new(
        "gtod_reduce",
        Kind::Bool,
        CATEGORY,
        "Reads the clock as rarely as possible. It turns off the measurement of latency and of \
         bandwidth over time (`disable_lat`, `disable_clat`, `disable_slat`, \
         `disable_bw_measurement`), and checks the end of the run less precisely.",
        "gtod_reduce=1",
    )
    .default("0"),
    OptionDef::new(
        "gtod_cpu",
        Kind::COUNT,
        CATEGORY,
        "Reserves one CPU for a thread that writes the current time to shared memory, where the \
         workers read it instead of calling a clock. The workers do not run on this CPU.",
        "gtod_cpu=1",
    ),
    OptionDef::new(
        "job_start_clock_id",
        Kind::COUNT,
        CATEGORY,
        "The number of the clock (as in `clock_gettime(2)`) for `job_start` in JSON reports. 0 is \
         the real-time clock.",
        "job_start_clock_id=1",
    )
    .since("3.42"),
];
