//! Where a device is asked to place writes.

/// How the writes of a job are placed (`dataplacement`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// By which feature.
    pub by: PlacementKind,
    /// The identifiers of each file, as the device takes them:
    /// [`Tag::placement`](super::Tag::placement) counts them from 1.
    pub ids: Vec<Vec<u16>>,
    /// Which one is next.
    pub select: PlacementSelect,
}

/// By which feature of the device writes are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementKind {
    /// Flexible data placement: NVMe directive type 2 with a placement identifier (NVM Express base
    /// specification 2.1, section 8.1.10).
    Fdp,
    /// Streams: NVMe directive type 1 with a stream identifier (section 8.1.8.3), or the write
    /// stream of an `io_uring` request.
    Streams,
}

impl PlacementKind {
    /// The directive type of an NVMe command.
    pub const fn directive(self) -> u8 {
        match self {
            PlacementKind::Streams => 1,
            PlacementKind::Fdp => 2,
        }
    }
}

/// `plid_select`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementSelect {
    /// One after the other, in each file.
    RoundRobin,
    /// Any of them.
    Random,
    /// By the offset: the first range that has it says which; none: no placement is asked for.
    Scheme(Vec<SchemeRange>),
}

/// A line of `dp_scheme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemeRange {
    /// First byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
    /// The position of the identifier among those of the file, from 1.
    pub placement: u16,
}
