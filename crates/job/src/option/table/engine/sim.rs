//! Options of `sim`, the simulated device.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word, options_of};

const SIM: &[&str] = &["sim"];
const SHARE: Kind = Kind::Floats { min: 0.0, max: 100.0, max_len: 1 };

/// The distributions of simulated latencies. Times in the suffix may have units; bare numbers are
/// in microseconds.
const LATENCIES: Kind = Kind::Words {
    words: &[
        Word::new("constant", "a constant time: `constant:TIME`"),
        Word::new("uniform", "evenly distributed between two times: `uniform:LOW:HIGH`"),
        Word::new("normal", "a normal distribution, cut off at 0: `normal:MEAN:DEVIATION`"),
        Word::new("exponential", "an exponential distribution: `exponential:MEAN`"),
        Word::new(
            "lognormal",
            "a log-normal distribution with a long tail: \
                                `lognormal:MEDIAN:SIGMA`, where sigma is a plain number",
        ),
    ],
    suffix: Suffix::Text,
};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "sim_seed",
        Kind::COUNT64,
        "The seed of all latencies and faults of the simulated device.",
        "sim_seed=7",
    )
    .of(SIM)
    .since("fiord")
    .default("1"),
    option(
        "sim_size",
        Kind::BYTES64,
        "The capacity of the simulated device. Writes beyond it fail with `ENOSPC`, other I/O \
         beyond it with `EIO`. 0 means no limit.",
        "sim_size=1t",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_latency",
        LATENCIES,
        "The latency of the simulated device for each I/O. Bare numbers are in microseconds.",
        "sim_latency=lognormal:90us:0.4",
    )
    .of(SIM)
    .since("fiord")
    .default("constant:100us"),
    option(
        "sim_read_latency",
        LATENCIES,
        "The latency of reads on the simulated device. The default is `sim_latency`.",
        "sim_read_latency=normal:90us:10us",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_write_latency",
        LATENCIES,
        "The latency of writes on the simulated device. The default is `sim_latency`.",
        "sim_write_latency=constant:20us",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_trim_latency",
        LATENCIES,
        "The latency of trims on the simulated device. The default is `sim_latency`.",
        "sim_trim_latency=exponential:1ms",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_sync_latency",
        LATENCIES,
        "The latency of flushes on the simulated device. The default is `sim_latency`.",
        "sim_sync_latency=constant:2ms",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_channels",
        Kind::COUNT,
        "How many I/Os the simulated device processes in parallel; further I/Os wait. 0 means no \
         limit.",
        "sim_channels=8",
    )
    .of(SIM)
    .since("fiord")
    .default("64"),
    option(
        "sim_error_rate",
        SHARE,
        "The percentage of I/Os that fail with `EIO`.",
        "sim_error_rate=0.1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_errors",
        Kind::Text,
        "Which I/Os fail, as a list separated by commas: `ERRNO@FIRST-END` for I/Os that touch \
         these bytes (`END` is not included), `ERRNO@OFFSET` for one byte, `ERRNO#N` for the I/O \
         with this number.",
        "sim_errors=EIO@1m-2m,ENOSPC#100",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_short_rate",
        SHARE,
        "The percentage of I/Os that transfer only the first part of their data.",
        "sim_short_rate=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_torn_rate",
        SHARE,
        "The percentage of writes that report success but store only the first part of their data.",
        "sim_torn_rate=0.01",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_lost_rate",
        SHARE,
        "The percentage of writes that report success but store no data.",
        "sim_lost_rate=0.01",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_stall",
        Kind::Text,
        "Pauses during which the device completes no I/O, as a list of `START:LENGTH` separated by \
         commas. Bare numbers are in microseconds.",
        "sim_stall=2s:500ms,10s:1s",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_stall_at",
        Kind::SECONDS,
        "The time after the start at which the device stops completing I/Os. A bare number is in \
         seconds.",
        "sim_stall_at=2s",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_stall_time",
        Kind::SECONDS,
        "The length of the pause that `sim_stall_at` starts. 0 means no pause. A bare number is in \
         seconds.",
        "sim_stall_time=1s",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_submit_cost",
        Kind::MICROS,
        "The time that the worker needs to submit an I/O. A bare number is in microseconds.",
        "sim_submit_cost=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_complete_cost",
        Kind::MICROS,
        "The time that the worker needs to take a completion. A bare number is in microseconds.",
        "sim_complete_cost=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_store",
        Kind::Bool,
        "Keeps written data in memory and returns it to reads. `sim_torn_rate` and `sim_lost_rate` \
         turn it on.",
        "sim_store=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_real_time",
        Kind::Bool,
        "Runs in real time. With 0, a virtual clock jumps from one event to the next, and the job \
         ends as fast as the CPU allows.",
        "sim_real_time=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
];
