//! `tiobench`: four passes over four files, like the threaded I/O benchmark of that name.

use super::{Description, ProfileDef, ProfileValues};
use crate::diagnostic::Diagnostic;
use crate::option::declare::*;
use crate::option::table as job;

pub(super) const PROFILE: ProfileDef = ProfileDef {
    name: "tiobench",
    doc: "Sequential writes, random writes, sequential reads and random reads over four files, one \
          pass after the other. Each pass uses `threads` threads and takes at most ten minutes. \
          The files are kept.",
    options: OPTIONS,
    describe,
};

options! {
    Category::Profile;

    /// The total size of the four files, in MiB. The default is 4 KiB for each MiB of memory.
    const SIZE: Opt<Option<u64>> =
        option("size", int(1, 1 << 40), "--profile=tiobench --size=1024");

    /// The block size in bytes.
    const BLOCK: Opt<u32> =
        option("block", int(1, u32::MAX as u64), "--profile=tiobench --block=8k").default("4096");

    /// How many times each pass runs.
    const NUMRUNS: Opt<u32> =
        option("numruns", int(1, u32::MAX as u64), "--profile=tiobench --numruns=3").default("1");

    /// The directory for the files.
    const DIR: Opt<String> = option("dir", TEXT, "--profile=tiobench --dir=/mnt/scratch")
        .default("./");

    /// The number of threads in each pass.
    const THREADS: Opt<u32> =
        option("threads", int(1, u32::MAX as u64), "--profile=tiobench --threads=4").default("1");
}

fn describe(given: &ProfileValues<'_>) -> Result<Description, Box<Diagnostic>> {
    let size = match given.get(SIZE) {
        Some(mebibytes) => mebibytes << 20,
        None => given.loader.memory_mb() << 12,
    };
    let mut jobs = Description::default();
    jobs.section("global")
        .set(job::BUFFERED, 0)
        .set(job::SIZE, size)
        .set(job::BS, given.get(BLOCK))
        .set(job::LOOPS, given.get(NUMRUNS))
        .set(job::DIRECTORY, given.get(DIR))
        .set(job::NUMJOBS, given.get(THREADS))
        .set(job::RUNTIME, 600)
        .switch(job::GROUP_REPORTING)
        .switch(job::THREAD)
        .set(job::OVERWRITE, 1)
        .set(job::FILENAME, ".fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4")
        .set(job::IOENGINE, "sync");
    jobs.section("seqwrite").set(job::RW, "write").set(job::END_FSYNC, 1);
    jobs.section("randwrite")
        .switch(job::STONEWALL)
        .set(job::RW, "randwrite")
        .set(job::END_FSYNC, 1);
    jobs.section("seqread").switch(job::STONEWALL).set(job::RW, "read");
    jobs.section("randread").switch(job::STONEWALL).set(job::RW, "randread");
    Ok(jobs)
}
