//! Options for the commands that `io_uring_cmd` sends to NVMe and SCSI devices.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

const BOTH: &[&str] = &["io_uring", "io_uring_cmd"];
const METADATA: &[&str] = &["io_uring", "io_uring_cmd", "xnvme"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "readfua",
        Kind::Bool,
        "Sets force unit access on reads: the device reads from its medium, not from its cache.",
        "readfua=1",
    )
    .of(&["io_uring", "io_uring_cmd", "sg"])
    .default("0"),
    option(
        "writefua",
        Kind::Bool,
        "Sets force unit access on writes: a write completes when its data is on the medium.",
        "writefua=1",
    )
    .of(&["io_uring", "io_uring_cmd", "sg"])
    .default("0"),
    option(
        "write_mode",
        Kind::Text,
        "The NVMe command that the job sends for writes: `write`, `uncor`, `zeroes`, `verify` or \
         `zone_append`, or several of them with percentages.",
        "write_mode=write/60:zeroes/40",
    )
    .of(BOTH)
    .default("write")
    .since("3.42"),
    option(
        "verify_mode",
        Kind::words(&[
            Word::later("read", "reads the data and compares it in fiord"),
            Word::later("compare", "lets the device compare the data"),
        ]),
        "The command that verifies written data.",
        "verify_mode=compare",
    )
    .of(BOTH)
    .default("read")
    .since("3.42")
    .later(),
    option(
        "cmd_type",
        Kind::words(&[
            Word::new("nvme", "NVMe commands to a namespace's character device"),
            Word::later("bsg", "SCSI commands to a block SCSI generic device"),
        ]),
        "The type of passthrough command.",
        "cmd_type=bsg",
    )
    .of(BOTH)
    .default("nvme"),
    option(
        "cdb_len",
        Kind::words(&[
            Word::later("0", "the shortest command that fits"),
            Word::later("10", "10 bytes"),
            Word::later("16", "16 bytes"),
            Word::later("32", "32 bytes"),
        ]),
        "The length of SCSI commands.",
        "cdb_len=16",
    )
    .of(BOTH)
    .default("0")
    .since("3.42")
    .later(),
    option(
        "verify_bytchk",
        Kind::words(&[
            Word::later("0", "the device only reads its medium"),
            Word::later("1", "the device compares every block with the data sent"),
            Word::later("3", "the device compares every block with the one block sent"),
        ]),
        "What a SCSI verify command compares.",
        "verify_bytchk=1",
    )
    .of(BOTH)
    .default("0")
    .since("3.42")
    .later(),
    option(
        "read_mode",
        Kind::words(&[
            Word::later("read", "reads"),
            Word::later("prefetch", "the device loads its cache and sends no data"),
        ]),
        "The SCSI command that the job sends for reads.",
        "read_mode=prefetch",
    )
    .of(BOTH)
    .default("read")
    .since("3.42")
    .later(),
    option(
        "md_per_io_size",
        Kind::BYTES,
        "The size of the metadata buffer of each I/O, for namespaces that transfer metadata \
         separately from data. By default, the buffer is large enough for the largest block.",
        "md_per_io_size=64",
    )
    .of(METADATA)
    .default("0")
    .since("3.42"),
    option(
        "pi_act",
        Kind::Bool,
        "Lets the controller insert protection information on writes and remove it on reads. With \
         0, the protection information travels with the data: fiord generates it for writes and, \
         on reads, also checks the parts that `pi_chk` names.",
        "pi_act=0",
    )
    .of(METADATA)
    .default("1")
    .since("3.42"),
    option(
        "pi_chk",
        Kind::Text,
        "Which parts of the protection information are checked: `GUARD`, `REFTAG`, `APPTAG`, \
         separated by commas. Without it, no part is checked.",
        "pi_chk=GUARD,REFTAG",
    )
    .of(METADATA)
    .since("3.42"),
    option(
        "apptag",
        Kind::COUNT,
        "The application tag of the protection information.",
        "apptag=0x1234",
    )
    .of(METADATA)
    .default("0x1234")
    .since("3.42"),
    option(
        "apptag_mask",
        Kind::COUNT,
        "The bits of the application tag that are checked.",
        "apptag_mask=0xff00",
    )
    .of(METADATA)
    .default("0xffff")
    .since("3.42"),
    option(
        "deac",
        Kind::Bool,
        "Permits the device to deallocate blocks on write zeroes commands.",
        "deac=1",
    )
    .of(BOTH)
    .default("0")
    .since("3.42"),
    option(
        "nvme_split",
        Kind::Bool,
        "Splits an I/O that is larger than the device's largest command into several commands. The \
         I/O completes with its last command. Without it, fiord refuses such block sizes.",
        "nvme_split=1",
    )
    .of(&["io_uring_cmd"])
    .default("0")
    .since("fiord"),
];
