//! What happens when an I/O fails.

use crate::option::declare::*;
use crate::option::value::ErrorLists;

words! {
    /// The words of `continue_on_error`.
    pub enum ToleratedErrors {
        None = new("none", "every error ends the job"),
        Read = new("read", "counts failed reads and continues"),
        Write = new("write", "counts failed writes and continues"),
        Io = new("io", "counts any failed I/O and continues"),
        Verify = new("verify", "counts failed verifications and continues"),
        All = new("all", "counts all of these errors and continues"),
        _ = alias("0", "none"),
        _ = alias("1", "all"),
    }
}

options! {
    Category::Errors;

    /// Ends all jobs when this job ends with an error.
    pub const EXITALL_ON_ERROR: Opt<bool> = option("exitall_on_error", SWITCH, "exitall_on_error");

    /// After which errors the job continues. The report then shows the number of errors and the
    /// first error.
    pub const CONTINUE_ON_ERROR: Opt<ToleratedErrors> =
        option("continue_on_error", one_of(), "continue_on_error=io").default("none");

    /// Errors after which the job continues, as names or numbers separated by colons. Up to three
    /// lists separated by commas: for reads, for writes (also trims and flushes), and for
    /// verification (EILSEQ). A list replaces the errors EIO and EILSEQ of `continue_on_error` and
    /// turns it on for its kind of I/O. Numbers are those of errno, or NVMe statuses such as 0x281
    /// (type and code). The report counts these errors.
    pub const IGNORE_ERROR: Opt<Option<ErrorLists>> = option(
        "ignore_error",
        custom("errors, separated by colons", &Reader(read::error_lists)),
        "ignore_error=EAGAIN,ENOSPC:122",
    )
    .under("rw");

    /// Prints every error after which the job continues on standard error, not only the error that
    /// ends it. Bad data are always printed.
    pub const ERROR_DUMP: Opt<bool> = option("error_dump", BOOL, "error_dump=1").default("0");
}
