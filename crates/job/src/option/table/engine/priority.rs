//! Options that set I/O priorities for a part of the I/Os.

use crate::option::declare::*;

const ENGINES: &[&str] = &["libaio", "io_uring", "io_uring_cmd"];

options! {
    Category::Engine;

    /// The percentage of I/Os that get the priority of `cmdprio_class` and `cmdprio`. Up to two
    /// values, for reads and writes.
    pub const CMDPRIO_PERCENTAGE: Opt<Option<PerDir<Option<u8>>>> =
        option("cmdprio_percentage", per_dir(0, 100, Unit::Percent), "cmdprio_percentage=10,5")
            .of(ENGINES);

    /// The priority class of the I/Os that `cmdprio_percentage` selects: 1 real time, 2 best
    /// effort, 3 idle. Up to two values, for reads and writes.
    pub const CMDPRIO_CLASS: Opt<Option<PerDir<Option<u8>>>> =
        option("cmdprio_class", per_dir(1, 3, Unit::Count), "cmdprio_class=1,2").of(ENGINES);

    /// The priority hint of the I/Os that `cmdprio_percentage` selects. Up to two values, for reads
    /// and writes.
    pub const CMDPRIO_HINT: Opt<Option<PerDir<Option<u16>>>> =
        option("cmdprio_hint", per_dir(0, 1023, Unit::Count), "cmdprio_hint=1")
            .of(ENGINES)
            .since("3.42");

    /// The priority, within their class, of the I/Os that `cmdprio_percentage` selects, from 0
    /// (highest) to 7 (lowest). Up to two values, for reads and writes.
    pub const CMDPRIO: Opt<Option<PerDir<Option<u8>>>> =
        option("cmdprio", per_dir(0, 7, Unit::Count), "cmdprio=0,4").of(ENGINES);

    /// The percentage of I/Os with a priority for each block size, as `size/percentage`. Class,
    /// level and hint may follow after further slashes.
    pub const CMDPRIO_BSSPLIT: Opt<Option<String>> =
        option("cmdprio_bssplit", TEXT, "cmdprio_bssplit=4k/10/1/0:64k/5/2/4").of(ENGINES);
}
