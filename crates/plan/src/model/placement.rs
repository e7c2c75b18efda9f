//! Data placement: the hints that tell a device where to place writes.

/// The placement hints of a job's writes (`dataplacement`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The device feature that carries the hints.
    pub by: PlacementKind,
    /// The identifiers of each file, in the form that the device takes.
    /// [`IoAttributes::placement`](super::IoAttributes::placement) is a position in this list, counted from 1.
    pub ids: Vec<Vec<u16>>,
    /// How the job chooses the identifier of a write.
    pub select: PlacementSelect,
}

/// The device feature that carries placement hints.
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
    /// The directive type (`DTYPE`) of an NVMe command.
    #[must_use]
    pub const fn directive(self) -> u8 {
        match self {
            PlacementKind::Streams => 1,
            PlacementKind::Fdp => 2,
        }
    }
}

/// `plid_select`: how a job chooses the identifier of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementSelect {
    /// One identifier after the other, separately for each file.
    RoundRobin,
    /// A random identifier.
    Random,
    /// The identifier of the first range that contains the offset. A write outside all ranges
    /// carries no hint.
    Scheme(Vec<SchemeRange>),
}

/// One line of a `dp_scheme` file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemeRange {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
    /// Position of the identifier in [`Placement::ids`] of the file, counted from 1.
    pub placement: u16,
}
