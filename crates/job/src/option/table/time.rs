//! When a job runs, for how long, and by which clock.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word};
use crate::option::read;

const CATEGORY: Category = Category::Time;

pub(super) const OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "runtime",
        Kind::SECONDS,
        CATEGORY,
        "The longest time that the job may do I/O. It ends earlier when its work is done, unless \
         `time_based` is set. 0 means no limit. A bare number is in seconds.",
        "runtime=30s",
    )
    .alias(&["timeout"])
    .default("0"),
    OptionDef::new(
        "time_based",
        Kind::Switch,
        CATEGORY,
        "Lets the job begin its work again whenever it is done, until `runtime` is over.",
        "time_based=1",
    ),
    OptionDef::new(
        "startdelay",
        Kind::Custom { name: "time or range of times", read: read::time_range },
        CATEGORY,
        "How long the job waits before it starts. From a range (`5-10`) each worker draws its own \
         delay. A bare number is in seconds.",
        "startdelay=2",
    )
    .default("0"),
    OptionDef::new(
        "ramp_time",
        Kind::SECONDS,
        CATEGORY,
        "Runs the load for this long before measuring begins, so that caches, queues and the device \
         have settled. It comes on top of `runtime`. A bare number is in seconds.",
        "ramp_time=5s",
    ),
    OptionDef::new(
        "ramp_size",
        Kind::Int { min: 1, max: u64::MAX, unit: Unit::Bytes },
        CATEGORY,
        "Runs the load until this many bytes have been transferred before measuring begins. With \
         `group_reporting` the jobs of a group are counted together.",
        "ramp_size=1g",
    )
    .since("3.42"),
    OptionDef::new(
        "clocksource",
        Kind::words(&[
            Word::new("gettimeofday", "the wall clock, in microseconds"),
            Word::new("clock_gettime", "the kernel's monotonic clock"),
            Word::new("cpu", "the CPU's own counter, which must run at a constant rate"),
        ]),
        CATEGORY,
        "The clock that I/Os are timed with. When it is not set, the CPU's counter is used where the \
         kernel trusts it, and the monotonic clock elsewhere.",
        "clocksource=cpu",
    ),
    OptionDef::new(
        "gtod_reduce",
        Kind::Bool,
        CATEGORY,
        "Reads the clock as rarely as possible by switching off latency and windowed bandwidth \
         measurement (`disable_lat`, `disable_clat`, `disable_slat`, `disable_bw_measurement`) and by \
         checking the end of the run less precisely.",
        "gtod_reduce=1",
    )
    .default("0"),
    OptionDef::new(
        "gtod_cpu",
        Kind::COUNT,
        CATEGORY,
        "Sets one CPU aside that does nothing but keep the time in shared memory, where the workers \
         read it instead of asking a clock. Workers are kept off that CPU.",
        "gtod_cpu=1",
    ),
    OptionDef::new(
        "job_start_clock_id",
        Kind::COUNT,
        CATEGORY,
        "The number of the clock (as in `clock_gettime(2)`) by which `job_start` in JSON reports is \
         stamped. 0 is the real-time clock.",
        "job_start_clock_id=1",
    )
    .since("3.42"),
];
