//! What happens when an I/O fails.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Errors);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "exitall_on_error",
        Kind::Switch,
        "Ends all jobs when this one ends with an error.",
        "exitall_on_error",
    ),
    option(
        "continue_on_error",
        Kind::words(&[
            Word::new("none", "every error ends the job"),
            Word::new("read", "failed reads are counted and passed over"),
            Word::new("write", "failed writes are counted and passed over"),
            Word::new("io", "any failed I/O is counted and passed over"),
            Word::new("verify", "failed verifications are counted and passed over"),
            Word::new("all", "all of these are counted and passed over"),
            Word::alias("0", "none"),
            Word::alias("1", "all"),
        ]),
        "Which errors the job survives. The report then holds their number and the first of them.",
        "continue_on_error=io",
    )
    .default("none"),
    option(
        "ignore_error",
        Kind::Text,
        "Errors that do not count: names or numbers by colons, in up to three lists by commas, for \
         reads, writes and verification.",
        "ignore_error=EAGAIN,ENOSPC:122",
    )
    .under("rw")
    .later(),
    option(
        "error_dump",
        Kind::Bool,
        "Prints each error that the job survives, not only the one that ends it.",
        "error_dump=1",
    )
    .default("0")
    .later(),
];
