//! Options of `sim`, the simulated device.

use crate::option::declare::*;
use crate::option::fault::{SimCrash, SimFault};

const SIM: &[&str] = &["sim"];
words! {
    /// The distributions of simulated latencies. Times in the suffix may have units; bare numbers
    /// are in microseconds.
    pub enum LatencyModel {
        Constant = new("constant", "a constant time: `constant:TIME`"),
        Uniform = new("uniform", "evenly distributed between two times: `uniform:LOW:HIGH`"),
        Normal = new("normal", "a normal distribution, cut off at 0: `normal:MEAN:DEVIATION`"),
        Exponential = new("exponential", "an exponential distribution: `exponential:MEAN`"),
        LogNormal = new(
            "lognormal",
            "a log-normal distribution with a long tail: `lognormal:MEDIAN:SIGMA`, where \
             sigma is a plain number",
        ),
    }
}

options! {
    Category::Engine;

    /// The seed of all latencies and faults of the simulated device.
    pub const SIM_SEED: Opt<u64> = option("sim_seed", COUNT64, "sim_seed=7")
        .of(SIM)
        .since("fiord")
        .default("1");

    /// The capacity of the simulated device. Writes beyond it fail with `ENOSPC`, other I/O beyond
    /// it with `EIO`. 0 means no limit.
    pub const SIM_SIZE: Opt<Bytes> = option("sim_size", BYTES64, "sim_size=1t")
        .of(SIM)
        .since("fiord")
        .default("0");

    /// The latency of the simulated device for each I/O. Bare numbers are in microseconds.
    pub const SIM_LATENCY: Opt<WithSuffix<LatencyModel>> =
        option("sim_latency", one_of_with(Suffix::Text), "sim_latency=lognormal:90us:0.4")
            .of(SIM)
            .since("fiord")
            .default("constant:100us");

    /// The latency of reads on the simulated device. The default is `sim_latency`.
    pub const SIM_READ_LATENCY: Opt<Option<WithSuffix<LatencyModel>>> =
        option("sim_read_latency", one_of_with(Suffix::Text), "sim_read_latency=normal:90us:10us")
            .of(SIM)
            .since("fiord");

    /// The latency of writes on the simulated device. The default is `sim_latency`.
    pub const SIM_WRITE_LATENCY: Opt<Option<WithSuffix<LatencyModel>>> =
        option("sim_write_latency", one_of_with(Suffix::Text), "sim_write_latency=constant:20us")
            .of(SIM)
            .since("fiord");

    /// The latency of trims on the simulated device. The default is `sim_latency`.
    pub const SIM_TRIM_LATENCY: Opt<Option<WithSuffix<LatencyModel>>> =
        option("sim_trim_latency", one_of_with(Suffix::Text), "sim_trim_latency=exponential:1ms")
            .of(SIM)
            .since("fiord");

    /// The latency of flushes on the simulated device. The default is `sim_latency`.
    pub const SIM_SYNC_LATENCY: Opt<Option<WithSuffix<LatencyModel>>> =
        option("sim_sync_latency", one_of_with(Suffix::Text), "sim_sync_latency=constant:2ms")
            .of(SIM)
            .since("fiord");

    /// How many I/Os the simulated device processes in parallel; further I/Os wait. 0 means no
    /// limit.
    pub const SIM_CHANNELS: Opt<u32> = option("sim_channels", COUNT, "sim_channels=8")
        .of(SIM)
        .since("fiord")
        .default("64");

    /// The percentage of I/Os that fail with `EIO`.
    pub const SIM_ERROR_RATE: Opt<f64> =
        option("sim_error_rate", float(0.0, 100.0), "sim_error_rate=0.1")
            .of(SIM)
            .since("fiord")
            .default("0");

    /// Which I/Os fail, as a list separated by commas: `ERRNO@FIRST-END` for I/Os that touch these
    /// bytes (`END` is not included), `ERRNO@OFFSET` for one byte, `ERRNO#N` for the I/O with this
    /// number.
    pub const SIM_ERRORS: Opt<Option<String>> =
        option("sim_errors", TEXT, "sim_errors=EIO@1m-2m,ENOSPC#100").of(SIM).since("fiord");

    /// The percentage of I/Os that transfer only the first part of their data.
    pub const SIM_SHORT_RATE: Opt<f64> =
        option("sim_short_rate", float(0.0, 100.0), "sim_short_rate=1")
            .of(SIM)
            .since("fiord")
            .default("0");

    /// The percentage of writes that report success but store only the first part of their data.
    pub const SIM_TORN_RATE: Opt<f64> =
        option("sim_torn_rate", float(0.0, 100.0), "sim_torn_rate=0.01")
            .of(SIM)
            .since("fiord")
            .default("0");

    /// The percentage of writes that report success but store no data.
    pub const SIM_LOST_RATE: Opt<f64> =
        option("sim_lost_rate", float(0.0, 100.0), "sim_lost_rate=0.01")
            .of(SIM)
            .since("fiord")
            .default("0");

    /// Pauses during which the device completes no I/O, as a list of `START:LENGTH` separated by
    /// commas. Bare numbers are in microseconds.
    pub const SIM_STALL: Opt<Option<String>> =
        option("sim_stall", TEXT, "sim_stall=2s:500ms,10s:1s").of(SIM).since("fiord");

    /// The time after the start at which the device stops completing I/Os. A bare number is in
    /// seconds.
    pub const SIM_STALL_AT: Opt<Nanos> = option("sim_stall_at", SECONDS, "sim_stall_at=2s")
        .of(SIM)
        .since("fiord")
        .default("0");

    /// The length of the pause that `sim_stall_at` starts. 0 means no pause. A bare number is in
    /// seconds.
    pub const SIM_STALL_TIME: Opt<Nanos> = option("sim_stall_time", SECONDS, "sim_stall_time=1s")
        .of(SIM)
        .since("fiord")
        .default("0");

    /// The time that the worker needs to submit an I/O. A bare number is in microseconds.
    pub const SIM_SUBMIT_COST: Opt<Nanos> = option("sim_submit_cost", MICROS, "sim_submit_cost=1")
        .of(SIM)
        .since("fiord")
        .default("0");

    /// The time that the worker needs to take a completion. A bare number is in microseconds.
    pub const SIM_COMPLETE_COST: Opt<Nanos> =
        option("sim_complete_cost", MICROS, "sim_complete_cost=1")
            .of(SIM)
            .since("fiord")
            .default("0");

    /// Faults of the device, as a list separated by commas: `KIND:TRIGGER:PARAMETER…`. An I/O that a fault
    /// strikes reports success. Kinds: `misdirected_write` and `misdirected_read` (`by=BYTES`: distance of the
    /// wrong place; default: the length of the I/O), `stale_read` (returns what the place contained before its
    /// last write), `bit_flip` (`bits=N`), `torn` (`sector=N`: only the first N sectors are stored, default
    /// random; `unit=BYTES`: length of a sector, default 512), `shifted` (`by=BYTES`, default 8; bytes that
    /// move beyond an end appear at the other), `zeroed`, `ones`, `lost` (the write is not stored),
    /// `lost_after_flush` (the write disappears with the next flush), `swapped` (with the next write of the
    /// same length) and `ignored_flush` (the flush makes no write durable, see `sim_crash`). `bit_flip`,
    /// `shifted`, `zeroed` and `ones` strike writes, or reads with `dir=read`. Triggers: `op=N` (the I/O with
    /// this number among those that the fault can strike, from 1), `rate=PERCENT`, `bytes=FIRST-END` (I/Os
    /// that touch these bytes; END is not included) and `count=N` (at most N times). All triggers of a
    /// fault must hold. At most one fault strikes an I/O: the first in the list. The report lists the
    /// faults. Turns on `sim_store`.
    pub const SIM_FAULTS: Opt<Option<Vec<SimFault>>> = option(
        "sim_faults",
        custom("fault:trigger:parameter, separated by commas", &Reader(read::faults)),
        "sim_faults=misdirected_write:op=17:by=4096,bit_flip:rate=0.1:bits=1",
    )
    .of(SIM)
    .since("fiord");

    /// The device loses power for a moment: writes that no flush followed are lost. `op=N`: before the I/O or
    /// flush with this number, from 1. `time=TIME`: before the first one after this time of the
    /// device's clock, in seconds. `survive=PERCENT`: each of these writes survives with this
    /// probability; the default is 0. `down=1`: all I/Os of the job in flight and after it fail with
    /// `EIO`. Turns on `sim_store`.
    pub const SIM_CRASH: Opt<Option<SimCrash>> = option(
        "sim_crash",
        custom("op=number or time=duration", &Reader(read::crash)),
        "sim_crash=op=500:survive=30",
    )
    .of(SIM)
    .since("fiord");

    /// Keeps written data in memory and returns it to reads. Jobs of a run that name the same file
    /// see the same data. `sim_torn_rate`, `sim_lost_rate`, `sim_faults` and `sim_crash` turn it on, and
    /// verification does for all jobs with a file that some job checks.
    pub const SIM_STORE: Opt<bool> = option("sim_store", BOOL, "sim_store=1")
        .of(SIM)
        .since("fiord")
        .default("0");

    /// Lists all I/Os and flushes that the simulated device gets in the file `NAME_sim.N.log`, where `NAME` is the value and
    /// `N` the number of the job. A line has the slot, the file, the kind, offset and length, the part that an earlier short
    /// transfer has moved, four times in nanoseconds of the device's clock (when the job queued the I/O, when it submitted
    /// it, when the device completed it and when the job learned that), the numbers of the submission and of the reap
    /// among all such calls, and the result: bytes, or an errno below 0.
    pub const SIM_RECORD: Opt<Option<String>> =
        option("sim_record", TEXT, "sim_record=device").of(SIM).since("fiord");

    /// Runs in real time. With 0, a virtual clock jumps from one event to the next, and the job
    /// ends as fast as the CPU allows.
    pub const SIM_REAL_TIME: Opt<bool> = option("sim_real_time", BOOL, "sim_real_time=1")
        .of(SIM)
        .since("fiord")
        .default("0");
}
