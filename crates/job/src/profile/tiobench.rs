//! `tiobench`: four passes over four files, like the threaded I/O benchmark of that name.

use super::{Description, ProfileDef, ProfileValues};
use crate::diagnostic::Diagnostic;
use crate::option::def::{Category, Kind, OptionDef, options_of};

pub(super) const PROFILE: ProfileDef = ProfileDef {
    name: "tiobench",
    doc: "Sequential writes, random writes, sequential reads and random reads over four files, one \
          pass after the other. Each pass uses `threads` threads and takes at most ten minutes. \
          The files are kept.",
    options: OPTIONS,
    describe,
};

options_of!(Category::Profile);

const OPTIONS: &[OptionDef] = &[
    option(
        "size",
        Kind::int(1, 1 << 40),
        "The total size of the four files, in MiB. The default is 4 KiB for each MiB of memory.",
        "--profile=tiobench --size=1024",
    ),
    option(
        "block",
        Kind::int(1, u32::MAX as u64),
        "The block size in bytes.",
        "--profile=tiobench --block=8k",
    )
    .default("4096"),
    option(
        "numruns",
        Kind::int(1, u32::MAX as u64),
        "How many times each pass runs.",
        "--profile=tiobench --numruns=3",
    )
    .default("1"),
    option(
        "dir",
        Kind::Text,
        "The directory for the files.",
        "--profile=tiobench --dir=/mnt/scratch",
    )
    .default("./"),
    option(
        "threads",
        Kind::int(1, u32::MAX as u64),
        "The number of threads in each pass.",
        "--profile=tiobench --threads=4",
    )
    .default("1"),
];

fn describe(given: &ProfileValues<'_>) -> Result<Description, Box<Diagnostic>> {
    let size = match given.is_set("size") {
        true => given.count("size") << 20,
        false => given.loader.memory_mb() << 12,
    };
    let mut jobs = Description::default();
    jobs.section("global")
        .set("buffered", 0)
        .set("size", size)
        .set("bs", given.count("block"))
        .set("loops", given.count("numruns"))
        .set("directory", given.text("dir").unwrap_or_default())
        .set("numjobs", given.count("threads"))
        .set("runtime", 600)
        .switch("group_reporting")
        .switch("thread")
        .set("overwrite", 1)
        .set("filename", ".fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4")
        .set("ioengine", "sync");
    jobs.section("seqwrite").set("rw", "write").set("end_fsync", 1);
    jobs.section("randwrite").switch("stonewall").set("rw", "randwrite").set("end_fsync", 1);
    jobs.section("seqread").switch("stonewall").set("rw", "read");
    jobs.section("randread").switch("stonewall").set("rw", "randread");
    Ok(jobs)
}
