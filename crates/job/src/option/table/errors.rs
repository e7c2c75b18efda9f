//! What happens when an I/O fails.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Errors);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "exitall_on_error",
        Kind::Switch,
        "Ends all jobs when this job ends with an error.",
        "exitall_on_error",
    ),
    option(
        "continue_on_error",
        Kind::words(&[
            Word::new("none", "every error ends the job"),
            Word::new("read", "counts failed reads and continues"),
            Word::new("write", "counts failed writes and continues"),
            Word::new("io", "counts any failed I/O and continues"),
            Word::new("verify", "counts failed verifications and continues"),
            Word::new("all", "counts all of these errors and continues"),
            Word::alias("0", "none"),
            Word::alias("1", "all"),
        ]),
        "After which errors the job continues. The report then shows the number of errors and the \
         first error.",
        "continue_on_error=io",
    )
    .default("none"),
    option(
        "ignore_error",
        Kind::Text,
        "Errors that do not count, as names or numbers separated by colons. Up to three lists \
         separated by commas, for reads, writes and verification.",
        "ignore_error=EAGAIN,ENOSPC:122",
    )
    .under("rw")
    .later(),
    option(
        "error_dump",
        Kind::Bool,
        "Prints every error after which the job continues, not only the error that ends it.",
        "error_dump=1",
    )
    .default("0")
    .later(),
];
