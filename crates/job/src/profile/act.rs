//! `act`: the load of Aerospike's certification tool for flash devices.
//!
//! At load 1, a device serves 2000 small reads per second, distributed evenly over its threads. One
//! thread writes large blocks at the rate at which 1000 records per second, each of the size of a
//! small read, fill them.

use super::{Description, ProfileDef, ProfileValues};
use crate::diagnostic::Diagnostic;
use crate::option::declare::*;
use crate::option::table as job;

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

options! {
    Category::Profile;

    /// The devices (or files) to test, separated by commas. Their contents are overwritten.
    const DEVICE_NAMES: Opt<Option<String>> =
        option("device-names", TEXT, "--profile=act --device-names=/dev/nvme0n1,/dev/nvme1n1");

    /// A factor for the load of 2000 reads and 1000 records per second.
    const LOAD: Opt<u64> =
        option("load", int(1, 1_000_000), "--profile=act --device-names=/dev/nvme0n1 --load=6")
            .default("1");

    /// The duration of the test. A bare number is in seconds.
    const TEST_DURATION: Opt<Nanos> = option(
        "test-duration",
        SECONDS,
        "--profile=act --device-names=/dev/nvme0n1 --test-duration=1h",
    )
    .default("24h");

    /// How many threads read from each device.
    const THREADS_PER_QUEUE: Opt<u64> = option(
        "threads-per-queue",
        int(1, 4096),
        "--profile=act --device-names=/dev/nvme0n1 --threads-per-queue=4",
    )
    .default("8");

    /// The size of a small read, in blocks of 512 bytes.
    const READ_REQ_NUM_512_BLOCKS: Opt<u64> = option(
        "read-req-num-512-blocks",
        int(1, 1 << 20),
        "--profile=act --device-names=/dev/nvme0n1 --read-req-num-512-blocks=8",
    )
    .default("3");

    /// The size of a large write in bytes, as in fio, despite the option's name.
    const LARGE_BLOCK_OP_KBYTES: Opt<u64> = option(
        "large-block-op-kbytes",
        int(512, 1 << 30),
        "--profile=act --device-names=/dev/nvme0n1 --large-block-op-kbytes=131072",
    )
    .default("131072");

    /// Prepares the devices for the test: writes zeros to the whole device, then random data.
    const PREP: Opt<bool> =
        option("prep", SWITCH, "--profile=act --device-names=/dev/nvme0n1 --prep").default("0");
}

fn describe(given: &ProfileValues<'_>) -> Result<Description, Box<Diagnostic>> {
    let names = given.get(DEVICE_NAMES).unwrap_or_default();
    let devices: Vec<&str> = names.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    if devices.is_empty() {
        let error = given.error(DEVICE_NAMES, "the device names are missing");
        return Err(Box::new(
            error.help("To fix: write --device-names=/dev/DEVICE[,/dev/DEVICE…]"),
        ));
    }
    let mut jobs = Description::default();
    jobs.section("global")
        .set(job::DIRECT, 1)
        .set(job::IOENGINE, "sync")
        .set(job::RANDOM_GENERATOR, "lfsr")
        .switch(job::GROUP_REPORTING)
        .switch(job::THREAD);
    if given.get(PREP) {
        devices.iter().for_each(|device| prepare(&mut jobs, device));
        return Ok(jobs);
    }
    let duration = given.get(TEST_DURATION).as_secs();
    if duration == 0 {
        let error = given.error(TEST_DURATION, "the test must take at least a second");
        return Err(Box::new(error.help("To fix: write --test-duration=24h")));
    }
    jobs.set(job::RUNTIME, format!("{duration}s")).switch(job::TIME_BASED);
    let (load, threads) = (given.get(LOAD), given.get(THREADS_PER_QUEUE));
    let small = given.get(READ_REQ_NUM_512_BLOCKS) * 512;
    let large = given.get(LARGE_BLOCK_OP_KBYTES);
    if large < small {
        let what = format!("a large write of {large} bytes is smaller than a read of {small}");
        let error = given.error(LARGE_BLOCK_OP_KBYTES, what);
        return Err(Box::new(error.help("To fix: write the size in bytes; the default is 131072")));
    }
    let reads = READS * load / threads;
    if reads == 0 {
        let what = format!("{threads} threads share {} reads a second", READS * load);
        return Err(Box::new(
            given.error(THREADS_PER_QUEUE, what).help("To fix: use fewer threads"),
        ));
    }
    let writes = (RECORDS * load).div_ceil(large / small);
    for device in devices {
        jobs.section(format!("act-read-{device}"))
            .set(job::FILENAME, device)
            .set(job::RW, "randread")
            .set(job::NUMJOBS, threads)
            .set(job::RATE_IOPS, reads)
            .set(job::BS, small)
            .set(job::LATENCY_TEST, "act")
            .set(job::LATENCY_LIMITS, LIMITS);
        jobs.section(format!("act-write-{device}"))
            .set(job::FILENAME, device)
            .set(job::RW, "randwrite")
            .set(job::RATE_IOPS, writes)
            .set(job::BS, large);
    }
    Ok(jobs)
}

/// Adds jobs that write zeros to the whole device, then random data.
fn prepare(jobs: &mut Description, device: &str) {
    jobs.section(format!("act-prep-zeroes-{device}"))
        .set(job::FILENAME, device)
        .set(job::BS, 1 << 20)
        .switch(job::ZERO_BUFFERS)
        .set(job::RW, "write");
    jobs.section(format!("act-prep-salt-{device}"))
        .switch(job::STONEWALL)
        .set(job::FILENAME, device)
        .set(job::BS, 4096)
        .set(job::IOENGINE, "libaio")
        .set(job::IODEPTH, 64)
        .set(job::RW, "randwrite");
}
