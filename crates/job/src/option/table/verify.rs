//! Checking that what was written can be read back.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Verify);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "verify",
        Kind::words(&[
            Word::new("0", "nothing is verified"),
            Word::later("md5", "MD5"),
            Word::later("crc64", "CRC of 64 bits"),
            Word::later("crc32", "CRC of 32 bits"),
            Word { means: Some("crc32c"), ..Word::later("crc32c-intel", "") },
            Word::later("crc32c", "CRC-32C, which most CPUs compute by themselves"),
            Word::later("crc16", "CRC of 16 bits"),
            Word::later("crc7", "CRC of 7 bits"),
            Word::later("sha1", "SHA-1"),
            Word::later("sha256", "SHA-256"),
            Word::later("sha512", "SHA-512"),
            Word::later("sha3-224", "SHA-3 of 224 bits"),
            Word::later("sha3-256", "SHA-3 of 256 bits"),
            Word::later("sha3-384", "SHA-3 of 384 bits"),
            Word::later("sha3-512", "SHA-3 of 512 bits"),
            Word::later("xxhash", "xxHash, the fastest without help from the CPU"),
            Word::later("meta", "only the header; every other method includes that"),
            Word::later("pattern", "`verify_pattern` alone, without a header"),
            Word::later("pattern_hdr", "`verify_pattern` with a header"),
            Word::later("null", "no check at all, at the same cost of bookkeeping"),
        ]),
        "Puts a header with a checksum into every block that is written and checks it when the block \
         is read back: after the writes of a job that writes, at once in one that only reads.",
        "verify=crc32c",
    )
    .default("0"),
    option(
        "verify_only",
        Kind::Switch,
        "Writes nothing and only checks what an earlier run of the same job has written.",
        "verify_only",
    )
    .later(),
    option(
        "do_verify",
        Kind::Bool,
        "Whether the check is made at all after the writes. With 0 only headers are written, for a \
         later run to check.",
        "do_verify=0",
    )
    .default("1")
    .under("verify")
    .later(),
    option(
        "verify_policy",
        Kind::words(&[
            Word::later("completed", "all writes that have completed"),
            Word::later("fsynced", "only writes that a later flush has made safe"),
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
        "How far apart headers are within a block, when one a block is too coarse.",
        "verify_interval=512",
    )
    .under("verify")
    .later(),
    option(
        "verify_offset",
        Kind::Int { min: 48, max: u32::MAX as u64, unit: Unit::Bytes },
        "Where in its interval the header is put, in place of the beginning.",
        "verify_offset=64",
    )
    .under("verify")
    .later(),
    option(
        "verify_pattern",
        Kind::Custom { name: "pattern", read: read::pattern },
        "Fills blocks with this pattern, written as for `buffer_pattern`, and checks for it.",
        "verify_pattern=0xff%o\"abcd\"-12",
    )
    .under("verify")
    .later(),
    option(
        "verify_pattern_interval",
        Kind::BYTES,
        "Starts the pattern anew after every so many bytes, which makes `%o` the offset of that place. \
         0 starts it once a block.",
        "verify_pattern_interval=4k",
    )
    .default("0")
    .under("verify")
    .since("3.42")
    .later(),
    option(
        "verify_fatal",
        Kind::Bool,
        "Ends the job at the first block that is wrong, in place of checking the rest too.",
        "verify_fatal=1",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "verify_dump",
        Kind::Bool,
        "Saves a wrong block and what it should have been as two files.",
        "verify_dump=1",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "verify_async",
        Kind::COUNT,
        "How many helper threads do the checking. 0 leaves it to the worker.",
        "verify_async=4",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "verify_async_cpus",
        Kind::Custom { name: "CPU numbers and ranges", read: read::cpu_set },
        "The CPUs that the helper threads of `verify_async` may use.",
        "verify_async_cpus=4-7",
    )
    .under("verify_async")
    .later(),
    option(
        "verify_backlog",
        Kind::COUNT64,
        "Checks after every so many blocks were written, in place of at the end.",
        "verify_backlog=1024",
    )
    .under("verify")
    .later(),
    option(
        "verify_backlog_batch",
        Kind::COUNT,
        "How many blocks are checked each time; as many as `verify_backlog` when it is not set.",
        "verify_backlog_batch=512",
    )
    .under("verify")
    .later(),
    option(
        "experimental_verify",
        Kind::Bool,
        "Finds the blocks to be checked by making the I/Os of the job a second time, in place of \
         remembering them.",
        "experimental_verify=1",
    )
    .under("verify")
    .later(),
    option(
        "verify_state_load",
        Kind::Bool,
        "Checks only as far as the state that an earlier run has saved says.",
        "verify_state_load=1",
    )
    .under("verify")
    .later(),
    option(
        "verify_state_save",
        Kind::Bool,
        "Saves how far the job got when it ends in the middle of its writes.",
        "verify_state_save=0",
    )
    .default("1")
    .under("verify")
    .later(),
    option(
        "verify_write_sequence",
        Kind::Bool,
        "Whether the header's count of writes has to be right too. Several jobs on one file cannot \
         keep it so.",
        "verify_write_sequence=0",
    )
    .default("1")
    .under("verify")
    .since("3.42")
    .later(),
    option(
        "verify_header_seed",
        Kind::Bool,
        "Whether the header's seed has to be right too.",
        "verify_header_seed=0",
    )
    .default("1")
    .under("verify")
    .since("3.42")
    .later(),
    option(
        "trim_percentage",
        Kind::PERCENT,
        "The share of the written blocks that are trimmed before they are checked.",
        "trim_percentage=10",
    )
    .default("0")
    .under("verify")
    .later(),
    option(
        "trim_verify_zero",
        Kind::Bool,
        "Whether trimmed blocks have to read as zeros.",
        "trim_verify_zero=0",
    )
    .default("1")
    .under("trim_percentage")
    .later(),
    option(
        "trim_backlog",
        Kind::COUNT64,
        "Trims after every so many blocks were written.",
        "trim_backlog=1024",
    )
    .under("trim_percentage")
    .later(),
    option(
        "trim_backlog_batch",
        Kind::COUNT,
        "How many blocks are trimmed each time.",
        "trim_backlog_batch=64",
    )
    .under("trim_percentage")
    .later(),
    option(
        "verifysort",
        Kind::COUNT,
        "Used to sort the blocks to be checked by offset. It is known so that old job files run.",
        "verifysort=1",
    )
    .under("verify")
    .accepted("fio has withdrawn it and ignores it too"),
    option(
        "verifysort_nr",
        Kind::COUNT,
        "Used to say how many blocks `verifysort` sorts together. It is known so that old job files \
         run.",
        "verifysort_nr=1024",
    )
    .under("verify")
    .accepted("fio has withdrawn it and ignores it too"),
];
