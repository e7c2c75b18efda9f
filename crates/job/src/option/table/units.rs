//! Units: how numbers are read and shown.

use crate::option::def::{Category, Kind, OptionDef, Word};

const CATEGORY: Category = Category::Units;

pub(super) const OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "kb_base",
        Kind::words(&[
            Word::new("1024", "`k` is 1024 and `kib` is 1000, as old job files expect"),
            Word::new("1000", "`k` is 1000 and `kib` is 1024, as the standards say"),
        ]),
        CATEGORY,
        "Decides what the size suffixes mean, for this job and for options that follow. With 1024, \
         `4k` is 4096 bytes and `4KiB` is 4000; with 1000 it is the other way round. Reports print \
         the correct unit name in both cases and, where there is room for one number only, choose \
         binary units for 1024 and decimal ones for 1000.",
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
        "Chooses whether bandwidth is reported in bytes or in bits per second.",
        "unit_base=8",
    )
    .default("0"),
];
