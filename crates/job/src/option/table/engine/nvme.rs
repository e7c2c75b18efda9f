//! Commands of NVMe and SCSI devices through `io_uring_cmd`.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

const BOTH: &[&str] = &["io_uring", "io_uring_cmd"];
const METADATA: &[&str] = &["io_uring", "io_uring_cmd", "xnvme"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "readfua",
        Kind::Bool,
        "Sets force unit access on reads: they come from the medium, not from the device's cache.",
        "readfua=1",
    )
    .of(&["io_uring", "io_uring_cmd", "sg"])
    .default("0"),
    option(
        "writefua",
        Kind::Bool,
        "Sets force unit access on writes: they are on the medium when they are done.",
        "writefua=1",
    )
    .of(&["io_uring", "io_uring_cmd", "sg"])
    .default("0"),
    option(
        "write_mode",
        Kind::Text,
        "The command that writes are made of: `write`, `uncor`, `zeroes`, `verify` or `zone_append`, \
         or several of them with shares in per cent.",
        "write_mode=write/60:zeroes/40",
    )
    .of(BOTH)
    .default("write")
    .since("3.42"),
    option(
        "verify_mode",
        Kind::words(&[
            Word::later("read", "read it and compare here"),
            Word::later("compare", "have the device compare it"),
        ]),
        "The command by which written data is verified.",
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
        "The kind of command that is passed through.",
        "cmd_type=bsg",
    )
    .of(BOTH)
    .default("nvme"),
    option(
        "cdb_len",
        Kind::words(&[
            Word::later("0", "the shortest that fits"),
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
            Word::later("0", "it only reads the medium"),
            Word::later("1", "it compares every block with data that is sent"),
            Word::later("3", "it compares every block with the one block that is sent"),
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
            Word::later("prefetch", "the device loads its cache and sends nothing"),
        ]),
        "The SCSI command that reads are made of.",
        "read_mode=prefetch",
    )
    .of(BOTH)
    .default("read")
    .since("3.42")
    .later(),
    option(
        "md_per_io_size",
        Kind::BYTES,
        "The size of the buffer for metadata that each I/O has beside its data, on namespaces whose \
         metadata are transferred apart. Without it the buffer is as large as the largest block needs \
         it.",
        "md_per_io_size=64",
    )
    .of(METADATA)
    .default("0")
    .since("3.42"),
    option(
        "pi_act",
        Kind::Bool,
        "Has the controller make protection information on writes and take it away on reads. With 0 \
         it travels with the data: it is made here for writes, and what `pi_chk` names is checked \
         here on reads, too.",
        "pi_act=0",
    )
    .of(METADATA)
    .default("1")
    .since("3.42"),
    option(
        "pi_chk",
        Kind::Text,
        "Which parts of the protection information are checked: `GUARD`, `REFTAG`, `APPTAG`, by \
         commas. Without it none is.",
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
        "Which bits of the application tag are checked.",
        "apptag_mask=0xff00",
    )
    .of(METADATA)
    .default("0xffff")
    .since("3.42"),
    option(
        "deac",
        Kind::Bool,
        "Lets write zeroes commands deallocate the blocks.",
        "deac=1",
    )
    .of(BOTH)
    .default("0")
    .since("3.42"),
    option(
        "nvme_split",
        Kind::Bool,
        "Makes an I/O that is larger than one command may be of several, each of the most that the \
         device takes; the I/O ends with the last of them. Without it such block sizes are refused.",
        "nvme_split=1",
    )
    .of(&["io_uring_cmd"])
    .default("0")
    .since("fiord"),
];
