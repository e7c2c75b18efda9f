//! `vioperf`: what Vertica measures of a disk before a database is put on it.
//!
//! Its documentation wants 20 MB/s for each physical core of a machine and recommends 40.

use super::{Description, Given, ProfileDef};
use crate::diagnostic::Diagnostic;
use crate::option::def::{Category, Kind, OptionDef, options_of};

pub(super) const PROFILE: ProfileDef = ProfileDef {
    name: "vioperf",
    doc: "Threads that each append blocks of 1 MiB, every one with its CRC, to a file of their own for \
          five minutes; the result is MB/s, and MB/s per core. It ends with an error before the file \
          system is full, and removes its files.",
    options: OPTIONS,
    describe,
};

options_of!(Category::Profile);

const OPTIONS: &[OptionDef] = &[
    option(
        "threads",
        Kind::int(1, 65_536),
        "How many threads write, each to a file of its own. Without it: one for each CPU online.",
        "--profile=vioperf --threads=8",
    )
    .alias(&["thread-count"]),
    option(
        "duration",
        Kind::SECONDS,
        "How long they write. A bare number is in seconds.",
        "--profile=vioperf --duration=1m",
    )
    .default("5m"),
    option(
        "directory",
        Kind::Text,
        "The directory of the files, `vioperf.0.0` and so on. Files of these names that are there \
         grow, and are removed at the end as well.",
        "--profile=vioperf --directory=/vertica/data",
    )
    .default("./"),
    option(
        "crc",
        Kind::Bool,
        "Ends every block with the CRC-32C of what is before. Its cost is part of the result.",
        "--profile=vioperf --crc=0",
    )
    .default("1"),
    option("direct", Kind::Bool, "Writes past the page cache.", "--profile=vioperf --direct=0")
        .default("1"),
    option(
        "preserve-files",
        Kind::Switch,
        "Leaves the files where they are.",
        "--profile=vioperf --preserve-files",
    )
    .default("0"),
    option(
        "reserve",
        Kind::BYTES64,
        "The space that stays free: with less than this the run ends with an error.",
        "--profile=vioperf --reserve=20g",
    )
    .default("4g"),
];

/// The most that a file may grow to: more than is written in any run, less than the 16 TiB that
/// ext4 takes.
const LARGEST: u64 = 15 << 40;

fn describe(given: &Given<'_>) -> Result<Description, Box<Diagnostic>> {
    let duration = given.time("duration") / 1_000_000;
    if duration == 0 {
        let error = given.error("duration", "the run has to take a millisecond or more");
        return Err(Box::new(error.help("write --duration=5m")));
    }
    let threads = match given.is_set("threads") {
        true => given.count("threads"),
        false => given.loader.cpus().max(1),
    };
    let mut jobs = Description::default();
    jobs.section("global")
        .set("bs", 1 << 20)
        .set("ioengine", "psync")
        .set("directory", given.text("directory").unwrap_or_default())
        .set("numjobs", threads)
        .set("size", LARGEST)
        .set("file_append", 1)
        .set("fallocate", "none")
        .set("create_on_open", 1)
        .set("direct", u8::from(given.flag("direct")))
        .set("runtime", format!("{duration}ms"))
        .set("buffer_crc", u8::from(given.flag("crc")))
        .set("unlink", u8::from(!given.flag("preserve-files")))
        .set("space_reserve", given.count("reserve"))
        .set("core_bandwidth", 1)
        .switch("group_reporting")
        .switch("thread");
    jobs.section("vioperf").set("rw", "write");
    Ok(jobs)
}
