//! Options of engines that operate on whole files.

use crate::option::declare::*;

words! {
    /// The words of `stat_type`.
    pub enum StatType {
        Stat = later("stat", "`stat(2)`"),
        Lstat = later("lstat", "`lstat(2)`"),
        Statx = later("statx", "`statx(2)`"),
    }
}

options! {
    Category::Engine;

    /// The system call that reads attributes.
    pub const STAT_TYPE: Opt<StatType> = option("stat_type", one_of(), "stat_type=statx")
        .of(&["filestat", "dirstat"])
        .default("stat")
        .later();

    /// The donor file for the exchange of extents.
    pub const DONORNAME: Opt<Option<String>> = option("donorname", TEXT, "donorname=donor")
        .of(&["e4defrag"]);

    /// Allocates the donor's blocks at each exchange (1) or all of them before the run (0).
    pub const INPLACE: Opt<Option<u8>> = option("inplace", int(0, 1), "inplace=1")
        .of(&["e4defrag"]);

    /// Skips flash blocks that are marked as bad.
    pub const SKIP_BAD: Opt<bool> = option("skip_bad", BOOL, "skip_bad=1")
        .of(&["mtd"])
        .default("0")
        .later();
}
