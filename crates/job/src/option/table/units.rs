//! How numbers are read and shown.

use crate::option::declare::*;

words! {
    /// The words of `kb_base`.
    pub enum KbBase {
        Binary = new("1024", "`k` is 1024 and `kib` is 1000, for old job files"),
        Decimal = new("1000", "`k` is 1000 and `kib` is 1024, as in the standards"),
    }

    /// The words of `unit_base`.
    pub enum UnitBase {
        Engine = new("0", "bits for network engines, bytes for all others"),
        Bytes = new("8", "bytes"),
        Bits = new("1", "bits"),
    }
}

options! {
    Category::Units;

    /// Sets the meaning of size suffixes for this job and for the options that follow. With 1024,
    /// `4k` is 4096 bytes and `4KiB` is 4000 bytes; with 1000, it is the reverse. Reports print the
    /// correct unit name in both cases. Where a report has room for only one number, it uses binary
    /// units for 1024 and decimal units for 1000.
    pub const KB_BASE: Opt<KbBase> = option("kb_base", one_of(), "kb_base=1000").default("1024");

    /// Whether reports show bandwidth in bytes or in bits per second.
    pub const UNIT_BASE: Opt<UnitBase> = option("unit_base", one_of(), "unit_base=8").default("0");
}
