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
            Word::new("write_and_verify", "each write is checked on the medium"),
            Word { means: Some("write_and_verify"), ..Word::new("verify", "") },
            Word::new("write_same", "one block is written over the whole range"),
            Word { means: Some("write_same"), ..Word::new("same", "") },
            Word::new("write_same_ndob", "the same, with no data sent"),
            Word::new("verify_bytchk_00", "the device reads its medium and compares nothing"),
            Word::new("verify_bytchk_01", "the device compares all blocks with data that is sent"),
            Word::new("verify_bytchk_11", "the device compares all blocks with one that is sent"),
            Word::new("write_stream", "writes that belong to `stream_id`"),
        ]),
        "The SCSI command that writes are made of.",
        "sg_write_mode=write_same",
    )
    .of(&["sg"])
    .default("write"),
    option(
        "stream_id",
        Kind::COUNT,
        "The stream of `write_stream` commands. 0 opens one for the job and closes it at its end.",
        "stream_id=3",
    )
    .of(&["sg"])
    .default("0"),
];
