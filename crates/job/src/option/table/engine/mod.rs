//! The option that selects the engine, and the options that only some engines have, with one module
//! per family of engines.

use super::engines;
use crate::option::def::{Category, Kind, OptionDef, Suffix, Unit, Word, options_of};

mod ceph;
mod file_operations;
mod io_uring;
mod libaio;
mod library;
mod mmap;
mod net;
mod nvme;
mod object;
mod priority;
mod pvsync2;
mod remote;
mod sg;
mod sim;

/// The options of single engines, one slice per family.
pub(super) const TABLES: [&[OptionDef]; 14] = [
    pvsync2::OPTIONS,
    mmap::OPTIONS,
    libaio::OPTIONS,
    io_uring::OPTIONS,
    priority::OPTIONS,
    nvme::OPTIONS,
    sg::OPTIONS,
    sim::OPTIONS,
    file_operations::OPTIONS,
    net::OPTIONS,
    object::OPTIONS,
    ceph::OPTIONS,
    remote::OPTIONS,
    library::OPTIONS,
];

options_of!(Category::Engine);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "ioengine",
        Kind::Words { words: &engines::WORDS, suffix: Suffix::Text },
        "The engine that carries out the I/Os. The engine's own options must follow it on the \
         command line.",
        "ioengine=io_uring",
    )
    .default("psync"),
    option(
        "num_range",
        Kind::Int { min: 0, max: 256, unit: Unit::Count },
        "How many ranges, of one block size each, a trim command of `io_uring_cmd` covers.",
        "num_range=8",
    )
    .default("1")
    .since("3.42"),
    option(
        "fdp",
        Kind::Bool,
        "Tells an NVMe drive with flexible data placement where to put each write. It is \
         equivalent to `dataplacement=fdp`.",
        "fdp=1",
    )
    .default("0")
    .since("3.42"),
    option(
        "dataplacement",
        Kind::words(&[
            Word::new("none", "writes have no placement"),
            Word::new("fdp", "flexible data placement"),
            Word::new("streams", "NVMe write streams"),
        ]),
        "The NVMe feature that places writes.",
        "dataplacement=fdp",
    )
    .alias(&["data_placement"])
    .default("none")
    .since("3.42"),
    option(
        "plid_select",
        Kind::words(&[
            Word::new("random", "a random one"),
            Word::new("roundrobin", "one after the other"),
            Word::new("scheme", "by the ranges of `dp_scheme`"),
        ]),
        "How the job chooses the placement identifier of the next write.",
        "plid_select=random",
    )
    .alias(&["fdp_pli_select"])
    .default("roundrobin")
    .since("3.42"),
    option(
        "plids",
        Kind::Text,
        "The placement identifiers that the job may use, as numbers and ranges separated by \
         commas: indices for `fdp`, stream numbers for `streams`.",
        "plids=0,2-4",
    )
    .alias(&["fdp_pli"])
    .since("3.42"),
    option(
        "dp_scheme",
        Kind::Text,
        "A file that maps offsets to placement identifiers. Each line has the start, the end and \
         the identifier of a range, separated by commas.",
        "dp_scheme=placement.txt",
    )
    .since("3.42"),
];
