//! Built-in loads with a name.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Profile);

pub(super) const OPTIONS: &[OptionDef] = &[option(
    "profile",
    Kind::words(&[
        Word::new("tiobench", "sequential and random reads and writes, like tiobench"),
        Word::new("act", "small reads and large writes, like the certification tool of Aerospike"),
        Word::new("vioperf", "threads that append to files, like Vertica's disk check"),
    ]),
    "Takes the jobs from a built-in profile instead of a job file. It is a command line option; \
     the options of the profile follow it, and job options on the same command line apply to all \
     jobs of the profile.",
    "profile=act",
)];
