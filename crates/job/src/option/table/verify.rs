//! Verification of written data.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Verify);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "verify",
        Kind::words(&[
            Word::new("0", "no verification"),
            Word::later("md5", "MD5"),
            Word::later("crc64", "64-bit CRC"),
            Word::later("crc32", "32-bit CRC"),
            Word { means: Some("crc32c"), ..Word::later("crc32c-intel", "") },
            Word::later("crc32c", "CRC-32C, for which most CPUs have an instruction"),
            Word::later("crc16", "16-bit CRC"),
            Word::later("crc7", "7-bit CRC"),
            Word::later("sha1", "SHA-1"),
            Word::later("sha256", "SHA-256"),
            Word::later("sha512", "SHA-512"),
            Word::later("sha3-224", "224-bit SHA-3"),
            Word::later("sha3-256", "256-bit SHA-3"),
            Word::later("sha3-384", "384-bit SHA-3"),
            Word::later("sha3-512", "512-bit SHA-3"),
            Word::later(
                "xxhash",
                "xxHash, the fastest method without CPU instructions for \
                                   checksums",
            ),
            Word::later("meta", "only the header, which all other methods include"),
            Word::later("pattern", "`verify_pattern` alone, without a header"),
            Word::later("pattern_hdr", "`verify_pattern` with a header"),
            Word::later("null", "no check, but the same bookkeeping cost"),
        ]),
        "Writes a header with a checksum into every block and checks it when the job reads the \
         block back. A job that writes checks after its writes; a job that only reads checks each \
         block as it reads it.",
        "verify=crc32c",
    )
    .default("0"),
    option(
        "verify_only",
        Kind::Switch,
        "Writes no data and only checks the data that an earlier run of the same job wrote.",
        "verify_only",
    )
    .later(),
    option(
        "do_verify",
        Kind::Bool,
        "Whether the job checks its data after the writes. With 0, the job only writes the \
         headers, so that a later run can check them.",
        "do_verify=0",
    )
    .default("1")
    .under("verify")
    .later(),
    option(
        "verify_policy",
        Kind::words(&[
            Word::later("completed", "all completed writes"),
            Word::later("fsynced", "only writes that a later flush made durable"),
        ]),
        "Which writes of a saved state a later check expects to find.",
        "verify_policy=fsynced",
    )
    .default("completed")
    .under("verify")
    .since("3.42")
    .later(),
    option(
        "verify_interval",
        Kind::Int { min: 96, max: u32::MAX as u64, unit: Unit::Bytes },
        "The distance between two headers within a block. Without it, each block has one header.",
        "verify_interval=512",
    )
    .under("verify")
    .later(),
    option(
        "verify_offset",
        Kind::Int { min: 48, max: u32::MAX as u64, unit: Unit::Bytes },
        "Where in its interval the header is. Without it, the header is at the start.",
        "verify_offset=64",
    )
    .under("verify")
    .later(),
    option(
        "verify_pattern",
        Kind::Custom { name: "pattern", read: read::pattern },
        "Fills blocks with this pattern and checks for it. The syntax is that of `buffer_pattern`.",
        "verify_pattern=0xff%o\"abcd\"-12",
    )
    .under("verify")
    .later(),
    option(
        "verify_pattern_interval",
        Kind::BYTES,
        "Restarts the pattern after this many bytes; `%o` is then the offset of that position. 0 \
         means once per block.",
        "verify_pattern_interval=4k",
    )
    .default("0")
    .under("verify")
    .since("3.42")
    .later(),
    option(
        "verify_fatal",
        Kind::Bool,
        "Ends the job at the first corrupt block, instead of checking the remaining blocks.",
        "verify_fatal=1",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "verify_dump",
        Kind::Bool,
        "Saves each corrupt block and its expected contents to two files.",
        "verify_dump=1",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "verify_async",
        Kind::COUNT,
        "The number of helper threads that verify blocks. With 0, the worker verifies them.",
        "verify_async=4",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "verify_async_cpus",
        Kind::Custom { name: "CPU numbers and ranges", read: read::cpu_set },
        "The CPUs on which the helper threads of `verify_async` may run.",
        "verify_async_cpus=4-7",
    )
    .under("verify_async")
    .later(),
    option(
        "verify_backlog",
        Kind::COUNT64,
        "Verifies after this many written blocks, instead of at the end.",
        "verify_backlog=1024",
    )
    .under("verify")
    .later(),
    option(
        "verify_backlog_batch",
        Kind::COUNT,
        "How many blocks the job verifies each time. The default is `verify_backlog`.",
        "verify_backlog_batch=512",
    )
    .under("verify")
    .later(),
    option(
        "experimental_verify",
        Kind::Bool,
        "Finds the blocks to verify by generating the job's I/Os a second time, instead of keeping \
         a record of them.",
        "experimental_verify=1",
    )
    .under("verify")
    .later(),
    option(
        "verify_state_load",
        Kind::Bool,
        "Verifies only as far as the saved state of an earlier run.",
        "verify_state_load=1",
    )
    .under("verify")
    .later(),
    option(
        "verify_state_save",
        Kind::Bool,
        "Saves how far the job got if it ends before its writes are complete.",
        "verify_state_save=0",
    )
    .default("1")
    .under("verify")
    .later(),
    option(
        "verify_write_sequence",
        Kind::Bool,
        "Whether verification also compares the write sequence number in the header. Several jobs \
         that write one file cannot keep the sequence.",
        "verify_write_sequence=0",
    )
    .default("1")
    .under("verify")
    .since("3.42")
    .later(),
    option(
        "verify_header_seed",
        Kind::Bool,
        "Whether verification also compares the seed in the header.",
        "verify_header_seed=0",
    )
    .default("1")
    .under("verify")
    .since("3.42")
    .later(),
    option(
        "trim_percentage",
        Kind::PERCENT,
        "The percentage of written blocks that the job trims before it verifies them.",
        "trim_percentage=10",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "trim_verify_zero",
        Kind::Bool,
        "Whether trimmed blocks must read as zeros.",
        "trim_verify_zero=0",
    )
    .default("1")
    .under("trim_percentage")
    .later(),
    option(
        "trim_backlog",
        Kind::COUNT64,
        "Trims after this many written blocks.",
        "trim_backlog=1024",
    )
    .under("trim_percentage")
    .later(),
    option(
        "trim_backlog_batch",
        Kind::COUNT,
        "How many blocks the job trims each time.",
        "trim_backlog_batch=64",
    )
    .under("trim_percentage")
    .later(),
    option(
        "verifysort",
        Kind::COUNT,
        "Formerly sorted the blocks to verify by offset. fiord accepts it so that old job files \
         run.",
        "verifysort=1",
    )
    .under("verify")
    .accepted("fio has withdrawn it and ignores it too"),
    option(
        "verifysort_nr",
        Kind::COUNT,
        "Formerly set how many blocks `verifysort` sorted together. fiord accepts it so that old \
         job files run.",
        "verifysort_nr=1024",
    )
    .under("verify")
    .accepted("fio has withdrawn it and ignores it too"),
];
