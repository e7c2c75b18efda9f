//! `vioperf`: Vertica's disk test, which runs before the installation of a database.
//!
//! Vertica's documentation requires 20 MB/s per physical core of a machine and recommends 40.

use super::{Description, ProfileDef, ProfileValues};
use crate::diagnostic::Diagnostic;
use crate::option::declare::*;
use crate::option::table as job;

pub(super) const PROFILE: ProfileDef = ProfileDef {
    name: "vioperf",
    doc: "Several threads append blocks of 1 MiB, each with a CRC, to a file per thread for five \
          minutes. The result is MB/s, and MB/s per core. The run ends with an error before the \
          file system is full, and removes its files.",
    options: OPTIONS,
    describe,
};

options! {
    Category::Profile;

    /// The number of threads, each of which writes its own file. The default is the number of
    /// online CPUs.
    const THREADS: Opt<Option<u64>> =
        option("threads", int(1, 65_536), "--profile=vioperf --threads=8").alias(&["thread-count"]);

    /// How long the threads write. A bare number is in seconds.
    const DURATION: Opt<Nanos> = option("duration", SECONDS, "--profile=vioperf --duration=1m")
        .default("5m");

    /// The directory for the files, which are called `vioperf.0.0` and so on. Existing files with
    /// these names are extended, and also removed at the end.
    const DIRECTORY: Opt<String> =
        option("directory", TEXT, "--profile=vioperf --directory=/vertica/data").default("./");

    /// Ends every block with the CRC-32C of the bytes before it. The result includes the cost.
    const CRC: Opt<bool> = option("crc", BOOL, "--profile=vioperf --crc=0").default("1");

    /// Bypasses the page cache.
    const DIRECT: Opt<bool> = option("direct", BOOL, "--profile=vioperf --direct=0").default("1");

    /// Keeps the files after the run.
    const PRESERVE_FILES: Opt<bool> =
        option("preserve-files", SWITCH, "--profile=vioperf --preserve-files").default("0");

    /// The free space to keep: if less is free, the run ends with an error.
    const RESERVE: Opt<Bytes> = option("reserve", BYTES64, "--profile=vioperf --reserve=20g")
        .default("4g");
}

/// The maximum size of a file in bytes: more than any run writes, and less than the 16 TiB limit of
/// ext4.
const MAX_FILE_SIZE: u64 = 15 << 40;

fn describe(given: &ProfileValues<'_>) -> Result<Description, Box<Diagnostic>> {
    let duration = given.get(DURATION).as_millis();
    if duration == 0 {
        let error = given.error(DURATION, "the run must take at least a millisecond");
        return Err(Box::new(error.help("To fix: write --duration=5m")));
    }
    let threads = given.get(THREADS).unwrap_or_else(|| given.loader.cpus().max(1));
    let mut jobs = Description::default();
    jobs.section("global")
        .set(job::BS, 1 << 20)
        .set(job::IOENGINE, "psync")
        .set(job::DIRECTORY, given.get(DIRECTORY))
        .set(job::NUMJOBS, threads)
        .set(job::SIZE, MAX_FILE_SIZE)
        .set(job::FILE_APPEND, 1)
        .set(job::FALLOCATE, "none")
        .set(job::CREATE_ON_OPEN, 1)
        .set(job::DIRECT, u8::from(given.get(DIRECT)))
        .set(job::RUNTIME, format!("{duration}ms"))
        .set(job::BUFFER_CRC, u8::from(given.get(CRC)))
        .set(job::UNLINK, u8::from(!given.get(PRESERVE_FILES)))
        .set(job::SPACE_RESERVE, given.get(RESERVE))
        .set(job::CORE_BANDWIDTH, 1)
        .switch(job::GROUP_REPORTING)
        .switch(job::THREAD);
    jobs.section("vioperf").set(job::RW, "write");
    Ok(jobs)
}
