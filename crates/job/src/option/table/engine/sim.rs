//! Options of `sim`, the simulated device.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word, options_of};

const SIM: &[&str] = &["sim"];
const SHARE: Kind = Kind::Floats { min: 0.0, max: 100.0, max_len: 1 };

/// The distributions of a latency. Times in the suffix have units; bare numbers are microseconds.
const LATENCIES: Kind = Kind::Words {
    words: &[
        Word::new("constant", "always the same: `constant:TIME`"),
        Word::new("uniform", "evenly between two times: `uniform:LOW:HIGH`"),
        Word::new("normal", "a bell, cut off at 0: `normal:MEAN:DEVIATION`"),
        Word::new("exponential", "as of independent arrivals: `exponential:MEAN`"),
        Word::new("lognormal", "with a long tail: `lognormal:MEDIAN:SIGMA`, sigma a plain number"),
    ],
    suffix: Suffix::Text,
};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "sim_seed",
        Kind::COUNT64,
        "The number from which all latencies and faults of the simulated device follow.",
        "sim_seed=7",
    )
    .of(SIM)
    .since("fiord")
    .default("1"),
    option(
        "sim_size",
        Kind::BYTES64,
        "The capacity of the simulated device. I/O beyond it fails with `EIO`, writes with `ENOSPC`. \
         0 sets no limit.",
        "sim_size=1t",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_latency",
        LATENCIES,
        "How long the device takes for an I/O. Bare numbers are in microseconds.",
        "sim_latency=lognormal:90us:0.4",
    )
    .of(SIM)
    .since("fiord")
    .default("constant:100us"),
    option(
        "sim_read_latency",
        LATENCIES,
        "How long the device takes for a read; as `sim_latency` when it is not set.",
        "sim_read_latency=normal:90us:10us",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_write_latency",
        LATENCIES,
        "How long the device takes for a write; as `sim_latency` when it is not set.",
        "sim_write_latency=constant:20us",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_trim_latency",
        LATENCIES,
        "How long the device takes for a trim; as `sim_latency` when it is not set.",
        "sim_trim_latency=exponential:1ms",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_sync_latency",
        LATENCIES,
        "How long the device takes for a flush; as `sim_latency` when it is not set.",
        "sim_sync_latency=constant:2ms",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_channels",
        Kind::COUNT,
        "How many I/Os the device works on at a time; further ones wait their turn. 0 sets no limit.",
        "sim_channels=8",
    )
    .of(SIM)
    .since("fiord")
    .default("64"),
    option(
        "sim_error_rate",
        SHARE,
        "The share of I/Os that fail with `EIO`, in per cent.",
        "sim_error_rate=0.1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_errors",
        Kind::Text,
        "Which I/Os fail, in a list by commas: `ERRNO@FIRST-END` for those that touch these bytes (the \
         end not included), `ERRNO@OFFSET` for one byte, `ERRNO#N` for the I/O with this number.",
        "sim_errors=EIO@1m-2m,ENOSPC#100",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_short_rate",
        SHARE,
        "The share of I/Os that transfer only their first part, in per cent.",
        "sim_short_rate=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_torn_rate",
        SHARE,
        "The share of writes that report success and store only their first part, in per cent.",
        "sim_torn_rate=0.01",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_lost_rate",
        SHARE,
        "The share of writes that report success and store nothing, in per cent.",
        "sim_lost_rate=0.01",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_stall",
        Kind::Text,
        "Pauses in which the device completes nothing, in a list by commas: `START:LENGTH`. Bare numbers \
         are in microseconds.",
        "sim_stall=2s:500ms,10s:1s",
    )
    .of(SIM)
    .since("fiord"),
    option(
        "sim_stall_at",
        Kind::SECONDS,
        "The moment after the start at which the device stops completing I/Os. A bare number is in \
         seconds.",
        "sim_stall_at=2s",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_stall_time",
        Kind::SECONDS,
        "How long that pause lasts. 0 makes none. A bare number is in seconds.",
        "sim_stall_time=1s",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_submit_cost",
        Kind::MICROS,
        "The time that submitting an I/O takes from the worker. A bare number is in microseconds.",
        "sim_submit_cost=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_complete_cost",
        Kind::MICROS,
        "The time that taking a completion takes from the worker. A bare number is in microseconds.",
        "sim_complete_cost=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_store",
        Kind::Bool,
        "Keeps in memory what is written and gives it back to reads. `sim_torn_rate` and \
         `sim_lost_rate` switch it on.",
        "sim_store=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
    option(
        "sim_real_time",
        Kind::Bool,
        "Takes the simulated time in real life. With 0 a virtual clock jumps from one event to the \
         next and the job ends as fast as the CPU allows.",
        "sim_real_time=1",
    )
    .of(SIM)
    .since("fiord")
    .default("0"),
];
