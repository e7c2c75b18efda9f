//! What a trace says: I/Os, the files and devices that they go to, and completions.

use std::ffi::OsString;
use std::fmt;
use std::ops::BitOr;

use fiord_types::{Bytes, Dir, Errno, Nanos};

/// A file or device of a trace: its index in the order in which the trace names them, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceTarget(u32);

impl TraceTarget {
    #[must_use]
    pub const fn new(index: u32) -> Self {
        TraceTarget(index)
    }
    /// The index, for a table of targets.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a trace calls a target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TraceName {
    /// The path of a file or device.
    Path(OsString),
    /// A block device of the machine on which the trace was recorded.
    Device {
        /// The number of the driver.
        major: u32,
        /// The number of the device or partition.
        minor: u32,
    },
    /// The name of a volume or disk, which is not a path.
    Volume(String),
}

/// `Display` writes the path, `8,16` for a device, or the name of the volume.
impl fmt::Display for TraceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceName::Path(path) => path.display().fmt(f),
            TraceName::Device { major, minor } => write!(f, "{major},{minor}"),
            TraceName::Volume(name) => f.write_str(name),
        }
    }
}

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceKind {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Deallocates a range.
    Trim,
    /// Makes all data and metadata durable: fsync, or a flush of a device.
    Sync,
    /// Makes all data durable: fdatasync.
    DataSync,
}

impl TraceKind {
    pub const ALL: [TraceKind; 5] =
        [TraceKind::Read, TraceKind::Write, TraceKind::Trim, TraceKind::Sync, TraceKind::DataSync];

    /// The word in fio's I/O logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TraceKind::Read => "read",
            TraceKind::Write => "write",
            TraceKind::Trim => "trim",
            TraceKind::Sync => "sync",
            TraceKind::DataSync => "datasync",
        }
    }

    /// The direction; `None` for syncs, which transfer no range.
    #[inline]
    #[must_use]
    pub const fn dir(self) -> Option<Dir> {
        match self {
            TraceKind::Read => Some(Dir::Read),
            TraceKind::Write => Some(Dir::Write),
            TraceKind::Trim => Some(Dir::Trim),
            TraceKind::Sync | TraceKind::DataSync => None,
        }
    }
}

/// Properties of an I/O. Combine them with `|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TraceFlags(u8);

impl TraceFlags {
    /// No property.
    pub const NONE: TraceFlags = TraceFlags(0);
    /// The write is durable when it completes (forced unit access).
    pub const FUA: TraceFlags = TraceFlags(1);
    /// The device flushes its write cache before it carries out this write.
    pub const PREFLUSH: TraceFlags = TraceFlags(1 << 1);
    /// A process waits for the I/O.
    pub const SYNC: TraceFlags = TraceFlags(1 << 2);
    /// The I/O transfers metadata of a file system.
    pub const META: TraceFlags = TraceFlags(1 << 3);
    /// The I/O is a readahead.
    pub const AHEAD: TraceFlags = TraceFlags(1 << 4);

    /// Tests for all properties of `other`.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: TraceFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for TraceFlags {
    type Output = TraceFlags;
    #[inline]
    fn bitor(self, other: TraceFlags) -> TraceFlags {
        TraceFlags(self.0 | other.0)
    }
}

/// An I/O of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceIo {
    /// When it was issued, since the start of the trace.
    pub time: Nanos,
    /// File or device of the I/O.
    pub target: TraceTarget,
    /// What it does.
    pub kind: TraceKind,
    /// Where its range begins. At most 2^63 - 1, and so is the end of the range.
    pub offset: Bytes,
    /// Length of its range.
    pub len: Bytes,
    /// Properties of the I/O.
    pub flags: TraceFlags,
    /// Priority of the I/O (class and level, as ioprio_set(2) takes them); 0 if the trace has none.
    pub priority: u16,
    /// How it ended, in traces that state both ends of an I/O in one row. Other traces report the ends as
    /// [`TraceEvent::Completed`], or not at all.
    pub outcome: Option<TraceOutcome>,
}

impl TraceIo {
    /// An I/O without flags, priority and outcome.
    #[inline]
    #[must_use]
    pub const fn new(
        time: Nanos,
        target: TraceTarget,
        kind: TraceKind,
        offset: Bytes,
        len: Bytes,
    ) -> Self {
        let (flags, priority, outcome) = (TraceFlags::NONE, 0, None);
        TraceIo { time, target, kind, offset, len, flags, priority, outcome }
    }
}

/// How an I/O ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceOutcome {
    /// Time between the issue and the completion.
    pub latency: Nanos,
    /// The bytes transferred, or the error.
    pub result: Result<Bytes, Errno>,
}

/// The completion of an I/O, as block traces report it. It need not cover the range of one I/O: the kernel merges and
/// splits requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceCompletion {
    /// When the device completed it, since the start of the trace.
    pub time: Nanos,
    /// Device of the completed range.
    pub target: TraceTarget,
    /// What it did.
    pub kind: TraceKind,
    /// Where its range begins.
    pub offset: Bytes,
    /// Length of its range.
    pub len: Bytes,
    /// Error of the completion, if it failed.
    pub error: Option<Errno>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEvent {
    /// The trace names a new target. It comes before all other events of this target.
    Target(TraceTarget, TraceName),
    /// A job opens a file.
    Open(TraceTarget),
    /// A job closes a file.
    Close(TraceTarget),
    /// An I/O is issued.
    Io(TraceIo),
    /// The kernel added an I/O to a request that was already queued, so no completion of its own follows.
    Merged(TraceTarget),
    /// A request is complete.
    Completed(TraceCompletion),
}
