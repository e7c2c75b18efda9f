//! Whole loads that are known by a name.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Profile);

pub(super) const OPTIONS: &[OptionDef] = &[option(
    "profile",
    Kind::words(&[
        Word::new("tiobench", "sequential and random reads and writes, as tiobench does them"),
        Word::new(
            "act",
            "small reads and large writes, as Aerospike's certification tool does them",
        ),
        Word::new(
            "vioperf",
            "threads that append to files, as Vertica's check of a disk does them",
        ),
    ]),
    "Takes its jobs from a built-in description in place of a job file. It stands on the command \
     line; the options of the profile follow it, and job options beside it count for all its jobs.",
    "profile=act",
)];
