//! Rows about `verify`.

use super::super::row::Bound::{self, Any, AtLeast, AtMost};
use super::super::row::Than::{self, Fio, Itself};
use super::super::row::What::{OwnMemory, Rate};
use super::super::row::{Job, Row};

const VERIFIED_RANDOM: &str =
    "--ioengine=psync --rw=randwrite --bs=4k --verify=crc32c --do_verify=0 FILE";
const VERIFIED_WRITE: &str = "--ioengine=psync --rw=write --bs=128k --do_verify=0 FILE";
const VERIFIED_READ: &str = "--ioengine=psync --rw=read --bs=128k SEALED";
const SYNCED: &str =
    "--ioengine=psync --rw=randwrite --bs=4k --verify=fiord --do_verify=0 --fsync=256 FILE";
const QUEUED: &str = "--ioengine=io_uring --iodepth=32 --rw=randwrite --bs=4k --verify=fiord --do_verify=0 \
                      --fsync=256 FILE";
const JOURNAL: &str = "--verify_journal=journal.dat";
const NO_STATE: &str = "--verify_state_save=0";

/// The comparison of a row in which the checksum takes most of the time.
const FOUR_TIMES: &[(Than, Bound)] = &[(Fio, AtLeast(4.0))];
/// The comparison of a row whose checksum no CPU instruction computes.
const FASTER: &[(Than, Bound)] = &[(Fio, AtLeast(1.3))];

/// The row of a method whose checksum takes most of the time.
macro_rules! digest {
    ($method:literal, $than:expr) => {
        Row {
            name: concat!("verify=", $method, ", write 128 KiB, without read pass"),
            what: Rate,
            job: Job(&[VERIFIED_WRITE, concat!("--verify=", $method), NO_STATE]),
            than: $than,
        }
    };
}

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "verify=crc32c, random write 4 KiB, without read pass",
        what: Rate,
        job: Job(&[VERIFIED_RANDOM, NO_STATE]),
        than: &[
            (Fio, AtLeast(1.5)),
            (
                Itself("without verify", Job(&["--ioengine=psync --rw=randwrite --bs=4k FILE"])),
                AtLeast(0.9),
            ),
        ],
    },
    Row {
        name: "verify=crc32c, write 128 KiB, without read pass",
        what: Rate,
        job: Job(&[VERIFIED_WRITE, "--verify=crc32c", NO_STATE]),
        than: &[
            (Fio, AtLeast(1.5)),
            (
                Itself(
                    "refilled",
                    Job(&["--ioengine=psync --rw=write --bs=128k --refill_buffers FILE"]),
                ),
                AtLeast(0.85),
            ),
        ],
    },
    Row {
        name: "verify=crc32c, read 128 KiB",
        what: Rate,
        job: Job(&[VERIFIED_READ, "--verify=crc32c"]),
        than: &[(Fio, AtLeast(1.5)), (Itself("plain reads", Job(&[VERIFIED_READ])), AtLeast(0.9))],
    },
    Row {
        name: "verify=fiord, read 128 KiB",
        what: Rate,
        job: Job(&[VERIFIED_READ, "--verify=fiord"]),
        than: &[(Itself("plain reads", Job(&[VERIFIED_READ])), AtLeast(0.9))],
    },
    Row {
        name: "verify_journal, psync random write 4 KiB, fsync=256",
        what: Rate,
        job: Job(&[SYNCED, NO_STATE, JOURNAL]),
        than: &[(Itself("without journal", Job(&[SYNCED, NO_STATE])), AtLeast(0.5))],
    },
    Row {
        name: "verify_journal, io_uring depth 32 random write 4 KiB, fsync=256",
        what: Rate,
        job: Job(&[QUEUED, NO_STATE, JOURNAL]),
        than: &[(Itself("without journal", Job(&[QUEUED, NO_STATE])), AtLeast(0.5))],
    },
    Row {
        name: "verify=sha256, read 128 KiB, checked by another thread (verify_async=1)",
        what: Rate,
        job: Job(&[VERIFIED_READ, "--verify=sha256 --verify_async=1 SECOND_CPU"]),
        than: &[
            (Itself("by the worker", Job(&[VERIFIED_READ, "--verify=sha256"])), AtLeast(1.0)),
            (Fio, Any),
        ],
    },
    Row {
        name: "verify=crc32c, read 128 KiB, checked by another thread (verify_async=1)",
        what: Rate,
        job: Job(&[VERIFIED_READ, "--verify=crc32c --verify_async=1 SECOND_CPU"]),
        than: &[
            (Itself("by the worker", Job(&[VERIFIED_READ, "--verify=crc32c"])), AtLeast(1.0)),
            (Fio, Any),
        ],
    },
    digest!("sha256", FOUR_TIMES),
    digest!("crc64", FOUR_TIMES),
    digest!("crc32", FOUR_TIMES),
    digest!("crc16", FOUR_TIMES),
    digest!("md5", FASTER),
    digest!("sha1", FASTER),
    digest!("sha512", FASTER),
    digest!("sha3-256", FASTER),
    Row {
        name: "memory of a job that verifies 1 TiB in blocks of 4 KiB",
        what: OwnMemory,
        job: Job(&["--ioengine=null --rw=randwrite --bs=4k --size=1t --verify=meta", NO_STATE]),
        than: &[(Fio, AtMost(0.5))],
    },
];
