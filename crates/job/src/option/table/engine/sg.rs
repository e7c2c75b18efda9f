//! Options of `sg`.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "hipri",
        Kind::Switch,
        "Asks the driver to poll for completions of reads and writes.",
        "hipri",
    )
    .of(&["sg"]),
    option(
        "sg_write_mode",
        Kind::words(&[
            Word::new("write", "plain writes"),
            Word::new("write_and_verify", "the device checks each write on the medium"),
            Word { means: Some("write_and_verify"), ..Word::new("verify", "") },
            Word::new("write_same", "the device writes one block over the whole range"),
            Word { means: Some("write_same"), ..Word::new("same", "") },
            Word::new(
                "write_same_ndob",
                "the device writes one block over the whole range, and \
                                          the command carries no data",
            ),
            Word::new("verify_bytchk_00", "the device reads its medium and compares nothing"),
            Word::new("verify_bytchk_01", "the device compares all blocks with the data sent"),
            Word::new("verify_bytchk_11", "the device compares all blocks with the one block sent"),
            Word::new("write_stream", "writes that belong to `stream_id`"),
        ]),
        "The SCSI command that the job sends for writes.",
        "sg_write_mode=write_same",
    )
    .of(&["sg"])
    .default("write"),
    option(
        "stream_id",
        Kind::COUNT,
        "The stream of `write_stream` commands. With 0, the job opens a stream and closes it at \
         its end.",
        "stream_id=3",
    )
    .of(&["sg"])
    .default("0"),
];
