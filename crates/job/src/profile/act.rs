//! `act`: the load of Aerospike's certification tool for flash devices.
//!
//! At load 1, a device serves 2000 small reads per second, distributed evenly over its threads. One
//! thread writes large blocks at the rate at which 1000 records per second, each of the size of a
//! small read, fill them.

use super::{Description, ProfileDef, ProfileValues};
use crate::diagnostic::Diagnostic;
use crate::option::def::{Category, Kind, OptionDef, options_of};

pub(super) const PROFILE: ProfileDef = ProfileDef {
    name: "act",
    doc: "Small random reads and large random writes at fixed rates on each device for a day, like \
          a database on flash. At the end, the report shows for each hour how many reads were too \
          slow, and whether the devices passed. With `prep`, it prepares the devices: it writes \
          zeros and then random data to the whole device. It overwrites the devices.",
    options: OPTIONS,
    describe,
};

/// The tool's pass criteria from its documentation: in any hour, fewer than this percentage of the
/// small reads take longer than the time.
const LIMITS: &str = "1ms:5,8ms:1,64ms:0.1";
/// Small reads per second and device at load 1.
const READS: u64 = 2000;
/// Records written per second and device at load 1.
const RECORDS: u64 = 1000;

options_of!(Category::Profile);

const OPTIONS: &[OptionDef] = &[
    option(
        "device-names",
        Kind::Text,
        "The devices (or files) to test, separated by commas. Their contents are overwritten.",
        "--profile=act --device-names=/dev/nvme0n1,/dev/nvme1n1",
    ),
    option(
        "load",
        Kind::int(1, 1_000_000),
        "A factor for the load of 2000 reads and 1000 records per second.",
        "--profile=act --device-names=/dev/nvme0n1 --load=6",
    )
    .default("1"),
    option(
        "test-duration",
        Kind::SECONDS,
        "The duration of the test. A bare number is in seconds.",
        "--profile=act --device-names=/dev/nvme0n1 --test-duration=1h",
    )
    .default("24h"),
    option(
        "threads-per-queue",
        Kind::int(1, 4096),
        "How many threads read from each device.",
        "--profile=act --device-names=/dev/nvme0n1 --threads-per-queue=4",
    )
    .default("8"),
    option(
        "read-req-num-512-blocks",
        Kind::int(1, 1 << 20),
        "The size of a small read, in blocks of 512 bytes.",
        "--profile=act --device-names=/dev/nvme0n1 --read-req-num-512-blocks=8",
    )
    .default("3"),
    option(
        "large-block-op-kbytes",
        Kind::int(512, 1 << 30),
        "The size of a large write in bytes, as in fio, despite the option's name.",
        "--profile=act --device-names=/dev/nvme0n1 --large-block-op-kbytes=131072",
    )
    .default("131072"),
    option(
        "prep",
        Kind::Switch,
        "Prepares the devices for the test: writes zeros to the whole device, then random data.",
        "--profile=act --device-names=/dev/nvme0n1 --prep",
    )
    .default("0"),
];

fn describe(given: &ProfileValues<'_>) -> Result<Description, Box<Diagnostic>> {
    let names = given.text("device-names").unwrap_or_default();
    let devices: Vec<&str> = names.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    if devices.is_empty() {
        let error = given.error("device-names", "the device names are missing");
        return Err(Box::new(
            error.help("To fix: write --device-names=/dev/DEVICE[,/dev/DEVICE…]"),
        ));
    }
    let mut jobs = Description::default();
    jobs.section("global")
        .set("direct", 1)
        .set("ioengine", "sync")
        .set("random_generator", "lfsr")
        .switch("group_reporting")
        .switch("thread");
    if given.flag("prep") {
        devices.iter().for_each(|device| prepare(&mut jobs, device));
        return Ok(jobs);
    }
    let duration = given.time("test-duration") / 1_000_000_000;
    if duration == 0 {
        let error = given.error("test-duration", "the test must take at least a second");
        return Err(Box::new(error.help("To fix: write --test-duration=24h")));
    }
    jobs.set("runtime", format!("{duration}s")).switch("time_based");
    let (load, threads) = (given.count("load"), given.count("threads-per-queue"));
    let small = given.count("read-req-num-512-blocks") * 512;
    let large = given.count("large-block-op-kbytes");
    if large < small {
        let what = format!("a large write of {large} bytes is smaller than a read of {small}");
        let error = given.error("large-block-op-kbytes", what);
        return Err(Box::new(error.help("To fix: write the size in bytes; the default is 131072")));
    }
    let reads = READS * load / threads;
    if reads == 0 {
        let what = format!("{threads} threads share {} reads a second", READS * load);
        return Err(Box::new(
            given.error("threads-per-queue", what).help("To fix: use fewer threads"),
        ));
    }
    let writes = (RECORDS * load).div_ceil(large / small);
    for device in devices {
        jobs.section(format!("act-read-{device}"))
            .set("filename", device)
            .set("rw", "randread")
            .set("numjobs", threads)
            .set("rate_iops", reads)
            .set("bs", small)
            .set("latency_test", "act")
            .set("latency_limits", LIMITS);
        jobs.section(format!("act-write-{device}"))
            .set("filename", device)
            .set("rw", "randwrite")
            .set("rate_iops", writes)
            .set("bs", large);
    }
    Ok(jobs)
}

/// Adds jobs that write zeros to the whole device, then random data.
fn prepare(jobs: &mut Description, device: &str) {
    jobs.section(format!("act-prep-zeroes-{device}"))
        .set("filename", device)
        .set("bs", 1 << 20)
        .switch("zero_buffers")
        .set("rw", "write");
    jobs.section(format!("act-prep-salt-{device}"))
        .switch("stonewall")
        .set("filename", device)
        .set("bs", 4096)
        .set("ioengine", "libaio")
        .set("iodepth", 64)
        .set("rw", "randwrite");
}
