//! `vioperf`: Vertica's disk test, which runs before the installation of a database.
//!
//! Its documentation requires 20 MB/s per physical core of a machine and recommends 40.

use super::{Description, ProfileDef, ProfileValues};
use crate::diagnostic::Diagnostic;
use crate::option::def::{Category, Kind, OptionDef, options_of};

pub(super) const PROFILE: ProfileDef = ProfileDef {
    name: "vioperf",
    doc: "Several threads append blocks of 1 MiB, each with a CRC, to a file per thread for five \
          minutes. The result is MB/s, and MB/s per core. The run ends with an error before the \
          file system is full, and removes its files.",
    options: OPTIONS,
    describe,
};

options_of!(Category::Profile);

const OPTIONS: &[OptionDef] = &[
    option(
        "threads",
        Kind::int(1, 65_536),
        "The number of threads, each of which writes its own file. The default is the number of \
         online CPUs.",
        "--profile=vioperf --threads=8",
    )
    .alias(&["thread-count"]),
    option(
        "duration",
        Kind::SECONDS,
        "How long the threads write. A bare number is in seconds.",
        "--profile=vioperf --duration=1m",
    )
    .default("5m"),
    option(
        "directory",
        Kind::Text,
        "The directory for the files, which are called `vioperf.0.0` and so on. Existing files \
         with these names are extended, and also removed at the end.",
        "--profile=vioperf --directory=/vertica/data",
    )
    .default("./"),
    option(
        "crc",
        Kind::Bool,
        "Ends every block with the CRC-32C of the bytes before it. The result includes the cost.",
        "--profile=vioperf --crc=0",
    )
    .default("1"),
    option("direct", Kind::Bool, "Bypasses the page cache.", "--profile=vioperf --direct=0")
        .default("1"),
    option(
        "preserve-files",
        Kind::Switch,
        "Keeps the files after the run.",
        "--profile=vioperf --preserve-files",
    )
    .default("0"),
    option(
        "reserve",
        Kind::BYTES64,
        "The free space to keep: if less is free, the run ends with an error.",
        "--profile=vioperf --reserve=20g",
    )
    .default("4g"),
];

/// The maximum size of a file in bytes: more than any run writes, and less than the 16 TiB limit of
/// ext4.
const MAX_FILE_SIZE: u64 = 15 << 40;

fn describe(given: &ProfileValues<'_>) -> Result<Description, Box<Diagnostic>> {
    let duration = given.time("duration") / 1_000_000;
    if duration == 0 {
        let error = given.error("duration", "the run must take at least a millisecond");
        return Err(Box::new(error.help("To fix: write --duration=5m")));
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
        .set("size", MAX_FILE_SIZE)
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
