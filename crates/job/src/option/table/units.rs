//! How numbers are read and shown.

use crate::option::def::{Category, Kind, OptionDef, Word};

const CATEGORY: Category = Category::Units;

pub(super) const OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "kb_base",
        Kind::words(&[
            Word::new("1024", "`k` is 1024 and `kib` is 1000, for old job files"),
            Word::new("1000", "`k` is 1000 and `kib` is 1024, as in the standards"),
        ]),
        CATEGORY,
        "Sets the meaning of size suffixes for this job and for the options that follow. With \
         1024, `4k` is 4096 bytes and `4KiB` is 4000 bytes; with 1000, it is the reverse. Reports \
         print the correct unit name in both cases. Where a report has room for only one number, \
         it uses binary units for 1024 and decimal units for 1000.",
        "kb_base=1000",
    )
    .default("1024"),
    OptionDef::new(
        "unit_base",
        Kind::words(&[
            Word::new("0", "bits for network engines, bytes for all others"),
            Word::new("8", "bytes"),
            Word::new("1", "bits"),
        ]),
        CATEGORY,
        "Whether reports show bandwidth in bytes or in bits per second.",
        "unit_base=8",
    )
    .default("0"),
];
