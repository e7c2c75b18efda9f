//! The option that selects the engine, and the options that only some engines have, with one module
//! per family of engines.

use super::engines;
use crate::option::declare::*;

pub mod activity;
pub mod ceph;
pub mod file_operations;
pub mod io_uring;
pub mod libaio;
pub mod library;
pub mod mmap;
pub mod net;
pub mod nvme;
pub mod object;
pub mod pmem;
pub mod priority;
pub mod pvsync2;
pub mod remote;
pub mod sg;
pub mod sim;

/// The options of single engines, one slice per family.
pub(super) const TABLES: [&[&OptionDef]; 16] = [
    pvsync2::OPTIONS,
    mmap::OPTIONS,
    pmem::OPTIONS,
    libaio::OPTIONS,
    io_uring::OPTIONS,
    priority::OPTIONS,
    nvme::OPTIONS,
    sg::OPTIONS,
    sim::OPTIONS,
    activity::OPTIONS,
    file_operations::OPTIONS,
    net::OPTIONS,
    object::OPTIONS,
    ceph::OPTIONS,
    remote::OPTIONS,
    library::OPTIONS,
];

words! {
    /// The words of `dataplacement`.
    pub enum DataPlacement {
        None = new("none", "writes have no placement"),
        Fdp = new("fdp", "flexible data placement"),
        Streams = new("streams", "NVMe write streams"),
    }

    /// The words of `plid_select`.
    pub enum PlidSelect {
        Random = new("random", "a random one"),
        RoundRobin = new("roundrobin", "one after the other"),
        Scheme = new("scheme", "by the ranges of `dp_scheme`"),
    }
}

options! {
    Category::Engine;

    /// The engine that carries out the I/Os. The engine's own options must follow it on the command
    /// line.
    pub const IOENGINE: Opt<&'static str> =
        option("ioengine", name_of(&engines::WORDS, Suffix::Text), "ioengine=io_uring")
            .default("psync");

    /// How many ranges, of one block size each, a trim command of `io_uring_cmd` covers.
    pub const NUM_RANGE: Opt<u32> = option("num_range", int(0, 256), "num_range=8")
        .default("1")
        .since("3.42");

    /// Tells an NVMe drive with flexible data placement where to put each write. It is equivalent
    /// to `dataplacement=fdp`.
    pub const FDP: Opt<bool> = option("fdp", BOOL, "fdp=1").default("0").since("3.42");

    /// The NVMe feature that places writes.
    pub const DATAPLACEMENT: Opt<DataPlacement> =
        option("dataplacement", one_of(), "dataplacement=fdp")
            .alias(&["data_placement"])
            .default("none")
            .since("3.42");

    /// How the job chooses the placement identifier of the next write.
    pub const PLID_SELECT: Opt<PlidSelect> = option("plid_select", one_of(), "plid_select=random")
        .alias(&["fdp_pli_select"])
        .default("roundrobin")
        .since("3.42");

    /// The placement identifiers that the job may use, as numbers and ranges separated by commas:
    /// indices for `fdp`, stream numbers for `streams`.
    pub const PLIDS: Opt<Option<String>> = option("plids", TEXT, "plids=0,2-4")
        .alias(&["fdp_pli"])
        .since("3.42");

    /// A file that maps offsets to placement identifiers. Each line has the start, the end and the
    /// identifier of a range, separated by commas.
    pub const DP_SCHEME: Opt<Option<String>> = option("dp_scheme", TEXT, "dp_scheme=placement.txt")
        .since("3.42");
}
