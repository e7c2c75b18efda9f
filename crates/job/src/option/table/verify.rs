//! Verification of written data.

use crate::option::declare::*;

words! {
    /// The words of `verify`.
    pub enum Verify {
        None = new("0", "no verification"),
        Md5 = new("md5", "MD5"),
        Crc64 = new("crc64", "64-bit CRC"),
        Crc32 = new("crc32", "32-bit CRC"),
        _ = alias("crc32c-intel", "crc32c"),
        Crc32c = new("crc32c", "CRC-32C, for which most CPUs have an instruction"),
        Crc16 = new("crc16", "16-bit CRC"),
        Crc7 = new("crc7", "7-bit CRC"),
        Sha1 = new("sha1", "SHA-1"),
        Sha256 = new("sha256", "SHA-256"),
        Sha512 = new("sha512", "SHA-512"),
        Sha3224 = new("sha3-224", "224-bit SHA-3"),
        Sha3256 = new("sha3-256", "256-bit SHA-3"),
        Sha3384 = new("sha3-384", "384-bit SHA-3"),
        Sha3512 = new("sha3-512", "512-bit SHA-3"),
        Xxhash = new(
            "xxhash",
            "xxHash, the fastest method without CPU instructions for checksums",
        ),
        Meta = new("meta", "only the header, which all other methods include"),
        Pattern = new("pattern", "`verify_pattern` alone, without a header"),
        PatternHdr = new("pattern_hdr", "`verify_pattern` with a header"),
        Null = new("null", "no check, but the same bookkeeping cost"),
        Fiord = new(
            "fiord",
            "fiord's own format, which identifies each sector's target, address, run, job and \
             generation",
        ),
    }

    /// The words of `verify_policy`.
    pub enum VerifyPolicy {
        Completed = new("completed", "all completed writes"),
        Fsynced = new("fsynced", "only writes that a later flush made durable"),
    }
}

options! {
    Category::Verify;

    /// Writes a header with a checksum into every block and checks it when the job reads the block
    /// back. A job that writes checks after its writes; a job that only reads checks each block as
    /// it reads it.
    pub const VERIFY: Opt<Verify> = option("verify", one_of(), "verify=crc32c").default("0");

    /// Writes no data and only checks the data that an earlier run of the same job wrote.
    pub const VERIFY_ONLY: Opt<bool> = option("verify_only", SWITCH, "verify_only");

    /// Whether the job checks its data after the writes. With 0, the job only writes the headers,
    /// so that a later run can check them.
    pub const DO_VERIFY: Opt<bool> = option("do_verify", BOOL, "do_verify=0")
        .default("1")
        .under("verify");

    /// Which writes the saved state lists, so that a later check expects to find them.
    pub const VERIFY_POLICY: Opt<VerifyPolicy> =
        option("verify_policy", one_of(), "verify_policy=fsynced")
            .default("completed")
            .under("verify")
            .since("3.42");

    /// The distance between two headers within a block. Without it, each block has one header.
    pub const VERIFY_INTERVAL: Opt<Option<Bytes>> =
        option("verify_interval", bytes(96, u32::MAX as u64), "verify_interval=512")
            .under("verify");

    /// Where in its interval the header is. Without it, the header is at the start.
    pub const VERIFY_OFFSET: Opt<Option<Bytes>> =
        option("verify_offset", bytes(48, u32::MAX as u64), "verify_offset=64")
            .under("verify");

    /// Fills blocks with this pattern and checks for it. The syntax is that of `buffer_pattern`.
    pub const VERIFY_PATTERN: Opt<Option<Vec<PatternPart>>> = option(
        "verify_pattern",
        custom("pattern", &Reader(read::pattern)),
        "verify_pattern=0xff%o\"abcd\"-12",
    )
    .under("verify");

    /// Restarts the pattern after this many bytes; `%o` is then the offset of that position. 0
    /// means once per block.
    pub const VERIFY_PATTERN_INTERVAL: Opt<Bytes> =
        option("verify_pattern_interval", BYTES, "verify_pattern_interval=4k")
            .default("0")
            .under("verify")
            .since("3.42");

    /// Ends the job at the first corrupt block, instead of checking the remaining blocks.
    pub const VERIFY_FATAL: Opt<bool> = option("verify_fatal", BOOL, "verify_fatal=1")
        .default("0")
        .under("verify");

    /// Saves each corrupt block and its expected contents to two files.
    pub const VERIFY_DUMP: Opt<bool> = option("verify_dump", BOOL, "verify_dump=1")
        .default("0")
        .under("verify");

    /// The number of helper threads that verify blocks. With 0, the job's own thread verifies them. Each helper thread
    /// needs memory for the blocks that wait for it: about 384 KiB, or two blocks.
    pub const VERIFY_ASYNC: Opt<u32> = option("verify_async", COUNT, "verify_async=4")
        .default("0")
        .under("verify");

    /// The CPUs on which the helper threads of `verify_async` may run.
    pub const VERIFY_ASYNC_CPUS: Opt<Option<Vec<u32>>> = option(
        "verify_async_cpus",
        custom("CPU numbers and ranges", &Reader(read::cpu_set)),
        "verify_async_cpus=4-7",
    )
    .under("verify_async");

    /// Verifies after this many written blocks, instead of at the end.
    pub const VERIFY_BACKLOG: Opt<Option<u64>> =
        option("verify_backlog", COUNT64, "verify_backlog=1024").under("verify");

    /// How many blocks the job verifies each time. The default is `verify_backlog`. A smaller number verifies the
    /// oldest blocks first.
    pub const VERIFY_BACKLOG_BATCH: Opt<Option<u32>> =
        option("verify_backlog_batch", COUNT, "verify_backlog_batch=512").under("verify");

    /// Finds the blocks to verify by generating the job's I/Os a second time, instead of keeping a
    /// record of them.
    pub const EXPERIMENTAL_VERIFY: Opt<bool> =
        option("experimental_verify", BOOL, "experimental_verify=1").under("verify");

    /// Checks only the writes that the saved state of an earlier run lists as complete, in a job with `verify_only` or
    /// one that only reads. Without the state, or with one of another job, the run is refused before any I/O.
    pub const VERIFY_STATE_LOAD: Opt<bool> =
        option("verify_state_load", BOOL, "verify_state_load=1").under("verify");

    /// Saves which writes are complete when the job ends, in the file `local-JOB-INDEX-verify.state` of the directory
    /// `--aux-path`.
    pub const VERIFY_STATE_SAVE: Opt<bool> =
        option("verify_state_save", BOOL, "verify_state_save=0")
            .default("1")
            .under("verify");

    /// Whether verification also compares the write sequence number in the header. Several jobs
    /// that write one file cannot keep the sequence.
    pub const VERIFY_WRITE_SEQUENCE: Opt<bool> =
        option("verify_write_sequence", BOOL, "verify_write_sequence=0")
            .default("1")
            .under("verify")
            .since("3.42");

    /// Whether verification also compares the seed in the header.
    pub const VERIFY_HEADER_SEED: Opt<bool> =
        option("verify_header_seed", BOOL, "verify_header_seed=0")
            .default("1")
            .under("verify")
            .since("3.42");

    /// The percentage of written blocks that the job trims before it verifies them.
    pub const TRIM_PERCENTAGE: Opt<u8> = option("trim_percentage", PERCENT, "trim_percentage=10")
        .default("0")
        .under("verify");

    /// Whether trimmed blocks must read as zeros.
    pub const TRIM_VERIFY_ZERO: Opt<bool> = option("trim_verify_zero", BOOL, "trim_verify_zero=0")
        .default("1")
        .under("trim_percentage");

    /// Trims after this many written blocks.
    pub const TRIM_BACKLOG: Opt<Option<u64>> = option("trim_backlog", COUNT64, "trim_backlog=1024")
        .under("trim_percentage");

    /// How many blocks the job trims each time.
    pub const TRIM_BACKLOG_BATCH: Opt<Option<u32>> =
        option("trim_backlog_batch", COUNT, "trim_backlog_batch=64")
            .under("trim_percentage");

    /// Writes a list of all corrupt extents to this file, one line for each: file, offset, length, class
    /// and explanation. The report shows only the first ten of each class in full. Jobs with the same
    /// file share the list.
    pub const VERIFY_EXTENTS: Opt<Option<String>> =
        option("verify_extents", TEXT, "verify_extents=bad.txt")
            .under("verify")
            .since("fiord");

    /// Ends the run with exit status 251 if the job verified less than it wrote, for example because
    /// `runtime` ended before. Data that was overwritten or trimmed need not be verified.
    pub const VERIFY_COMPLETE: Opt<bool> = option("verify_complete", BOOL, "verify_complete=1")
        .default("0")
        .under("verify")
        .since("fiord");

    /// Records in this file which writes the target has received, acknowledged and flushed, so that `fiord verify
    /// --journal=FILE` can check the target after a power cut, a crash or a kill: nothing that was acknowledged and
    /// flushed may be missing. The file, or block device, must be on a disk other than that of the target. Needs
    /// `verify=fiord`. Jobs with the same file here have one journal of all their targets.
    pub const VERIFY_JOURNAL: Opt<Option<String>> =
        option("verify_journal", TEXT, "verify_journal=/other/disk/journal")
            .under("verify")
            .since("fiord");

    /// Formerly sorted the blocks to verify by offset. fiord accepts it so that old job files run.
    pub const VERIFYSORT: Opt<Option<u32>> = option("verifysort", COUNT, "verifysort=1")
        .under("verify")
        .accepted("fio has withdrawn it and ignores it too");

    /// Formerly set how many blocks `verifysort` sorted together. fiord accepts it so that old job
    /// files run.
    pub const VERIFYSORT_NR: Opt<Option<u32>> = option("verifysort_nr", COUNT, "verifysort_nr=1024")
        .under("verify")
        .accepted("fio has withdrawn it and ignores it too");
}
